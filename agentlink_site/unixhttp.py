"""One HTTP/1.1 request over a unix socket, written out: no URL, proxy, cookie or redirect code is needed or loaded."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from typing import Final

SECONDS: Final = 15.0
"""How long a request may take in all its waiting; a command waits at most for the store's lock."""
BLOCK: Final = 65536
Answer = tuple[int, dict[str, str], bytes]


class NotSent(Exception):
    """Nobody listens: the request has not left this process."""


class Lost(Exception):
    """The connection ended after the request was sent: it may or may not have been done."""


class TimedOut(Lost):
    """The server took the request and gave no answer in time: it hangs, and asking again would only wait again."""


def ask(path: str, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
    """The answer of the server at the socket ``path``: status, headers (names in lower case), body.

    Raises :class:`NotSent`, :class:`TimedOut` or :class:`Lost`.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(SECONDS)
        _connect(connection, path)
        return _exchange(connection, _request(method, target, headers, body))
    finally:
        connection.close()


def _connect(connection: socket.socket, path: str) -> None:
    try:
        connection.connect(path)
    except OSError as error:
        raise NotSent(str(error)) from error
    check_server(connection)


def check_server(connection: socket.socket) -> None:
    """Nothing is sent to a server of another user, whoever put its socket there: the kernel says who listens.

    Raises :class:`NotSent`. Where the system does not tell, the socket's folder is the only wall.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    owner = struct.unpack("3i", raw)[1]
    if owner not in (os.geteuid(), 0):
        raise NotSent(f"its socket belongs to another user (uid {owner}); nothing was sent")


def _request(method: str, target: str, headers: dict[str, str], body: bytes) -> bytes:
    own = {"Host": "localhost", "Connection": "close", "Content-Length": str(len(body)), **headers}
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in own.items())]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("A header or an address holds a line break.")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def _exchange(connection: socket.socket, request: bytes) -> Answer:
    with contextlib.suppress(OSError):  # a server that refuses early answers before it has read everything
        connection.sendall(request)
    try:
        return _parse(_read_all(connection))
    except TimeoutError as error:
        raise TimedOut(f"no answer within {SECONDS:.0f} seconds") from error
    except (OSError, ValueError) as error:
        raise Lost(f"{type(error).__name__}: {error}") from error


def _read_all(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(BLOCK):
        parts.append(part)
    return b"".join(parts)


def _parse(raw: bytes) -> Answer:
    """Status, headers and body. Raises ``ValueError`` for an answer that is not whole."""
    head, separator, rest = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    if not separator or not first.startswith("HTTP/1.1 "):
        raise ValueError("the answer is not whole")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return int(first[9:12]), headers, _body(headers, rest)


def _body(headers: dict[str, str], rest: bytes) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return _joined(rest)
    length = headers.get("content-length")
    if length is not None and len(rest) != int(length):
        raise ValueError("the answer is not whole")
    return rest


def _joined(rest: bytes) -> bytes:
    parts: list[bytes] = []
    while True:
        line, separator, rest = rest.partition(b"\r\n")
        size = int(line.partition(b";")[0], 16)
        if not separator or len(rest) < size + 2:
            raise ValueError("the answer is not whole")
        if size == 0:
            return b"".join(parts)
        parts.append(rest[:size])
        rest = rest[size + 2 :]
