"""``python -m tests.bench [--quick] [--only PART …] [--write]``: measures, tells, exits 1 when a limit is not kept."""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.bench import desk, noise
from tests.bench.document import write
from tests.bench.figures import Figure, table
from tests.bench.parts import FULL, PARTS, QUICK, Bench, Size
from tests.site.servers import ROOT


@dataclass(slots=True)
class Report:
    """What one run found."""

    figures: list[Figure]
    notes: list[str]
    noise: list[str]


def main(arguments: list[str] | None = None) -> int:
    """Runs the whole bench, or some of its parts; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few samples each, no limit judged")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), help="these parts only")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    asked = parser.parse_args(arguments)
    if asked.write and (asked.quick or set(asked.only) != set(PARTS)):
        parser.error("--write tells the figures of a whole run; leave --quick and --only out.")
    with desk.scratch() as home:
        found = _measure(home, QUICK if asked.quick else FULL, asked.only)
    print(_told(found))
    if asked.write:
        write(ROOT / "docs" / "performance.md", found.figures, found.notes, found.noise, _machine())
    return 0 if asked.quick or all(figure.kept for figure in found.figures) else 1


def _measure(home: Path, size: Size, wanted: Iterable[str]) -> Report:
    """Part after part; the machine is listened to in between."""
    found, bench, machine = Report([], [], []), Bench(home, size), noise.Noise(home)
    machine.listen()
    for name in [name for name in PARTS if name in wanted]:
        begun = time.monotonic()
        figures, notes = PARTS[name](bench)
        found.figures += figures
        found.notes += notes
        machine.listen()
        print(f"{name}: measured in {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    found.noise = machine.lines()
    return found


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
