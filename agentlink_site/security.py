"""The guard: one ASGI wrapper around everything, http and websocket, whatever is mounted inside.

It decides in this order: is the request meant for this server (target, Host), does it come from our own page
(Sec-Fetch-Site, Origin), is its body plain and of the right type, who acts, does it ask too often. Only then the
application sees it.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import Any, NotRequired, TypedDict

import structlog
from django.conf import settings
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse

from agentlink_site import problems
from agentlink_site.headers import secured
from agentlink_site.problems import Refusal
from agentlink_site.rates import Buckets

log = structlog.get_logger(__name__)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
HOST_NAMES = ("127.0.0.1", "localhost", "[::1]")
OWN_PAGES = {b"same-origin", b"none"}
LOGIN_PATH = "/login"
LOOKS = ("tokens.css", "base.css", "layout.css", "parts.css")
PUBLIC_PATHS = {LOGIN_PATH, "/static/icon.svg", *(f"/static/css/{name}" for name in LOOKS)}
"""The login page and what it looks like; every other file wants a login too."""
TOKEN = re.compile(rb"Bearer ([A-Za-z0-9._~+/=-]{16,512})")
SESSION_KEY = re.compile(r"[a-z0-9]{32}")
REMEMBERED_SECONDS = 1.0
REVOKED_SOCKET_CLOSE_CODE = 4401


class Actor(TypedDict):
    """Who acts: the node (None: the home's human), through which surface, and whether it is the person."""

    node_id: str | None
    surface: str
    human: bool
    host: NotRequired[str]


@dataclass(frozen=True)
class Credential:
    """What a request shows to say who it is: kind `token`, `session` or `socket`, and its value."""

    kind: str
    value: str
    surface: str


class Visit:
    """One request or websocket as the checks look at it."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.websocket = scope["type"] == "websocket"
        self.method: str = scope.get("method", "GET")
        self.path: str = scope["path"]
        self.unix: bool = scope.get("agentlink.unix", False)

    def values(self, name: bytes) -> list[bytes]:
        """Every value of a header; `name` in lower case."""
        return [value for key, value in self.scope["headers"] if key.lower() == name]

    @cached_property
    def hosts(self) -> set[bytes]:
        """The only values that Host may have. On our own unix socket the port may be left out."""
        port = (self.scope.get("server") or ("", None))[1]
        bare = {name.encode() for name in HOST_NAMES}
        return bare if self.unix else {name + f":{port}".encode() for name in bare}

    @property
    def changes_something(self) -> bool:
        return self.method not in SAFE_METHODS

    @property
    def public(self) -> bool:
        return not self.websocket and self.path in PUBLIC_PATHS


def check_target(visit: Visit) -> Refusal | None:
    """Absolute-form targets name a host of their own and would get around the Host check."""
    raw = visit.scope.get("raw_path") or visit.path.encode()
    if raw.startswith(b"/") and not raw.startswith(b"//"):
        return None
    return Refusal(400, "bad_target", "The request line must hold a path that starts with one slash.")


def check_host(visit: Visit) -> Refusal | None:
    """DNS rebinding: a page of another name that now resolves to us still sends its own Host."""
    hosts = visit.values(b"host")
    if len(hosts) != 1:
        return Refusal(400, "bad_host", "A request must have exactly one Host header.")
    if hosts[0] not in visit.hosts:
        return Refusal(421, "wrong_host", "This Host is not served here; use the address that `agentlink up` printed.")
    return None


def check_fetch_site(visit: Visit) -> Refusal | None:
    """What a browser says about its own request: only our pages, or a person following a link."""
    sites = visit.values(b"sec-fetch-site")
    if not sites or (len(sites) == 1 and sites[0] in OWN_PAGES):
        return None
    followed = visit.values(b"sec-fetch-mode") == [b"navigate"] and visit.values(b"sec-fetch-dest") == [b"document"]
    if followed and visit.method == "GET" and not visit.websocket:
        return None
    return Refusal(403, "cross_site", "This request comes from another site's page and was refused.")


def check_origin(visit: Visit) -> Refusal | None:
    """Byte for byte `http://` + Host; left out only by programs, which show a token or use the unix socket."""
    if not (visit.websocket or visit.changes_something):
        return None
    origins = visit.values(b"origin")
    if not origins and (visit.unix or visit.values(b"authorization")):
        return None
    if origins == [b"http://" + visit.values(b"host")[0]]:
        return None
    return Refusal(403, "wrong_origin", "The Origin of this request is not this server's own page.")


def check_content_type(visit: Visit) -> Refusal | None:
    """A cross-site form cannot send application/json, so JSON routes take nothing else."""
    if not (problems.is_api(visit.path) and visit.changes_something):
        return None
    kinds = visit.values(b"content-type")
    has_body = visit.values(b"transfer-encoding") or visit.values(b"content-length") not in ([], [b"0"])
    if not kinds and not has_body:
        return None
    if len(kinds) == 1 and kinds[0].partition(b";")[0].strip().lower() == b"application/json":
        return None
    return Refusal(415, "not_json", "This route takes only Content-Type: application/json.")


def check_encoding(visit: Visit) -> Refusal | None:
    """A body is taken as it is: nothing is unpacked, so nothing can grow while it is."""
    if all(value.strip().lower() == b"identity" for value in visit.values(b"content-encoding")):
        return None
    return Refusal(415, "encoded_body", "A body must be sent as it is, without a Content-Encoding.")


CHECKS = (check_target, check_host, check_fetch_site, check_origin, check_content_type, check_encoding)


def first_refusal(visit: Visit) -> Refusal | None:
    return next((refusal for check in CHECKS if (refusal := check(visit)) is not None), None)


def credential(visit: Visit) -> Credential | Refusal:
    """What the request shows. A token that is present must be valid: nothing else is tried then."""
    tokens = visit.values(b"authorization")
    if tokens:
        match = TOKEN.fullmatch(tokens[0]) if len(tokens) == 1 else None
        surface = _program(visit) if visit.unix else "api"
        return Credential("token", match[1].decode(), surface) if match else problems.BAD_TOKEN
    if visit.unix:
        return Credential("socket", "", _program(visit))
    key = _session_key(visit)
    return Credential("session", key, "panel") if key else problems.NOT_LOGGED_IN


def _program(visit: Visit) -> str:
    """Our own client says on the unix socket whether it is the CLI or the MCP server; it gains nothing by it."""
    return "mcp" if visit.values(b"x-agentlink-surface") == [b"mcp"] else "cli"


def _session_key(visit: Visit) -> str | None:
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load("; ".join(value.decode("latin-1") for value in visit.values(b"cookie")))
    except CookieError:
        return None
    morsel = jar.get(settings.SESSION_COOKIE_NAME)
    return morsel.value if morsel and SESSION_KEY.fullmatch(morsel.value) else None


def identify(shown: Credential) -> Actor | None:
    """Who that is, from the store; None when it is nobody. Runs on a thread."""
    if shown.kind == "socket":
        return Actor(node_id=None, surface=shown.surface, human=True)
    if shown.kind == "session":
        from agentlink_site.login import is_logged_in

        return Actor(node_id=None, surface="panel", human=True) if is_logged_in(shown.value) else None
    from peers.trust import verify

    node_id = verify(shown.value)
    return Actor(node_id=node_id, surface=shown.surface, human=False) if node_id else None


class Memory:
    """Who showed what within the last second, so that a page's many regions cost one look into the store."""

    def __init__(self, seconds: float = REMEMBERED_SECONDS, size: int = 256) -> None:
        self.seconds, self.size = seconds, size
        self.known: dict[bytes, tuple[float, Actor]] = {}

    def get(self, shown: Credential) -> Actor | None:
        until, actor = self.known.get(self._key(shown), (0.0, None))
        return actor if time.monotonic() < until else None

    def put(self, shown: Credential, actor: Actor) -> None:
        if len(self.known) >= self.size:
            self.known.clear()
        self.known[self._key(shown)] = (time.monotonic() + self.seconds, actor)

    def _key(self, shown: Credential) -> bytes:
        return sha256(f"{shown.kind}\0{shown.surface}\0{shown.value}".encode()).digest()


class Guard:
    """The ASGI application that everything else is inside of.

    `on_thread` runs a function of one argument on a thread that may use the database.
    """

    def __init__(self, app: App, on_thread: Callable[[Callable[..., Any], Any], Awaitable[Any]]) -> None:
        self.app, self.on_thread, self.memory, self.buckets = app, on_thread, Memory(), Buckets()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit = Visit(scope)
        send = send if visit.websocket else _securing(send)
        refusal = first_refusal(visit)
        actor = None
        if refusal is None and not visit.public:
            found = await self.who(visit)
            refusal, actor = (found, None) if isinstance(found, Refusal) else (self.too_often(found), found)
        if refusal is not None:
            await _refuse(visit, refusal, receive, send)
            return
        scope["agentlink"] = actor
        await (self.serve_socket(visit, receive, send) if visit.websocket else self.app(scope, receive, send))

    async def who(self, visit: Visit) -> Actor | Refusal:
        """The actor, or why there is none."""
        shown = credential(visit)
        if isinstance(shown, Refusal):
            return shown
        if known := self.memory.get(shown):
            return known
        try:
            actor: Actor | None = await self.on_thread(identify, shown)
        except DatabaseError:
            log.exception("the store cannot be reached")
            return problems.NO_STORE
        if actor is None:
            return problems.BAD_TOKEN if shown.kind == "token" else problems.NOT_LOGGED_IN
        self.memory.put(shown, actor)
        return actor

    def too_often(self, actor: Actor) -> Refusal | None:
        """The refusal of whoever asks too often, with the time after which it may ask again."""
        if actor["surface"] == "panel":
            return None
        seconds = self.buckets.take(actor["node_id"])
        return problems.too_often(seconds) if seconds else None

    async def serve_socket(self, visit: Visit, receive: Receive, send: Send) -> None:
        """Serve a websocket until it ends or its session or token is no longer good."""
        serving = asyncio.ensure_future(self.app(visit.scope, receive, send))
        watching = asyncio.ensure_future(self.until_revoked(visit))
        try:
            await asyncio.wait({serving, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not serving.done():
                await send({"type": "websocket.close", "code": REVOKED_SOCKET_CLOSE_CODE})
                return
            serving.result()
        finally:
            watching.cancel()
            serving.cancel()

    async def until_revoked(self, visit: Visit) -> None:
        actor: Actor | Refusal | None = None
        while actor is not problems.NOT_LOGGED_IN and actor is not problems.BAD_TOKEN:
            await asyncio.sleep(REMEMBERED_SECONDS)
            actor = await self.who(visit)


def _securing(send: Send) -> Send:
    async def secured_send(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = secured(list(message.get("headers", [])))
        await send(message)

    return secured_send


async def _refuse(visit: Visit, refusal: Refusal, receive: Receive, send: Send) -> None:
    if visit.websocket:
        await receive()
        await send({"type": "websocket.close"})  # before accept: the handshake is answered with 403
        return
    content, kind = problems.body(refusal, as_json=problems.is_api(visit.path))
    headers = [(b"content-type", kind), (b"content-length", str(len(content)).encode())]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="agentlink"'))
    if refusal.retry_after:
        headers.append((b"retry-after", str(refusal.retry_after).encode()))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def actor_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Django's side of the guard: `request.actor`, and no CSRF token asked of programs.

    A test client says who acts by `client.get(path, **{"agentlink.actor": {...}})`: no request header can.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        scope = getattr(request, "scope", {})
        actor: Actor | None = scope.get("agentlink") or request.META.get("agentlink.actor")
        if actor is None and request.path != LOGIN_PATH:
            return problems.response(request, problems.NOT_LOGGED_IN)
        request.actor = actor  # type: ignore[attr-defined]
        if actor is not None and actor["surface"] != "panel":
            request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
        return get_response(request)

    return middleware
