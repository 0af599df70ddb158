"""A thousand pages that watch one board: from the first write of a frame until the last of them has it.

The floor is a bare server that writes one frame, encoded before, to as many connections.
"""

from __future__ import annotations

import resource
import statistics
from pathlib import Path
from typing import Final

from tests.bench.committer import Committer
from tests.bench.desk import Desk, report
from tests.bench.figures import Figure, spread
from tests.soak.sockets import NotingServer, fan_out, floor

MOST_TIMES: Final = 2.5
SPARE: Final = 256


def measure(
    desk: Desk, home: Path, committer: Committer, *, sockets: int, rounds: int
) -> tuple[list[Figure], list[str]]:
    """The median over the rounds of both."""
    allow(sockets + SPARE)
    with floor(sockets) as one_round:
        least = [one_round() for _ in range(rounds)]
    server = NotingServer(home)
    with server:
        board_id, cookie = desk.board_id, server.login()
        ours = fan_out(server, cookie, board_id, sockets, rounds, lambda: committer.message(report()))
    return judged(sockets, ours, least)


def judged(sockets: int, ours: list[float], least: list[float]) -> tuple[list[Figure], list[str]]:
    """The table's line, and both distributions."""
    name = f"frame to the last of {sockets} sockets of one board, median"
    told = [f"frame to the last socket: {spread(ours, 'ms')}", f"bare writes: {spread(least, 'ms')}"]
    return [Figure(name, "ms", statistics.median(ours), statistics.median(least), most_ratio=MOST_TIMES)], told


def allow(descriptors: int) -> None:
    """The soft limit of this process, as the server raises its own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < descriptors:
        wanted = descriptors if hard == resource.RLIM_INFINITY else min(descriptors, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
