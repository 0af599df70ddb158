"""A full command against one raw transaction with the very same statements and values: CPU time, in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
    """Medians over the rounds: of the ratios and of the floor, because each pair was measured in the same moment."""
    for _ in range(batch):
        give()
    twin = home / "twin.sqlite3"
    twin.unlink(missing_ok=True)
    statements.copy_to(twin)
    raw = statements.plain(twin)
    turns = [_round(give, raw, batch) for _ in range(rounds)]
    raw.close()
    ratios = [turn.cpu / turn.floor_cpu for turn in turns]
    ratio, floor = statistics.median(ratios), statistics.median(turn.floor_cpu for turn in turns) / batch
    told.append(
        f"{name}: {statistics.mean(turn.statements for turn in turns):.1f} statements; CPU ratio "
        f"min {min(ratios):.2f}, median {ratio:.2f}, max {max(ratios):.2f} over {rounds} rounds of {batch}; "
        f"wall-clock ratio {statistics.median(turn.wall / turn.floor_wall for turn in turns):.2f}"
    )
    return Figure(f"CPU of one command: {name}", "ms", ratio * floor, floor, most_ratio=MOST_TIMES)


@dataclass(frozen=True, slots=True)
class Turn:
    """One batch of each, in milliseconds."""

    statements: float
    floor_cpu: float
    floor_wall: float
    cpu: float
    wall: float


def _round(give: Command, raw: Any, batch: int) -> Turn:
    """A batch is given and recorded, replayed by ``sqlite3`` on the twin, then another is given unrecorded."""
    recorded = [_recorded(give) for _ in range(batch)]
    floor = _timed(lambda: [statements.run(raw, one) for one in recorded])
    ours = _timed(lambda: [give() for _ in range(batch)])
    return Turn(statistics.mean(map(len, recorded)), *floor, *ours)


def _recorded(give: Command) -> list[statements.Statement]:
    with statements.recording() as seen:
        give()
    return seen


def _timed(work: Callable[[], Any]) -> tuple[float, float]:
    """CPU and wall-clock time, in milliseconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000
