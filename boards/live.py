"""Live: one thread follows the log and rings every socket of a board. The frame says what to fetch, never what it is.

No channel layer: frames are encoded once and written to the sockets of an in-process registry. A reconnecting page
simply fetches again.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final, Protocol

import structlog
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import connection
from django.db.models import Max
from django.urls import path

from boards import log, words
from boards.edges import actor_from
from boards.models import Board, Delivery, Event, Node, Outbox
from boards.people import is_member

logger = structlog.get_logger(__name__)

POLL_SECONDS: Final = 0.010
REST_SECONDS: Final = 0.005
HOME: Final = ""
"""The registry's key for sockets of the home pages."""

BOARD_ALL: Final = (
    "messages",
    "contracts",
    "evidence",
    "blockers",
    "ownership",
    "needs",
    "head",
    "choices",
    "owners",
)
"""Every region of a board's page, in the order in which a page fetches them: first what a person waits for."""
HOME_ALL: Final = ("needs", "overview", "boards", "count", "collaborators", "abroad")
"""Every region of the home and of the frame around each page."""
REGIONS: Final[dict[str, tuple[str, ...]]] = {
    "board": BOARD_ALL,
    "contract": ("contracts", "evidence", "ownership", "needs", "choices"),
    "task": ("contracts", "ownership", "needs"),
    "message": ("messages", "needs"),
    "evidence": ("contracts", "evidence", "blockers", "ownership"),
    "blocker": ("contracts", "evidence", "blockers", "ownership", "needs"),
    "summary": ("ownership",),
    "identity": BOARD_ALL,
    "payload": BOARD_ALL,
    "peer": BOARD_ALL,
}
"""Which regions of a board's page an event of each noun can change; a noun that is not here changes all."""
HOME_REGIONS: Final[dict[str, tuple[str, ...]]] = {
    "board": ("needs", "overview", "boards", "count", "abroad"),
    "contract": ("needs", "overview", "boards", "count"),
    "task": ("needs", "overview", "boards", "count"),
    "message": ("needs", "overview", "boards", "count"),
    "evidence": ("overview", "boards"),
    "blocker": ("needs", "overview", "boards", "count"),
    "summary": ("overview", "boards"),
    "identity": HOME_ALL,
    "payload": HOME_ALL,
    "peer": HOME_ALL,
}
"""The same for the home. Boards are listed by their latest change, so every event moves them."""
PRESENCE_REGIONS: Final = ("head", "choices", "collaborators")
"""What tells who is there; each page fetches those that it has."""
WAITING_REGIONS: Final = ("messages",)
"""What tells why copies are still queued."""

WAKE_SECONDS: Final = 0.080
"""From the doorbell to the delivery's turn: whoever was rung fetches first."""

_woken: Final[list[threading.Event]] = []


def subscribe() -> threading.Event:
    """An event of the caller's own that is set soon after something new stands in the log, whoever wrote it."""
    woken = threading.Event()
    _woken.append(woken)
    return woken


def unsubscribe(woken: threading.Event) -> None:
    """The reader has ended."""
    _woken.remove(woken)


class Line(Protocol):
    """A websocket's connection, as the server in front gives it (``scope["agentlink.line"]``)."""

    ready: bool
    """Open, and everything that was written has left."""
    when_ready: Callable[[], None] | None
    """Called each time it becomes ready again."""

    def write(self, frame: bytes) -> None:
        """Sends an encoded frame; only while ``ready``."""


class Registry:
    """Who listens to what. Touched only on the event loop; rung from any thread."""

    def __init__(self) -> None:
        self._sockets: dict[str, set[Doorbell]] = defaultdict(set)
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(self, topic: str, socket: Doorbell) -> None:
        """From now on the socket hears of this topic."""
        self._loop = asyncio.get_running_loop()
        self._sockets[topic].add(socket)

    def remove(self, topic: str, socket: Doorbell) -> None:
        """The socket is gone."""
        self._sockets[topic].discard(socket)
        if not self._sockets[topic]:
            del self._sockets[topic]

    def ring(self, frames: dict[str, str]) -> None:
        """Sends one frame per topic, from any thread."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._ring, frames)

    def _ring(self, frames: dict[str, str]) -> None:
        for topic, frame in frames.items():
            encoded = _encoded(frame)
            for socket in list(self._sockets.get(topic, ())):
                socket.ring(frame, encoded)

    def topics(self) -> list[str]:
        """Every board (and the home) that somebody looks at."""
        return list(self._sockets)


registry = Registry()


class Doorbell(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no type information
    """``/ws/boards/<id>`` and ``/ws/home``. Nothing that a client sends is looked at."""

    topic: str = HOME
    _missed: str | None = None
    """What a client that does not keep up has still to hear: one frame that stands for all."""

    async def connect(self) -> None:
        """Accepts members (and the person); the guard in front has checked Host, Origin and session."""
        board_id = self.scope["url_route"]["kwargs"].get("board_id", HOME)
        revision = await _revision_for(self.scope["agentlink"], board_id)
        if revision is None:
            await self.close()
            return
        self.topic = board_id
        self._line: Line = self.scope["agentlink.line"]
        self._line.when_ready = self._catch_up
        registry.add(board_id, self)
        await self.accept()
        hello = _frame(board_id, revision, ())
        self.ring(hello, _encoded(hello))

    def ring(self, frame: str, encoded: bytes) -> None:
        """Writes one frame, or keeps what it says until the client has read what it got before."""
        if self._line.ready:
            self._line.write(encoded)
        else:
            self._missed = _merged(self._missed, frame)

    def _catch_up(self) -> None:
        if self._missed is not None:
            frame, self._missed = self._missed, None
            self._line.write(_encoded(frame))

    async def disconnect(self, code: int) -> None:
        """Forgets the socket."""
        if hasattr(self, "_line"):
            self._line.when_ready = None  # it and this point at each other
            registry.remove(self.topic, self)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Clients only listen."""


