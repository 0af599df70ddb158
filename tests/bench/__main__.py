"""``python -m tests.bench [--quick] [--write]``: measures, tells, and exits 1 when a limit is not kept."""

from __future__ import annotations

import argparse
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.bench import browser, command, desk, live, noise, writers
from tests.bench.committer import committing
from tests.bench.desk import Desk, LaterEachTime
from tests.bench.document import write
from tests.bench.figures import Figure, table
from tests.site.servers import ROOT, Server


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    rounds: int
    batch: int
    writers: int
    commands: int
    turns: int
    frames: int
    texts: int


FULL = Size(rounds=25, batch=40, writers=writers.WRITERS, commands=40, turns=5, frames=200, texts=60)
QUICK = Size(rounds=2, batch=3, writers=3, commands=3, turns=1, frames=4, texts=2)
"""Shows that everything runs. Its figures say nothing, so no limit is judged."""


@dataclass(slots=True)
class Report:
    """What one run found."""

    figures: list[Figure]
    notes: list[str]
    noise: list[str]

    def add(self, found: tuple[list[Figure], list[str]]) -> None:
        self.figures += found[0]
        self.notes += found[1]


def main(arguments: list[str] | None = None) -> int:
    """Runs the whole bench; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few samples each, no limit judged")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    asked = parser.parse_args(arguments)
    with desk.scratch() as home:
        found = _measure(home, QUICK if asked.quick else FULL)
    print(_told(found))
    if asked.write:
        write(ROOT / "docs" / "performance.md", found.figures, found.notes, found.noise, _machine())
    return 0 if asked.quick or all(figure.kept for figure in found.figures) else 1


def _measure(home: Path, size: Size) -> Report:
    """The live part first: it needs the real time, the rest moves its clock."""
    found = Report([], [], [])
    machine = noise.Noise(home)
    machine.listen()
    made = desk.set_up()
    desk.settle()
    _live(made, home, size, found)
    machine.listen()
    clock = LaterEachTime()
    found.add(command.measure(made, home, clock, rounds=size.rounds, batch=size.batch))
    machine.listen()
    found.add(writers.measure(made, home, clock, writers=size.writers, commands=size.commands, rounds=size.turns))
    machine.listen()
    found.noise = machine.lines()
    return found


def _live(made: Desk, home: Path, size: Size, found: Report) -> None:
    """A young board in Chromium, frames until its list of messages is full, then Chromium again."""
    path = browser.chromium()
    with committing(made) as committer, Server(home, launcher=False) as server:
        young = browser.waits(made, server, committer, path, size.texts) if path else []
        found.add(live.measure(made, server, server.login(), committer, samples=size.frames))
        full = browser.waits(made, server, committer, path, size.texts) if path else []
    floor = found.figures[-1].ours
    for board, waits in (("a young board", young), ("a full board", full)):
        if waits:
            found.add(browser.figure(board, waits, floor))
    if path is None:
        found.notes.append("Without Chromium the way to changed text was not measured.")


def _told(found: Report) -> str:
    noise_lines = [f"  {line}" for line in found.noise]
    return "\n".join([table(found.figures), "", *found.notes, "", "The machine's noise:", *noise_lines])


def _machine() -> str:
    import sqlite3

    return (
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {platform.system()} {platform.machine()}"
    )


if __name__ == "__main__":
    sys.exit(main())
