"""A full command against one raw transaction with the very same statements and values: CPU time, in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.bench import statements
from tests.bench.desk import Desk, LaterEachTime, report
from tests.bench.figures import Figure

MOST_TIMES = 3.5
Command = Callable[[], object]


def measure(desk: Desk, home: Path, clock: LaterEachTime, *, rounds: int, batch: int) -> tuple[list[Figure], list[str]]:
    """The figures of a message and of a task's claim, renewal and release."""

    def message() -> None:
        clock.move()
        desk.message(report(), desk.who.alice, "bob")

    lease = _lease(desk)

    def task() -> None:
        clock.move()
        next(lease)

    told: list[str] = []
    kinds: dict[str, Command] = {"send_message": message, "claim, renew, release a task": task}
    figures = [_compare(name, give, home, rounds, batch, told) for name, give in kinds.items()]
    return figures, told


def _lease(desk: Desk) -> Iterator[None]:
    while True:
        fencing = desk.task("claim_task").extra["fencing"]
        yield
        desk.task("renew_task", fencing)
        yield
        desk.task("release_task", fencing)
        yield


def _compare(name: str, give: Command, home: Path, rounds: int, batch: int, told: list[str]) -> Figure:
    """Each round: a batch is given and recorded, replayed by ``sqlite3`` on a twin, then another is given unrecorded."""
    for _ in range(batch):
        give()
    twin = home / "twin.sqlite3"
    twin.unlink(missing_ok=True)
    statements.copy_to(twin)
    raw = statements.plain(twin)
    ours, floor, wall = [], [], []
    counts: list[int] = []
    for _ in range(rounds):
        recorded = [_recorded(give) for _ in range(batch)]
        counts += map(len, recorded)
        raw_cpu, raw_wall = _timed(lambda: [statements.run(raw, one) for one in recorded])  # noqa: B023  # run at once
        cpu, took = _timed(lambda: [give() for _ in range(batch)])
        floor.append(raw_cpu / batch)
        ours.append(cpu / batch)
        wall.append(took / raw_wall)
    raw.close()
    ratios = [mine / its for mine, its in zip(ours, floor, strict=True)]
    # The median of the ratios, not the ratio of the medians: each pair was measured in the same moment.
    ratio, least = statistics.median(ratios), statistics.median(floor)
    told.append(
        f"{name}: {statistics.mean(counts):.1f} statements; CPU ratio min {min(ratios):.2f}, median {ratio:.2f}, "
        f"max {max(ratios):.2f} over {rounds} rounds of {batch}; wall-clock ratio {statistics.median(wall):.2f}"
    )
    return Figure(f"CPU of one command: {name}", "ms", ratio * least, least, most_ratio=MOST_TIMES)


def _recorded(give: Command) -> list[statements.Statement]:
    with statements.recording() as seen:
        give()
    return seen


def _timed(work: Callable[[], Any]) -> tuple[float, float]:
    """CPU and wall-clock time, in milliseconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000
