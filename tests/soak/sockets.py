"""Many sockets on one board: how long it takes from the first write of a frame until the last of them has it."""

from __future__ import annotations

import base64
import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.site.servers import ROOT, WAIT, Server

FRAME = bytes.fromhex("817e0080") + b"x" * 128
"""What the floor writes: about as long as a frame of the doorbell."""


class NotingServer(Server):
    """A server that notes when it begins to ring (`tests.soak.launch`)."""

    def __init__(self, home: Path) -> None:
        self.notes = home.parent / "rings"
        super().__init__(home, launcher=True, RING_NOTES=str(self.notes))

    def __enter__(self) -> NotingServer:
        return self

    @staticmethod
    def start(*arguments: str, launcher: bool = False) -> list[str]:
        return [sys.executable, str(ROOT / "tests/soak/launch.py"), *arguments]

    def rings(self, topic: str) -> list[int]:
        """When each round for this topic began, in nanoseconds of the monotonic clock."""
        lines = [line.split() for line in self.notes.read_text().splitlines()] if self.notes.exists() else []
        return [int(began) for began, *topics in lines if topic in topics]


def dial(server: Server, cookie: dict[str, str], path: str, *, receive_bytes: int | None = None) -> socket.socket:
    """A websocket as a page opens it, after its handshake and its first frame. Plain bytes: no library in between."""
    connection = socket.socket()
    if receive_bytes is not None:  # before connecting, or it has no effect
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.settimeout(WAIT)
    connection.connect(("127.0.0.1", server.port))
    key = base64.b64encode(os.urandom(16)).decode()
    connection.sendall(
        f"GET {path} HTTP/1.1\r\nHost: {server.host}\r\nOrigin: {server.origin}\r\nCookie: {cookie['Cookie']}\r\n"
        f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {key}\r\n\r\n".encode()
    )
    head = bytearray()
    while b"\r\n\r\n" not in head:
        head += connection.recv(1)
    assert head.startswith(b"HTTP/1.1 101"), bytes(head)
    next_frame(connection)
    return connection


def next_frame(connection: socket.socket) -> bytes:
    """The payload of the next text frame; pings are passed over."""
    while True:
        first, length = _exactly(connection, 2)
        if length == 126:
            length = int.from_bytes(_exactly(connection, 2), "big")
        payload = _exactly(connection, length)
        if first == 0x81:
            return payload


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        assert part, "the server hung up"
        data += part
    return data


@contextmanager
def watching(server: Server, cookie: dict[str, str], path: str, count: int) -> Iterator[list[socket.socket]]:
    """So many pages that watch one board."""
    with ExitStack() as stack:
        yield [stack.enter_context(dial(server, cookie, path)) for _ in range(count)]


def last_arrival(connections: list[socket.socket], begin: Callable[[], object]) -> int:
    """When the last of them has got its bytes of the round that ``begin`` starts (monotonic nanoseconds)."""
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            connection.setblocking(False)
            selector.register(connection, selectors.EVENT_READ)
        begin()
        left, end = len(connections), time.monotonic() + WAIT
        while left:
            ready = selector.select(max(0.0, end - time.monotonic()))
            assert ready, f"{left} of {len(connections)} sockets got nothing within {WAIT:.0f} s"
            for key, _ in ready:
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                if sock.recv(65536)[:1] == b"\x81":  # not a ping
                    selector.unregister(sock)
                    left -= 1
        arrived = time.monotonic_ns()
    for connection in connections:
        connection.settimeout(WAIT)
    return arrived


def quiet(connections: list[socket.socket], seconds: float = 0.4) -> None:
    """Reads away what still comes, until nothing has come for so long: rounds must not run into each other."""
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ)
        while ready := selector.select(seconds):
            for key, _ in ready:
                assert isinstance(key.fileobj, socket.socket)
                key.fileobj.recv(65536)


def fan_out(
    server: NotingServer, cookie: dict[str, str], board_id: str, count: int, rounds: int, commit: Callable[[], object]
) -> list[float]:
    """Milliseconds from the first write to the last arrival, for each round; ``commit`` changes the board."""
    found = []
    with watching(server, cookie, f"/ws/boards/{board_id}", count) as connections:
        for _ in range(rounds):
            quiet(connections)
            before = len(server.rings(board_id))
            arrived = last_arrival(connections, commit)
            while len(server.rings(board_id)) <= before:  # noted when the last socket was rung: it may be read sooner
                time.sleep(0.005)
            found.append((arrived - server.rings(board_id)[before]) / 1e6)
    return found


@contextmanager
def floor(count: int) -> Iterator[Callable[[], float]]:
    """A measured round of the bare server (`tests.soak.floor`) with as many connections: milliseconds."""
    program = [sys.executable, "-m", "tests.soak.floor", FRAME.hex()]
    with subprocess.Popen(program, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        given, said = process.stdin, process.stdout
        port = int(said.readline())

        def begin() -> None:
            given.write("\n")
            given.flush()

        def one_round() -> float:
            arrived = last_arrival(connections, begin)
            return (arrived - int(said.readline())) / 1e6

        with ExitStack() as stack:
            connections = [
                stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=WAIT)) for _ in range(count)
            ]
            time.sleep(0.2)  # the last ones are accepted
            yield one_round
        given.close()
        process.wait(WAIT)
