"""Messages with each recipient's steps: what was proved, when, and what to do where it failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Final

from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet

from boards import rows
from boards.digests import ERASED
from boards.models import Delivery, Message, Outbox
from boards.queries.pages.actions import ANSWERS, Action, Place, select, words
from boards.queries.pages.snapshot import Face, Snapshot
from boards.words import FINAL_STEPS

WINDOW: Final = 100
"""Messages shown at first, and how many more each "Older messages" adds."""
WINDOW_LIMIT: Final = 1000
SHOWN_CHARACTERS: Final = 4000
"""Of a longer message the card shows this much, and a button that fetches all of it."""
TONES: Final[dict[str, str]] = {
    "task_request": "accent",
    "task_blocked": "bad",
    "permission_denied": "bad",
    "contract_rejected": "bad",
    "stop_request": "bad",
    "permission_request": "warn",
    "evidence_attached": "ok",
    "task_done": "ok",
    "contract_accepted": "ok",
    "permission_granted": "ok",
}
FAILURES: Final[dict[str, str]] = {
    "expired": "expired before it was handed over",
    "undeliverable": "cannot be delivered",
    "withdrawn": "withdrawn",
    "refused": "refused",
    "held": "held for the person",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One proven step of one copy; ``at`` is none for what is still awaited."""

    label: str
    tone: str
    at: datetime | None = None
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """One recipient's copy."""

    face: Face
    steps: list[Step]
    reason: str
    note: str


@dataclass(frozen=True, slots=True)
class MessageCard:
    """One message as its card shows it."""

    row: Message
    sender: Face
    recipients: list[Face]
    tone: str
    text: str
    hidden: int
    copies: list[Copy]
    actions: list[Action]
    can_reply: bool
    receipt: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A message in the list. ``shows`` is all that its card depends on: equal values, equal cards."""

    message_id: str
    shows: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class MessageList:
    """The newest messages, oldest of them first."""

    entries: list[Entry]
    waiting: dict[str, str]
    awaiting: int
    older: int
    next_window: int
    oldest: str
    """Where the page of older ones begins: before this message."""


_state: Final = attrgetter(*(field.attname for field in Delivery._meta.concrete_fields))


def message_list(shot: Snapshot, window: int = WINDOW) -> MessageList:
    """The last ``window`` messages (at most :data:`WINDOW_LIMIT`), and how many there are before them."""
    window = max(WINDOW, min(window, WINDOW_LIMIT))
    found = Message.objects.filter(board_id=shot.board.board_id).order_by("-position")
    entries, waiting = _entries(shot, found[:window])
    older = max(0, found.count() - len(entries)) if len(entries) == window else 0
    wider = min(window + WINDOW, WINDOW_LIMIT) if window < WINDOW_LIMIT else 0
    return MessageList(entries, waiting, _awaiting(shot), older, wider, entries[0].message_id if entries else "")


def older_messages(shot: Snapshot, before: int) -> tuple[list[MessageCard], int]:
    """The cards of the last :data:`WINDOW` messages before a position, oldest first, and how many stand before them."""
    found = Message.objects.filter(board_id=shot.board.board_id, position__lt=before).order_by("-position")
    entries, waiting = _entries(shot, found[:WINDOW])
    ids = [entry.message_id for entry in entries]
    cards = message_cards(shot, ids, waiting)
    return [cards[message_id] for message_id in ids], found.count() - len(ids)


def _entries(shot: Snapshot, found: QuerySet[Message]) -> tuple[list[Entry], dict[str, str]]:
    """Each message with what its card depends on; its own fields stay as they are within its revision, until erased."""
    erased = ExpressionWrapper(Q(content=ERASED), BooleanField())
    wanted = ("message_id", "revision", "sender", "recipients", "erased")
    newest = list(found.annotate(erased=erased).values_list(*wanted))[::-1]
    copies = _copies([message_id for message_id, *_ in newest])
    waiting = waiting_reasons([copy.key for some in copies.values() for copy in some if copy.step == "queued"])
    entries = []
    for message_id, revision, sender, recipients, gone in newest:
        faces = tuple(shot.faces(node) for node in (sender, *recipients))
        states = tuple((*_state(copy), waiting.get(copy.key)) for copy in copies[message_id])
        entries.append(Entry(message_id, (message_id, revision, gone, shot.open, shot.me, faces, states)))
    return entries, waiting


def message_cards(shot: Snapshot, message_ids: list[str], waiting: dict[str, str]) -> dict[str, MessageCard]:
    """The cards of some of the messages, by id."""
    copies, found = _copies(message_ids), rows.fetch(Message, message_id__in=message_ids)
    return {row.message_id: message_card(shot, row, copies[row.message_id], waiting) for row in found}


def _copies(message_ids: list[str]) -> dict[str, list[Delivery]]:
    found: dict[str, list[Delivery]] = defaultdict(list)
    for row in rows.fetch(Delivery, message_id__in=message_ids):
        found[row.message_id].append(row)
    return found


def waiting_reasons(keys: list[str]) -> dict[str, str]:
    """Why some of these queued copies are still queued, as the delivery worker found it, by the copy's key."""
    noted = Outbox.objects.filter(key__in=keys).exclude(last_reason="")
    return dict(noted.values_list("key", "last_reason")) if keys else {}


