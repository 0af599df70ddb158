"""The log: the one append-only truth. Appending, reading after a position, replaying and verifying.

Each stream (a board, or the home stream) is one chain of digests. ``digest`` covers everything of an event but its
data; the data is covered by ``dataDigest``, so that a leaked payload can be erased and the chain still verifies.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import structlog
from django.db import DatabaseError, OperationalError, connection, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver

from boards import projections, rows
from boards.digests import canonical as canonical
from boards.digests import remainder
from boards.digests import sha256 as sha256
from boards.events import EVENTS, EventData, PayloadErased, Recorded
from boards.models import BOARD_PROJECTIONS, HOME_PROJECTIONS, Event
from boards.times import iso, parse
from boards.times import now as now
from boards.words import HOME_STREAM

logger = structlog.get_logger(__name__)

TURN_SECONDS: Final = 10.0
"""How long a writer waits for its turn; nobody's own turn takes more than a fraction of a second."""
_mine = threading.local()
_bells: Final[list[threading.Event]] = []


def subscribe() -> threading.Event:
    """An event of the caller's own that is set after each commit of this process; whoever waits clears it."""
    bell = threading.Event()
    _bells.append(bell)
    return bell


def unsubscribe(bell: threading.Event) -> None:
    """The reader has ended."""
    _bells.remove(bell)


@contextmanager
def writer() -> Iterator[datetime]:
    """The writer's turn: queued fairly by a lock file, then one immediate transaction; yields the present.

    SQLite's own busy handler starves writers (it sleeps and retries); ``flock`` wakes them in turn.
    """
    with _turn(), transaction.atomic():
        yield now()
    for bell in _bells:
        bell.set()


