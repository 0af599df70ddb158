"""From spawning ``agentlink up`` to its first healthy answer, against a bare server of the same shape."""

from __future__ import annotations

import http.client
import statistics
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from tests.bench.figures import Figure, spread
from tests.crowd import Crowd
from tests.site.servers import ROOT, Server, environment

MOST_MS: Final = 2000.0
MOST_TIMES: Final = 4.0


def measure(big: Crowd, home: Path, *, samples: int) -> tuple[list[Figure], list[str]]:
    """On a home with next to nothing in it, and on the big one; medians, in turns."""
    places = {"start-up to the first healthy answer": home, "start-up on the big home": big.home}
    for place in places.values():
        _ours(place)  # bytecode, migrations
    turns = [([_ours(place) for place in places.values()], _bare(home)) for _ in range(samples)]
    starts = {name: [found[number] for found, _ in turns] for number, name in enumerate(places)}
    return judged(starts, [floor for _, floor in turns])


def judged(starts: dict[str, list[float]], floors: list[float]) -> tuple[list[Figure], list[str]]:
    """A line of the table for each kind of home."""
    told, figures = [f"start of a bare server: {spread(floors, 'ms')}"], []
    for name, ours in starts.items():
        times = (statistics.median(ours), statistics.median(floors))
        figures.append(Figure(f"{name}, median", "ms", *times, most_ratio=MOST_TIMES, most=MOST_MS))
        told.append(f"{name}: {spread(ours, 'ms')}")
    return figures, told


def _ours(home: Path) -> float:
    begun = time.monotonic()
    with Server(home, launcher=False) as server:
        answer = server.ask_unix("GET", "/api/agentlink/status")
        took = (time.monotonic() - begun) * 1000
        server.stop()
    if answer.status != 200:
        raise RuntimeError(f"The server on {home} answered with {answer.status}.")
    return took


def _bare(home: Path) -> float:
    begun = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "tests.bench.bare"], env=environment(home), cwd=ROOT, stdout=subprocess.PIPE
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            with closing(http.client.HTTPConnection("127.0.0.1", int(process.stdout.readline()), timeout=30)) as asked:
                asked.request("GET", "/")
                asked.getresponse().read()
                return (time.monotonic() - begun) * 1000
        finally:
            process.kill()