def _awaiting(shot: Snapshot) -> int:
    """Copies that still owe an acknowledgement."""
    asked = Message.objects.filter(board_id=shot.board.board_id, requires_ack=True).values("message_id")
    return Delivery.objects.filter(message_id__in=asked, step__in=["queued", "handed", "applied"]).count()


def message_card(shot: Snapshot, row: Message, copies: list[Delivery], waiting: dict[str, str]) -> MessageCard:
    """One message with its copies and what can be done about it."""
    place = Place(shot.board, "messages", row.message_id, row.revision)
    return MessageCard(
        row=row,
        sender=shot.faces(row.sender),
        recipients=[shot.faces(node) for node in row.recipients],
        tone=TONES.get(row.message_type, ""),
        text=row.content[:SHOWN_CHARACTERS],
        hidden=max(0, len(row.content) - SHOWN_CHARACTERS),
        copies=[_copy(shot, row, copy, waiting) for copy in copies],
        actions=message_actions(shot, row, copies, place) if shot.open else [],
        can_reply=shot.open and row.sender != shot.me,
        receipt=place.receipt,
    )


def _copy(shot: Snapshot, row: Message, copy: Delivery, waiting: dict[str, str]) -> Copy:
    reason = waiting.get(copy.key, "") if copy.step == "queued" else copy.reason
    return Copy(shot.faces(copy.node_id), _steps(row, copy), reason, copy.note)


def _steps(row: Message, copy: Delivery) -> list[Step]:
    done = [Step("queued", "on", copy.queued_at)]
    done += [Step("handed", "on", copy.handed_at)] if copy.handed_at else []
    done += [Step("applied", "on", copy.applied_at)] if copy.applied_at else []
    if copy.acknowledged_at:
        return [*done, Step(copy.answer.replace("_", " "), "on", copy.acknowledged_at, strong=True)]
    if copy.step in FAILURES:
        return [*done, Step(FAILURES[copy.step], "fail", copy.ended_at, strong=True)]
    if copy.unverified_answer:
        return [*done, Step("answered, unverified", "wait", None, strong=True)]
    if row.requires_ack:
        return [*done, Step("waiting", "wait", None, strong=True)]
    return done


def message_actions(shot: Snapshot, row: Message, copies: list[Delivery], place: Place) -> list[Action]:
    """Answer what was sent to the person, send again what failed, take back what was not handed yet."""
    actions: list[Action] = []
    mine = next((copy for copy in copies if copy.node_id == shot.me), None)
    if mine is not None and mine.step not in FINAL_STEPS:
        actions.append(answering(place, row.message_id))
    if any(copy.step in ("expired", "undeliverable") for copy in copies):
        actions.append(place.action("resend", "Send again", {"messageId": row.message_id}))
    if any(copy.step == "queued" for copy in copies):
        actions.append(place.action("withdraw_message", "Withdraw", {"messageId": row.message_id}, tone="quiet"))
    return actions


def answering(place: Place, message_id: str) -> Action:
    """The person's own answer."""
    answer = select("answer", "Answer", ANSWERS)
    note = words("note", "Note", required=False)
    return place.action("acknowledge_message", "Acknowledge", {"messageId": message_id}, answer, note, tone="primary")