@contextmanager
def _turn() -> Iterator[None]:
    if getattr(_mine, "held", False):
        raise RuntimeError("This thread has the writer's turn already; a second one would wait for itself for ever.")
    descriptor = os.open(f"{connection.settings_dict['NAME']}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _check_file()
        _join_queue(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    try:
        _mine.held = True
        yield
    finally:
        _mine.held = False
        os.close(descriptor)


def _join_queue(descriptor: int) -> None:
    """Waits for the turn, but not for ever: a process that was stopped in its turn must not stop all others with it."""
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    granted = threading.Event()
    threading.Thread(target=_wait, args=(os.dup(descriptor), granted), name="turn", daemon=True).start()
    if not granted.wait(TURN_SECONDS):
        raise OperationalError(f"another process has had the writer's turn for {TURN_SECONDS:.0f} s; is it stopped?")


def _wait(duplicate: int, granted: threading.Event) -> None:
    """The kernel's own wait keeps the place in the queue. A duplicate has the same lock, so closing it here is right in
    either case: whoever waits still has it by the other descriptor, or has given up and it goes back."""
    fcntl.flock(duplicate, fcntl.LOCK_EX)
    granted.set()
    os.close(duplicate)


@receiver(connection_created)
def _remember_file(connection: BaseDatabaseWrapper, **_: Any) -> None:
    connection.agentlink_file = _file(connection)  # type: ignore[attr-defined]


def _file(database: BaseDatabaseWrapper) -> tuple[int, int] | None:
    try:
        found = os.stat(database.settings_dict["NAME"])
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _check_file() -> None:
    """A file that was removed or replaced under an open connection takes writes that nobody will ever find again."""
    connection.ensure_connection()
    found = _file(connection)
    if found is None or found != getattr(connection, "agentlink_file", None):
        raise DatabaseError("the store's file was removed or replaced; stop AgentLink and put it back")


@dataclass(frozen=True, slots=True)
class Appended:
    """What the log made of one new event."""

    event_id: str
    event: Recorded


def append(stream: str, new: list[EventData], *, actor: str, origin: dict[str, Any], at: datetime) -> list[Appended]:
    """Adds events to one stream and writes their projections. Only inside :func:`writer`."""
    revision, previous = head(stream)
    position, origin_text = last_position(), canonical(origin)
    appended = []
    for data in new:
        revision, position = revision + 1, position + 1
        record = Recorded(stream, revision, position, at, actor, data)
        event_id = f"evt-{uuid.uuid4()}"
        previous = _insert(event_id, record, origin_text, previous)
        projections.apply(record)
        if isinstance(data, PayloadErased):
            _erase(stream, data)
        appended.append(Appended(event_id, record))
    return appended


def restore(
    stream: str,
    kind: str,
    data: dict[str, Any],
    *,
    event_id: str,
    version: int,
    actor: str,
    origin: dict[str, Any],
    at: datetime,
) -> None:
    """Adds an event that the board's folder kept, with its id, time and data; position and digest are this log's own.

    Only inside :func:`writer`. What a folder says must have been checked before.
    """
    revision, previous = head(stream)
    record = Recorded(stream, revision + 1, last_position() + 1, at, actor, EVENTS[kind].model_validate(data))
    _insert(event_id, record, canonical(origin), previous, kept=(canonical(data), version))
    projections.apply(record)


def _erase(stream: str, erasing: PayloadErased) -> None:
    """Takes the texts out of events that were just declared erased, and out of every row that was made of them."""
    for one in erasing.erased:
        row = Event.objects.get(event_id=one.event_id)
        Event.objects.filter(pk=row.pk).update(data=canonical(remainder(json.loads(row.data))))
    rebuild(stream)


def scrub() -> None:
    """After an erasure: no free page and no frame of the write-ahead log keeps the text either.

    Rewrites the whole file. When somebody holds it for too long, that is logged; the next erasure does it again.
    """
    try:
        with _turn(), connection.cursor() as cursor:
            cursor.execute("VACUUM")
            busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except DatabaseError as error:
        logger.error("scrub_failed", error=str(error))
        return
    if busy:
        logger.error("scrub_incomplete", reason="a reader held the write-ahead log")


def _insert(event_id: str, record: Recorded, origin: str, previous: str, kept: tuple[str, int] | None = None) -> str:
    data, version = kept or (canonical(record.data.body()), record.data.version)
    columns = {
        "position": record.position,
        "event_id": event_id,
        "stream": record.board_id,
        "revision": record.revision,
        "type": record.data.type,
        "version": version,
        "at": iso(record.at),
        "actor": record.actor,
        "origin": origin,
        "data": data,
        "data_digest": sha256(data),
        "previous": previous,
    }
    digest = sha256(canonical(_digested(columns)))
    rows.insert(Event, **columns, digest=digest)
    return digest


def _digested(columns: dict[str, Any]) -> dict[str, Any]:
    """What the digest covers, in the names of the JSON form."""
    return {
        "eventId": columns["event_id"],
        "position": columns["position"],
        "boardId": columns["stream"] or None,
        "revision": columns["revision"],
        "type": columns["type"],
        "version": columns["version"],
        "at": columns["at"],
        "actor": columns["actor"],
        "origin": json.loads(columns["origin"]),
        "dataDigest": columns["data_digest"],
        "previous": columns["previous"],
    }


def head(stream: str) -> tuple[int, str]:
    """The stream's last revision and digest; ``(0, "")`` for an empty stream."""
    last = rows.last(Event, "revision", "digest", by="revision", stream=stream)
    return (last[0], last[1]) if last else (0, "")


def last_position() -> int:
    """The log's last position over all streams; 0 when it is empty."""
    last = rows.last(Event, "position", by="position")
    return last[0] if last else 0


def after(position: int, *, limit: int = 500) -> list[Event]:
    """Events of all streams after a position, oldest first, at most ``limit``."""
    return list(Event.objects.filter(position__gt=position).order_by("position")[:limit])


def body(row: Event) -> dict[str, Any]:
    """An event's JSON form, as in interfaces.md."""
    columns = {field.attname: getattr(row, field.attname) for field in Event._meta.concrete_fields}
    return {**_digested(columns), "data": json.loads(row.data), "digest": row.digest}


def recorded(row: Event) -> Recorded:
    """An event as projections see it; older versions parse as the newest class."""
    data = EVENTS[row.type].model_validate_json(row.data)
    return Recorded(row.stream, row.revision, row.position, parse(row.at), row.actor, data)


def streams() -> list[str]:
    """Every stream that has an event; the home stream first."""
    return sorted(set(Event.objects.values_list("stream", flat=True)))


def rebuild(stream: str) -> None:
    """Throws one stream's projections away and replays its events. Only inside a transaction."""
    for model in HOME_PROJECTIONS if stream == HOME_STREAM else BOARD_PROJECTIONS:
        _of(model, stream).delete()
    for row in Event.objects.filter(stream=stream).order_by("revision").iterator():
        projections.apply(recorded(row))


def _of(model: type[models.Model], stream: str) -> models.QuerySet[models.Model]:
    rows_of = model._default_manager.all()
    return rows_of if stream == HOME_STREAM else rows_of.filter(board_id=stream)


def state(stream: str) -> dict[str, list[dict[str, Any]]]:
    """Every projected row of one stream, in a form that can be compared."""
    kinds = HOME_PROJECTIONS if stream == HOME_STREAM else BOARD_PROJECTIONS
    return {model.__name__: list(_of(model, stream).order_by("pk").values()) for model in kinds}


def verify() -> list[str]:
    """Checks every chain and every payload; returns one sentence for each fault, none when all is well."""
    faults: list[str] = []
    last: dict[str, tuple[int, str]] = {}
    erased = _remainders()
    for row in Event.objects.order_by("position").iterator():
        faults.extend(_faults(row, *last.get(row.stream, (0, "")), erased))
        last[row.stream] = (row.revision, row.digest)
    return faults


def _remainders() -> dict[str, str]:
    """By event, the digest that its data must have since its payload was erased; what says so is digested too."""
    rows_of = Event.objects.filter(type=PayloadErased.type)
    events = [PayloadErased.model_validate_json(row.data) for row in rows_of]
    return {one.event_id: one.remainder_digest for event in events for one in event.erased}


def _faults(row: Event, revision: int, previous: str, erased: dict[str, str]) -> Iterator[str]:
    name = f"Event {row.event_id} (position {row.position}, {row.stream or 'home stream'})"
    columns = {field.attname: getattr(row, field.attname) for field in Event._meta.concrete_fields}
    if row.revision != revision + 1:
        yield f"{name} has revision {row.revision}; {revision + 1} was expected."
    if row.previous != previous:
        yield f"{name} does not follow the event before it: its previous digest differs."
    if row.digest != sha256(canonical(_digested(columns))):
        yield f"{name} was changed: its digest does not match."
    if erased.get(row.event_id, row.data_digest) != sha256(row.data):
        yield f"{name} has a changed payload: its data digest does not match."
