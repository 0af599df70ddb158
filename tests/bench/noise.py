"""The machine's noise: one fixed piece of work, again and again, and what a sync to this disk costs."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

from tests.bench.figures import number

TURNS = 7
SYNCS = 20


class Noise:
    """Looks at the machine between measurements; the same work should always take the same time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.spins: list[float] = []
        self.syncs: list[float] = []

    def listen(self) -> None:
        """One look: a few turns of fixed work, a few syncs."""
        self.spins += [_spin() for _ in range(TURNS)]
        self.syncs += [_sync(self._folder / "noise") for _ in range(SYNCS)]

    def lines(self) -> list[str]:
        """Both as minimum, median and maximum, in milliseconds."""
        load = os.getloadavg()[0]
        return [
            f"the same loop: {_told(self.spins)} ({len(self.spins)} times)",
            f"write 4 kB and fsync: {_told(self.syncs)} ({len(self.syncs)} times)",
            f"{os.cpu_count()} cores, load average {load:.1f} at the end",
        ]


def _told(values: list[float]) -> str:
    marks = {"min": min(values), "median": statistics.median(values), "max": max(values)}
    return ", ".join(f"{name} {number(value)} ms" for name, value in marks.items())


def _spin() -> float:
    start, total = time.perf_counter(), 0
    for turn in range(200_000):
        total += turn * turn
    return (time.perf_counter() - start) * 1000


def _sync(path: Path) -> float:
    with path.open("wb") as file:
        start = time.perf_counter()
        file.write(b"x" * 4096)
        file.flush()
        os.fsync(file.fileno())
        return (time.perf_counter() - start) * 1000
