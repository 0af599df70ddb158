"""Real loopback servers that answer as hostile or broken ones do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Answer = Callable[[socket.socket], None]


@contextmanager
def served(answer: Answer) -> Iterator[tuple[int, list[bytes]]]:
    """A server on a free port of 127.0.0.1 and the list of first bytes that each connection sent."""
    listening = socket.create_server(("127.0.0.1", 0))
    asked: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                try:
                    asked.append(connection.recv(4096))
                    answer(connection)
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1], asked
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(10)


def saying(*parts: bytes) -> Answer:
    def answer(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)

    return answer


def trickling(head: bytes) -> Answer:
    """Sends `head`, then a byte every 50 ms for as long as anybody listens (at most 20 s)."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(head)
        pause = threading.Event()
        for _ in range(400):
            connection.sendall(b"x")
            pause.wait(0.05)

    return answer
