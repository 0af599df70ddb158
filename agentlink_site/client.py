"""How the command line (and other programs of this home) ask the API: over the server's own socket, or in-process.

Both ways give the same answers, byte for byte but for times and ids. Tokens go into one header and nowhere else.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote_to_bytes, urlencode

from agentlink_site import running, unixhttp
from agentlink_site.config import ConfigError, load
from agentlink_site.home import ensure_home, read_private

if TYPE_CHECKING:
    from django.core.handlers.base import BaseHandler

BASE: Final = "/api/agentlink"
PAUSES: Final = (0.05, 0.2, 0.5)
"""Seconds before each further attempt after the connection was lost."""
SURFACE_HEADER: Final = "X-AgentLink-Surface"
KEY_HEADER: Final = "Idempotency-Key"
WRITES: Final = frozenset({"POST", "PATCH"})
"""Methods that change something: they have a body and a key, and deliveries follow them."""
Answer = tuple[int, dict[str, str], bytes]
Json = dict[str, Any]


class Outage(Exception):
    """The request could not be answered at all; the sentence says what was tried."""

    def __init__(self, sentence: str, code: str = "outage") -> None:
        super().__init__(sentence)
        self.code = code


class NoToken(ConfigError):
    """The node that should act has no usable secret in this home."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


def call(
    method: str,
    path: str,
    body: Json | None = None,
    *,
    node: str | None = None,
    query: dict[str, str] | None = None,
    key: str | None = None,
    surface: str = "cli",
) -> Answer:
    """One request to this home's API: status, headers (names in lower case) and body.

    ``path`` is below ``/api/agentlink``, its parts quoted (:func:`at`). ``node`` acts with its own token, else the
    person does. Every write gets a key, so that a request whose answer was lost can be sent again. Raises
    :class:`Outage`, and ``ConfigError`` for a wrong setting or a node without a token.
    """
    headers = {SURFACE_HEADER: surface}
    content = b""
    if method in WRITES:
        content = json.dumps(body or {}).encode()
        headers |= {"Content-Type": "application/json", KEY_HEADER: key or new_key()}
    target = BASE + path + (f"?{urlencode(query)}" if query else "")
    home = ensure_home(load())
    if node:
        headers["Authorization"] = f"Bearer {_token(home, node)}"
    return _over_socket(home, method, target, headers, content) or _in_process(method, target, headers, content)


def at(*parts: str) -> str:
    """A path of these parts, each quoted: ``at("boards", "a/b")`` is ``/boards/a%2Fb``."""
    return "".join(f"/{quote(part, safe='@')}" for part in parts)


def new_key() -> str:
    """A key for one wish."""
    return f"cli-{uuid.uuid4()}"


# --- over the socket -----------------------------------------------------------------------------------------------


def _over_socket(home: Path, method: str, target: str, headers: dict[str, str], content: bytes) -> Answer | None:
    """The running server's answer; None when there is none (any more), so that nothing was asked or all is known again.

    A request whose answer was lost is sent again with the same key; when the server is gone for good by then, the
    in-process way repeats it with that key, and it is still done once.
    """
    faults: list[str] = []
    while (found := running.read(home)) is not None:
        try:
            return unixhttp.ask(found.socket, method, target, headers, content)
        except unixhttp.TimedOut as error:
            raise Outage(f"The server of this home (pid {found.pid}) does not answer: {error}.") from error
        except (unixhttp.NotSent, unixhttp.Lost) as error:
            faults.append(str(error))
        if len(faults) > len(PAUSES):
            raise Outage(f"The server of this home (pid {found.pid}) does not answer: {faults[-1]}.")
        time.sleep(PAUSES[len(faults) - 1])
    return None


def _token(home: Path, node: str) -> str:
    """The node's secret, from its own file; the server (or the store) then says whether it is good."""
    path = home / "tokens" / node
    if "/" in node or node.startswith(".") or not node.isprintable():
        raise NoToken("unknown_node", f"{node[:80]!r} is no node id; `agentlink peers` lists them.")
    try:
        return _private_line(path)
    except FileNotFoundError:
        sentence = f"There is no token for the node {node!r} in this home; invite the session to a board first."
        raise NoToken("no_token", sentence) from None


def _private_line(path: Path) -> str:
    text = read_private(path, 512).decode("ascii", "replace").strip()
    if path.lstat().st_mode & 0o077:
        raise NoToken("unsafe_token_file", f"The token file of {path.name} can be read by others; give it mode 0600.")
    return text


