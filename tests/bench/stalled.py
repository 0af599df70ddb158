"""Three hundred connections that stall, and how long others wait for a normal answer meanwhile."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.bench.figures import Figure, percentile, spread
from tests.bench.sockets import SPARE, allow
from tests.site.servers import Server
from tests.threats.stalled import stall

MOST_MS: Final = 100.0
KINDS: Final = ("half the headers", "half a body", "nothing at all")
PATH: Final = "/api/agentlink/status"


def measure(home: Path, *, connections: int, kinds: int) -> tuple[list[Figure], list[str]]:
    """The connections are of several kinds at once. Floor: the same requests with nobody else there."""
    allow(connections * 2 + SPARE)
    chosen = KINDS[:kinds]
    with Server(home, launcher=False) as server:
        cookie = server.login()

        def one(kind: str) -> list[float]:
            found = stall(server, kind, cookie, connections // len(chosen), PATH)
            if found.left_open or {status for status, _ in found.answers} != {200}:
                raise RuntimeError(f"{kind}: {found.left_open} were never closed, answers {found.answers[:5]}")
            return [seconds * 1000 for _, seconds in found.answers]

        with ThreadPoolExecutor(len(chosen)) as pool:
            ours = [wait for waits in pool.map(one, chosen) for wait in waits]
        floor = [_wait(server, cookie) for _ in ours]
    return judged(connections, ours, floor)


def judged(connections: int, ours: list[float], floor: list[float]) -> tuple[list[Figure], list[str]]:
    """The table's line, and both distributions."""
    name = f"a normal answer beside {connections} stalled connections, p95"
    told = [f"answers beside stalled connections: {spread(ours, 'ms')}", f"with nobody else: {spread(floor, 'ms')}"]
    return [Figure(name, "ms", percentile(ours, 0.95), percentile(floor, 0.95), most=MOST_MS)], told


def _wait(server: Server, cookie: dict[str, str]) -> float:
    begun = time.perf_counter()
    server.ask("GET", PATH, cookie)
    return (time.perf_counter() - begun) * 1000
