"""Live: one thread follows the log and rings every socket of a board. The frame says what to fetch, never what it is.

No channel layer: frames are encoded once and written to the sockets of an in-process registry. A reconnecting page
simply fetches again.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import defaultdict
from typing import Any, Final

import structlog
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import connection
from django.urls import path

from boards import log, words
from boards.edges import actor_from
from boards.keys import pair
from boards.models import Board, Event, Member, Node

logger = structlog.get_logger(__name__)

POLL_SECONDS: Final = 0.010
REST_SECONDS: Final = 0.005
HOME: Final = ""
"""The registry's key for sockets of the home pages."""

REGIONS: Final[dict[str, tuple[str, ...]]] = {
    "board": ("head", "needs", "contracts", "messages", "evidence", "blockers", "ownership"),
    "contract": ("head", "needs", "contracts", "evidence", "blockers", "ownership"),
    "task": ("head", "needs", "contracts", "evidence", "ownership"),
    "message": ("head", "needs", "messages"),
    "evidence": ("head", "needs", "contracts", "evidence", "blockers"),
    "blocker": ("head", "needs", "contracts", "blockers"),
    "summary": ("head", "ownership"),
}
"""Which regions of a board's page an event of each noun can change."""
HOME_REGIONS: Final = ("boards", "collaborators", "needs")
PRESENCE_REGIONS: Final = ("collaborators", "head")

committed = threading.Event()
"""Set when something new stands in the log; wakes the delivery."""


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
            for socket in list(self._sockets.get(topic, ())):
                socket.ring(frame)

    def topics(self) -> list[str]:
        """Every board (and the home) that somebody looks at."""
        return list(self._sockets)


registry = Registry()


class Doorbell(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no type information
    """``/ws/boards/<id>`` and ``/ws/home``. Nothing that a client sends is looked at."""

    topic: str = HOME

    async def connect(self) -> None:
        """Accepts members (and the person); the guard in front has checked Host, Origin and session."""
        board_id = self.scope["url_route"]["kwargs"].get("board_id", HOME)
        revision = await _revision_for(self.scope["agentlink"], board_id)
        if revision is None:
            await self.close()
            return
        self.topic = board_id
        self._tasks: set[asyncio.Task[None]] = set()
        registry.add(board_id, self)
        await self.accept()
        await self.send(text_data=_frame(board_id, revision, ()))

    def ring(self, frame: str) -> None:
        """Writes one frame; a socket that is closing loses it without harm."""
        task = asyncio.get_running_loop().create_task(self._send(frame))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, frame: str) -> None:
        try:
            await self.send(text_data=frame)
        except Exception as error:  # the peer went away between ring and write
            logger.debug("socket_gone", error=str(error))

    async def disconnect(self, code: int) -> None:
        """Forgets the socket."""
        if hasattr(self, "_tasks"):
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
    member = Member.objects.filter(key=pair(board_id, node.node_id)).exclude(state="left").exists()
    return board.head if member or node.kind == "human" else None


websocket_urlpatterns = [
    path("ws/boards/<str:board_id>", Doorbell.as_asgi()),
    path("ws/home", Doorbell.as_asgi()),
]


def _frame(board_id: str, revision: int, regions: tuple[str, ...]) -> str:
    return json.dumps({"board": board_id or None, "revision": revision, "regions": list(regions)})


def follow(stop: threading.Event) -> None:
    """Waits for commits of this or any other process and rings. Runs until ``stop`` is set."""
    position, version = log.last_position(), _data_version()
    while not stop.is_set():
        rung = log.bell.wait(POLL_SECONDS)
        log.bell.clear()
        seen = _data_version()
        if rung or seen != version:
            version = seen
            position = _announce(position)
        stop.wait(REST_SECONDS)


def _data_version() -> int:
    """Changes with every commit of another connection to the database file."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA data_version")
        return int(cursor.fetchone()[0])


def _announce(position: int) -> int:
    """Rings for everything after a position; returns the new position."""
    rows = log.after(position)
    while rows:
        committed.set()
        registry.ring(_frames(rows))
        if any(row.stream == words.HOME_STREAM for row in rows):
            presence_changed()  # a node's name or role stands on every page that shows it
        position = rows[-1].position
        rows = log.after(position)
    return position


def _frames(rows: list[Event]) -> dict[str, str]:
    revisions: dict[str, int] = {}
    regions: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.stream:
            revisions[row.stream] = row.revision
            regions[row.stream].update(REGIONS[row.type.split(".")[1]], HOME_REGIONS)
    frames = {board: _frame(board, revisions[board], tuple(sorted(regions[board]))) for board in revisions}
    return {**frames, HOME: _frame(HOME, rows[-1].position, HOME_REGIONS)}


def presence_changed() -> None:
    """Rings everybody: who is there, or what it does, looks different now. Presence never enters the log."""
    for topic in registry.topics():
        registry.ring({topic: _frame(topic, _head(topic), PRESENCE_REGIONS)})


def _head(topic: str) -> int:
    if topic == HOME:
        return log.last_position()
    return Board.objects.values_list("head", flat=True).filter(board_id=topic).first() or 0