@database_sync_to_async  # type: ignore[untyped-decorator]
def _revision_for(known: dict[str, Any] | None, board_id: str) -> int | None:
    """The revision a new listener starts from; none when it may not listen."""
    if known is None:
        return None
    node = Node.objects.get(node_id=actor_from(known).node_id)
    if board_id == HOME:
        return log.last_position() if node.kind == "human" else None
    board = Board.objects.filter(board_id=board_id).first()
    if board is None:
        return None
    return board.head if node.kind == "human" or is_member(board_id, node.node_id) else None


websocket_urlpatterns = [
    path("ws/boards/<str:board_id>", Doorbell.as_asgi()),
    path("ws/home", Doorbell.as_asgi()),
]


def _frame(board_id: str, revision: int, regions: tuple[str, ...]) -> str:
    return json.dumps({"board": board_id or None, "revision": revision, "regions": list(regions)})


def _merged(earlier: str | None, later: str) -> str:
    """One frame that rings for two: the later's revision, the regions of both in the order to fetch them."""
    if earlier is None:
        return later
    frame = json.loads(later)
    named = {*json.loads(earlier)["regions"], *frame["regions"]}
    every = dict.fromkeys((*BOARD_ALL, *HOME_ALL))
    return json.dumps({**frame, "regions": [name for name in every if name in named]})


def _encoded(frame: str) -> bytes:
    """The bytes of a websocket's text frame as a server sends it (RFC 6455, 5.2); a frame here is always short."""
    payload = frame.encode()
    length = bytes([len(payload)]) if len(payload) < 126 else bytes([126]) + len(payload).to_bytes(2, "big")
    return b"\x81" + length + payload


def follow(stop: threading.Event) -> None:
    """Waits for commits of this or any other process and rings. Runs until ``stop`` is set."""
    bell = log.subscribe()
    try:
        _follow(stop, bell)
    finally:
        log.unsubscribe(bell)


def _follow(stop: threading.Event, bell: threading.Event) -> None:
    position, waiting, version, wake = log.last_position(), _waiting(), _data_version(), math.inf
    while not stop.is_set():
        rung = bell.wait(POLL_SECONDS)
        bell.clear()
        seen = _data_version()
        if rung or seen != version:
            version, before = seen, position
            position = _announce(position)
            waiting = _announce_waiting(waiting)
            if position != before:
                wake = min(wake, time.monotonic() + WAKE_SECONDS)
            stop.wait(REST_SECONDS)
        if time.monotonic() >= wake:
            for woken in tuple(_woken):
                woken.set()
            wake = math.inf


def _data_version() -> int:
    """Changes with every commit of another connection to the database file."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA data_version")
        return int(cursor.fetchone()[0])


def _announce(position: int) -> int:
    """Rings for everything after a position; returns the new position."""
    rows = log.after(position)
    while rows:
        registry.ring(_frames(rows))
        position = rows[-1].position
        rows = log.after(position)
    return position


def _frames(rows: list[Event]) -> dict[str, str]:
    """One frame per topic that the events touch; a node's name stands on every page, so home events touch them all."""
    everywhere = any(row.stream == words.HOME_STREAM for row in rows)
    boards = {row.stream: row.revision for row in rows if row.stream}
    if everywhere:
        boards = {topic: _head(topic) for topic in registry.topics() if topic} | boards
    named = {board: changed([row.type for row in rows if row.stream in (board, words.HOME_STREAM)]) for board in boards}
    frames = {board: _frame(board, revision, named[board]) for board, revision in boards.items()}
    return {**frames, HOME: _frame(HOME, rows[-1].position, changed_at_home([row.type for row in rows]))}


def changed(types: Iterable[str]) -> tuple[str, ...]:
    """The regions of a board's page that events of these types can change, in the order to fetch them."""
    return _named(REGIONS, BOARD_ALL, types)


def changed_at_home(types: Iterable[str]) -> tuple[str, ...]:
    """The same for the home, and for the frame around each page."""
    return _named(HOME_REGIONS, HOME_ALL, types)


def _named(table: dict[str, tuple[str, ...]], every: tuple[str, ...], types: Iterable[str]) -> tuple[str, ...]:
    named = {name for kind in types for name in table.get(kind.split(".")[1], every)}
    return tuple(name for name in every if name in named)


def presence_changed() -> None:
    """Rings everybody: who is there, or what it does, looks different now. Presence never enters the log."""
    _ring(registry.topics(), PRESENCE_REGIONS)


def _announce_waiting(known: datetime | None) -> datetime | None:
    """Rings the boards with copies that wait for another reason than before; that never enters the log either."""
    last = _waiting()
    if last is None or last == known:
        return known
    noted = Outbox.objects.filter(noted_at__gt=known) if known else Outbox.objects.filter(noted_at__isnull=False)
    keys = noted.order_by("noted_at").values("key")
    _ring(Delivery.objects.filter(key__in=keys).values_list("board_id", flat=True).distinct(), WAITING_REGIONS)
    return last


def _waiting() -> datetime | None:
    """When the delivery last noted why a copy waits."""
    last: datetime | None = Outbox.objects.aggregate(at=Max("noted_at"))["at"]
    return last


def _ring(topics: Iterable[str], regions: tuple[str, ...]) -> None:
    registry.ring({topic: _frame(topic, _head(topic), regions) for topic in topics})


def _head(topic: str) -> int:
    if topic == HOME:
        return log.last_position()
    return Board.objects.values_list("head", flat=True).filter(board_id=topic).first() or 0