# --- in-process ----------------------------------------------------------------------------------------------------


def _in_process(method: str, target: str, headers: dict[str, str], content: bytes) -> Answer:
    """The same request, answered by Django in this process. Raises :class:`Outage` when the store cannot be used."""
    with in_process():
        return _answered(method, target, headers, content)


@contextmanager
def in_process() -> Iterator[None]:
    """Inside, this process works on the store itself. Raises :class:`Outage` when the store cannot be used."""
    from django.db import DatabaseError

    try:
        _prepare()
        yield
    except DatabaseError as error:
        raise Outage(f"The store of this home cannot be used: {error}.", "store_unavailable") from error


@cache
def _prepare() -> None:
    """Once for each process: Django and the store are ready."""
    from agentlink_site.server import prepare

    prepare()


def tend() -> None:
    """For who waits without a server: what its workers would do meanwhile is done once. With one, nothing."""
    if running.read(working_home()) is None:
        with in_process():
            _errands()


def served() -> bool:
    """Whether a server of this home runs, so that an answer costs next to nothing."""
    return running.read(working_home()) is not None


def store_files() -> list[str]:
    """The files that a write to the store changes."""
    from agentlink_site.database import FILE_NAME

    path = str(working_home() / FILE_NAME)
    return [path, f"{path}-wal"]


def mark_of(files: list[str]) -> list[tuple[int, int]]:
    """Something that differs after every write to these files, whoever wrote; it costs next to nothing."""
    return [_dates(path) for path in files]


def _dates(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


def _answered(method: str, target: str, headers: dict[str, str], content: bytes) -> Answer:
    """Before, sessions are looked at; afterwards, messages that are due go out."""
    if not target.startswith(f"{BASE}/status"):
        _look_once()
    answer = _handled(method, target, headers, content)
    if method in WRITES and answer[0] < 300:
        _errands()
    return answer


def _errands() -> None:
    """What the server's workers do all the time, once: messages that are due go out, the board folder is in step."""
    from boards import delivery, folder

    delivery.attempt_once()
    folder.attempt_once()


@cache
def _look_once() -> None:
    """One look at the session stores for this process: who is named must be findable, what is shown must be fresh."""
    from boards.discovery import scan_once

    scan_once()


@cache
def _handler() -> BaseHandler:
    from django.core.handlers.base import BaseHandler

    handler = BaseHandler()
    handler.load_middleware(is_async=False)
    return handler


def _handled(method: str, target: str, headers: dict[str, str], content: bytes) -> Answer:
    from django.core.handlers.wsgi import WSGIRequest

    from agentlink_site import problems

    actor = _actor(headers)
    if actor is None:
        refusal = problems.BAD_TOKEN
        return refusal.status, {}, problems.body(refusal, as_json=True)[0]
    response = _handler().get_response(WSGIRequest(_environ(method, target, headers, content, actor)))
    shown = {name.lower(): value for name, value in response.headers.items()}
    return response.status_code, shown, getattr(response, "content", b"")


def _actor(headers: dict[str, str]) -> Json | None:
    """Who acts, as the server's guard finds it: a token must be good, without one it is the person."""
    surface = headers[SURFACE_HEADER]
    given = headers.get("Authorization")
    if given is None:
        return {"node_id": None, "surface": surface, "human": True}
    from peers.trust import verify

    node_id = verify(given.removeprefix("Bearer "))
    return {"node_id": node_id, "surface": surface, "human": False} if node_id else None


def _environ(method: str, target: str, headers: dict[str, str], content: bytes, actor: Json) -> Json:
    path, _, query = target.partition("?")
    sent = {
        f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items() if name != "Authorization"
    }
    return {
        **sent,
        "REQUEST_METHOD": method,
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "CONTENT_TYPE": headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(len(content)),
        "HTTP_HOST": "localhost",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "0",
        "REMOTE_ADDR": "",
        "wsgi.input": BytesIO(content),
        "wsgi.url_scheme": "http",
        "agentlink.actor": actor,
    }


def working_home() -> Path:
    """This home, made when missing."""
    return ensure_home(load())


def environment_node() -> str | None:
    """``AGENTLINK_NODE``, checked."""
    return load().node


def environment_board() -> str | None:
    """``AGENTLINK_BOARD``, checked."""
    return load().board
