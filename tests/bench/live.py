"""From a commit in another process to the frame at a socket, against a bare echo of the same frame."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from tests.bench.committer import Committed, Committer
from tests.bench.desk import Desk, report
from tests.bench.figures import Figure, percentile, spread
from tests.site.servers import Server

MOST_MS = 100.0
PATIENCE = 30.0
REST = (0.035, 0.085)
"""Seconds between commits, uneven so that they meet every phase of the server's polling."""


def measure(
    desk: Desk, server: Server, cookie: dict[str, str], committer: Committer, *, samples: int
) -> tuple[list[Figure], list[str]]:
    """The 95th percentile of both, and their distributions in words."""
    headers = {"Cookie": cookie["Cookie"]}
    with connect(
        f"ws://{server.host}/ws/boards/{desk.board_id}", origin=Origin(server.origin), additional_headers=headers
    ) as ws:
        frame = str(ws.recv(timeout=PATIENCE))
        ours = [_wait(lambda: committer.message(report()), ws) for _ in range(samples)]
    with _echo() as port, socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        floor = [_round(client, frame.encode()) for _ in range(samples)]
    told = [f"commit to frame: {spread(ours, 'ms')}", f"bare echo of the same frame: {spread(floor, 'ms')}"]
    name = "commit in another process to frame at the socket, p95"
    return [Figure(name, "ms", percentile(ours, 0.95), percentile(floor, 0.95), most=MOST_MS)], told


def _wait(commit: Callable[[], Committed], ws: ClientConnection) -> float:
    """Milliseconds from the accepted command to the frame that tells its revision."""
    time.sleep(random.uniform(*REST))
    committed = commit()
    while json.loads(ws.recv(timeout=PATIENCE))["revision"] < committed.revision:
        pass  # of something earlier
    return max(0.0, time.monotonic_ns() / 1e6 - committed.at)


@contextmanager
def _echo() -> Iterator[int]:
    """A minimal asyncio server on a loopback port, in a thread of its own."""
    loop = asyncio.new_event_loop()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    server = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.run_until_complete(server.wait_closed())
        loop.close()


def _round(client: socket.socket, frame: bytes) -> float:
    time.sleep(random.uniform(*REST) / 10)
    start = time.monotonic_ns()
    client.sendall(frame)
    left = len(frame)
    while left > 0:
        left -= len(client.recv(left))
    return (time.monotonic_ns() - start) / 1e6
