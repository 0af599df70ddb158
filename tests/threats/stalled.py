"""Clients that open a connection and then stall, each in its own way, while others go on asking.

Also used by the bench: :func:`stall` measures, the test only looks at what was closed and answered.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Final

from tests.site.servers import Server

COUNT: Final = 300
LONGEST: Final = 20.0
"""Seconds after which none of them may be open any more: the 15 s for a body, and what is lingered."""
UPGRADE = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"

STARTS: Final[dict[str, str]] = {
    "nothing at all": "",
    "half a request line": "GET /te",
    "half the headers": "GET / HTTP/1.1\r\nHost: {host}\r\nX-Slow: ",
    "half a body": "POST /login HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nContent-Length: 100\r\n\r\nabc",
    "half a chunk": "POST /login HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n40\r\nabc",
    "half a websocket handshake": "GET /ws/home HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n" + UPGRADE,
    "a websocket of nobody": "GET /ws/home HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n" + UPGRADE
    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
}  # fmt: skip
"""What each kind of client sends before it stalls."""


@dataclass
class Stalled:
    """What became of one kind."""

    opened: int
    left_open: int
    """Still open after ``LONGEST`` seconds."""
    closed_after: float
    """Seconds from the last one's start until the last one was closed."""
    answers: list[tuple[int, float]] = field(default_factory=list)
    """Of the normal requests meanwhile: status and seconds."""

    @property
    def slowest(self) -> float:
        return max(seconds for _, seconds in self.answers)


def stall(server: Server, kind: str, cookie: dict[str, str], count: int = COUNT, path: str = "/login") -> Stalled:
    """Opens ``count`` connections of one kind and asks for ``path`` in between, until all are closed (or too late)."""
    start = STARTS[kind].format(host=server.host, origin=server.origin).encode()
    answers: list[tuple[int, float]] = []

    def ask() -> None:
        began = time.perf_counter()
        status = server.ask("GET", path, cookie).status
        answers.append((status, time.perf_counter() - began))

    with ExitStack() as stack:
        held = []
        for number in range(count):
            held.append(stack.enter_context(server.connect()))
            _send(held[-1], start)
            if number % 25 == 24:
                ask()
        began = time.monotonic()
        left = _until_closed(held, began + LONGEST, ask)
        return Stalled(count, len(left), time.monotonic() - began, answers)


def _send(connection: socket.socket, start: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # hung up on already, as may be
        connection.sendall(start)


def _until_closed(held: list[socket.socket], end: float, ask: Callable[[], None]) -> list[socket.socket]:
    """Reads what comes until every connection is closed or the time is over; asks meanwhile. Those that are left."""
    left = set(held)
    with selectors.DefaultSelector() as selector:
        for one in held:
            selector.register(one, selectors.EVENT_READ, one)
        while left and time.monotonic() < end:
            for key, _ in selector.select(0.25):
                if not _still_open(key.data):
                    selector.unregister(key.data)
                    left.remove(key.data)
            ask()
    return list(left)


def _still_open(connection: socket.socket) -> bool:
    try:
        return connection.recv(65536) != b""
    except ConnectionResetError:
        return False
