"""Sixteen processes that write at once: the longest that any of them waits for one command."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Final

from tests.bench import statements
from tests.bench.desk import Desk, LaterEachTime, report
from tests.bench.figures import Figure, spread
from tests.bench.statements import Template

WRITERS: Final = 16
MOST_TIMES: Final = 5.0
PATIENCE: Final = 120.0
"""Seconds; whoever takes longer is broken, not slow."""

Write = Callable[[], object]
Begin = Callable[[int], Write]
"""Makes one process ready to write; called inside of it, with its number."""


def measure(
    desk: Desk, home: Path, clock: LaterEachTime, *, writers: int, commands: int, rounds: int
) -> tuple[list[Figure], list[str]]:
    """AgentLink's commands against raw writers in the same kind of queue, and against SQLite's own busy handler."""
    twin = home / "writers.sqlite3"
    template = _template(desk, twin)
    kinds: dict[str, Begin] = {
        "raw transactions that queue by flock (the floor)": lambda _: _queued(template, twin),
        "commands": lambda number: _ours(desk, clock, number),
        "raw transactions with SQLite's busy handler": lambda _: _unqueued(template, twin),
    }
    waits: dict[str, list[list[float]]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, begin in kinds.items():
            waits[name].append(_together(begin, writers, commands))
        clock.move(commands + 2)  # as every writer's own copy of the clock did
    told = [f"{name}: {spread([wait for turn in turns for wait in turn], 'ms')}" for name, turns in waits.items()]
    floor, ours, _ = ([max(turn) for turn in turns] for turns in waits.values())
    ratio = statistics.median(mine / its for mine, its in zip(ours, floor, strict=True))
    least = statistics.median(floor)
    return [Figure(f"longest wait of {writers} writers", "ms", ratio * least, least, most_ratio=MOST_TIMES)], told


def _template(desk: Desk, twin: Path) -> Template:
    """One message, recorded; then the twin, from the state after it."""
    from boards import log

    with statements.recording() as seen:
        receipt = desk.message(report(), desk.workers[0], "bob")
    assert receipt.revision is not None
    statements.copy_to(twin)
    return Template.of(seen, log.last_position(), receipt.revision)


def _ours(desk: Desk, clock: LaterEachTime, number: int) -> Write:
    sender = desk.workers[number]

    def write() -> None:
        clock.move()
        desk.message(report(), sender, "bob")

    return write


def _queued(template: Template, twin: Path) -> Write:
    raw = statements.plain(twin)

    def write() -> None:
        with _turn(f"{twin}.lock"):
            template.run(raw)

    return write


@contextmanager
def _turn(lock: str) -> Iterator[None]:
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _unqueued(template: Template, twin: Path) -> Write:
    raw = statements.plain(twin)
    return lambda: template.run(raw)


def _together(begin: Begin, writers: int, commands: int) -> list[float]:
    """Forks the writers, lets all go at once, and returns how long each command of each took, in milliseconds."""
    from django.db import connection

    connection.close()  # a SQLite connection must not be carried across a fork
    forked = multiprocessing.get_context("fork")
    barrier, pipes, processes = forked.Barrier(writers), [], []
    for number in range(writers):
        receiver, sender = forked.Pipe(duplex=False)
        process = forked.Process(target=_write, args=(begin, number, commands, barrier, sender))
        process.start()
        sender.close()
        pipes.append(receiver)
        processes.append(process)
    try:
        return [wait for pipe in pipes for wait in _received(pipe)]
    finally:
        for process in processes:
            process.join(1)
            process.kill()
            process.join()


def _write(begin: Begin, number: int, commands: int, barrier: Barrier, sender: Connection) -> None:
    write, waits = begin(number), []
    write()  # the first one opens the database and fills the caches
    barrier.wait(PATIENCE)
    for _ in range(commands):
        start = time.monotonic()
        write()
        waits.append((time.monotonic() - start) * 1000)
    sender.send(waits)


def _received(pipe: Connection) -> list[float]:
    if not pipe.poll(PATIENCE):
        raise RuntimeError(f"A writer was not done after {PATIENCE:.0f} s.")
    waits: list[float] = pipe.recv()
    return waits
