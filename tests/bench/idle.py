"""What AgentLink costs while nothing happens, with thousands of sessions to look at: percent of one core.

``python -m tests.bench.idle FOLDER MILLISECONDS`` is the process on the big home.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.bench.aside import begun, settle, told_by
from tests.bench.figures import Figure
from tests.crowd import Crowd

MOST_PERCENT: Final = 5.0
MOST_PERCENT_OF_ALL: Final = 15.0
MOST_TIMES: Final = 3.0
QUIET_PERCENT: Final = 2.0
"""By so little the cost may still change from one second to the next when everything has been looked at."""
PATIENCE: Final = 60.0
Job = Callable[[threading.Event], object]


def measure(big: Crowd, *, milliseconds: int) -> tuple[list[Figure], list[str]]:
    """The follower alone, and every worker that a server has."""
    return judged(*told_by("tests.bench.idle", big, milliseconds))


def judged(floor: float, follower: float, workers: float) -> tuple[list[Figure], list[str]]:
    """Both lines of the table."""
    return [
        Figure("idle: the follower", "% of a core", follower, floor, most_ratio=MOST_TIMES, most=MOST_PERCENT),
        Figure("idle: every worker of a server", "% of a core", workers, floor, most=MOST_PERCENT_OF_ALL),
    ], []


def main() -> None:
    """Prints the three costs."""
    _, (milliseconds,) = begun()
    from django.conf import settings

    from boards import live, workers
    from boards.delivery import attempt_once
    from tests.crowd.homes import settle as catch_up

    catch_up()
    attempt_once()
    settle()
    seconds = milliseconds / 1000
    path = Path(settings.DATABASES["default"]["NAME"])
    floor = _cost(lambda stop: _poll(path, stop), seconds)
    follower = _cost(live.follow, seconds)
    stop = threading.Event()
    threads = workers.start(stop)
    _until_quiet()
    everything = _percent(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    print(json.dumps([floor, follower, everything]))


def _poll(path: Path, stop: threading.Event) -> None:
    """The same rhythm with nothing around it."""
    from boards.live import POLL_SECONDS
    from tests.bench.statements import plain

    raw = plain(path)
    while not stop.wait(POLL_SECONDS):
        raw.execute("PRAGMA data_version").fetchone()
    raw.close()


def _cost(job: Job, seconds: float) -> float:
    stop = threading.Event()
    thread = threading.Thread(target=_closing, args=(job, stop))
    thread.start()
    time.sleep(0.2)
    found = _percent(seconds)
    stop.set()
    thread.join()
    return found


def _closing(job: Job, stop: threading.Event) -> None:
    from django.db import connections

    try:
        job(stop)
    finally:
        connections.close_all()


def _percent(seconds: float) -> float:
    """Of one core, by this whole process, whose main thread sleeps."""
    wall, cpu = time.perf_counter(), time.process_time()
    time.sleep(seconds)
    return (time.process_time() - cpu) / (time.perf_counter() - wall) * 100


def _until_quiet() -> None:
    """What a start has to catch up with is no idle cost."""
    end, before = time.monotonic() + PATIENCE, _percent(1.0)
    while time.monotonic() < end:
        now = _percent(1.0)
        if abs(now - before) < QUIET_PERCENT:
            return
        before = now
    raise RuntimeError(f"The workers were not quiet after {PATIENCE:.0f} s.")


if __name__ == "__main__":
    main()
