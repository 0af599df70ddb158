"""The server that runs on a home: how another process finds it, and how it asks it for a login link."""

from __future__ import annotations

import http.client
import json
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from agentlink_site import unixhttp
from agentlink_site.config import ConfigError
from agentlink_site.home import own_folder, read_private, take_lock, write_private

LOCK, FACTS, SOCKET = "server.lock", "server.json", "agentlink.sock"
SUN_PATH_BYTES = 100  # 104 on macOS, 108 on Linux, both with a final NUL
ANSWER_SECONDS = 5.0


@dataclass(frozen=True)
class Running:
    """The content of server.json."""

    pid: int
    startedAt: str  # noqa: N815  (JSON's own spelling)
    url: str
    socket: str


def hold(home: Path) -> int | None:
    """Become the one server of this home, or None when there is one. What a killed server left is removed."""
    descriptor = take_lock(home / LOCK, wait=False)
    if descriptor is not None:
        (home / FACTS).unlink(missing_ok=True)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
    return descriptor


def write(home: Path, facts: Running) -> None:
    write_private(home / FACTS, json.dumps(asdict(facts)).encode() + b"\n")


def forget(home: Path) -> None:
    (home / FACTS).unlink(missing_ok=True)


def read(home: Path) -> Running | None:
    """The running server's facts; None when none runs or it is not ready yet."""
    try:
        facts = json.loads(read_private(home / FACTS))
        holder = int(read_private(home / LOCK).decode() or 0)
        found = Running(**{name: kind(facts[name]) for name, kind in _KINDS.items()})
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return found if found.pid == holder and is_held(home) else None


_KINDS = {"pid": int, "startedAt": str, "url": str, "socket": str}


def is_held(home: Path) -> bool:
    """Does a living process hold this home? The lock says so, not a pid, which may be reused."""
    descriptor = take_lock(home / LOCK, wait=False)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


def socket_path(home: Path, instance: str) -> Path:
    """Where the unix socket is: in the home, or in a short private folder when the home's path is too long."""
    path = home / SOCKET
    if len(os.fsencode(path)) <= SUN_PATH_BYTES:
        return path
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    if len(os.fsencode(base)) > SUN_PATH_BYTES // 2:
        base = Path("/tmp")  # noqa: S108  (own_folder checks the owner, the mode and links)
    return own_folder(base / f"agentlink-{os.geteuid()}-{instance}") / SOCKET


def ask_for_link(found: Running) -> str:
    """A new login link from the running server. Raises ConfigError when it does not answer."""
    try:
        with _connection(found.socket) as connection:
            connection.request("POST", "/api/agentlink/login-links", headers={"Host": "localhost"})
            answer = connection.getresponse()
            content = json.loads(answer.read())
    except (OSError, unixhttp.NotSent, http.client.HTTPException, ValueError) as error:
        raise ConfigError(f"The server of this home (pid {found.pid}) does not answer: {error}.") from None
    if answer.status != http.client.CREATED:
        raise ConfigError(str(content.get("detail", "The server refused to make a login link.")))
    return str(content["loginUrl"])


@contextmanager
def _connection(path: str) -> Iterator[http.client.HTTPConnection]:
    with closing(http.client.HTTPConnection("localhost", timeout=ANSWER_SECONDS)) as connection:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(ANSWER_SECONDS)
        connection.sock.connect(path)
        unixhttp.check_server(connection.sock)
        yield connection
