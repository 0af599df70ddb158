"""What needs the person, each line with the action that settles it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from boards import rows
from boards.models import Blocker, Board, Contract, Event, Message
from boards.queries.needs import Need, needs
from boards.queries.pages.actions import Action, Place, minutes
from boards.queries.pages.contracts import accepting
from boards.queries.pages.evidence import resolving
from boards.queries.pages.messages import answering
from boards.queries.pages.paging import Shown, shown
from boards.queries.pages.snapshot import Face, Snapshot

KINDS: Final[dict[str, tuple[str, str, str]]] = {
    "acceptance": ("Contract", "accent", "asks you to accept"),
    "answer": ("Message", "accent", "waits for your answer"),
    "no_answer": ("No answer", "warn", "has not acknowledged"),
    "undeliverable": ("Not delivered", "bad", "cannot be reached with"),
    "expired": ("Expired", "bad", "never received"),
    "foreign_claim": ("Unverified claim", "warn", "is said to have"),
    "unverified_answer": ("Unverified answer", "warn", "is said to answer"),
    "lease": ("Lease", "warn", "holds a lease that ends soon on"),
    "blocker": ("Blocker", "bad", "is blocked:"),
}
"""Chip, its tone, and the words between the peer and the thing."""
TO_THE_PERSON: Final = frozenset({"answer", "foreign_claim", "unverified_answer"})
"""Messages that wait for the person's own answer: their peer is who sent them."""
PROPOSED: Final = frozenset({"acceptance", "foreign_claim"})
"""Contracts that wait for the person; a claim about a known one is a message."""
PER_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class NeedCard:
    """One line of "Needs you"."""

    id: str
    need: Need
    chip: str
    tone: str
    verb: str
    peer: Face
    board: Board
    lead: str
    until: datetime | None
    actions: list[Action]


def home_needs(at: datetime) -> list[Need]:
    """The needs of all open boards; read once for everything that shows or counts them."""
    last = rows.last(Event, "digest", by="position")
    return _needs_after(at, last[0] if last else "")


@lru_cache(maxsize=2)
def _needs_after(at: datetime, digest: str) -> list[Need]:
    """As the log stands after this event; ``digest`` is what tells one history from another."""
    return needs(at)


def need_cards(at: datetime, board: Board | None = None, page: int = 1) -> Shown[NeedCard]:
    """The needs of one board, or of all open ones, oldest first."""
    every = needs(at, board.board_id) if board else home_needs(at)
    part = shown(every, len(every), page, PER_PAGE)
    reading = _Reading(at, board, part.rows)
    cards = [reading.card(need, part.before + number) for number, need in enumerate(part.rows)]
    return Shown(cards, part.total, part.page, part.size)


class _Reading:
    """What a page of needs speaks of; each table is read once."""

    def __init__(self, at: datetime, board: Board | None, found: list[Need]) -> None:
        boards = {board.board_id: board} if board else Board.objects.in_bulk({need.board_id for need in found})
        self._shots: dict[str, Snapshot] = {}
        for board_id, row in boards.items():
            self._shots[board_id] = Snapshot(row, at)
        for shot in self._shots.values():
            shot.faces = next(iter(self._shots.values())).faces
        asked = {need.message_id for need in found if need.kind in TO_THE_PERSON and need.message_id}
        self._senders = dict(Message.objects.filter(message_id__in=asked).values_list("message_id", "sender"))
        self._contracts = Contract.objects.in_bulk(
            {need.contract_id for need in found if not need.message_id and need.kind in PROPOSED and need.contract_id}
        )
        self._blockers = Blocker.objects.in_bulk({need.blocker_id for need in found if need.blocker_id})

    def card(self, need: Need, number: int) -> NeedCard:
        shot = self._shots[need.board_id]
        about = need.message_id or need.blocker_id or need.task_id or need.contract_id or str(number)
        peer = shot.faces(self._senders.get(str(need.message_id), need.node_id))
        chip, tone, verb = KINDS[need.kind]
        entity = f"{need.kind}-{about}" + (f"-{need.node_id}" if need.message_id else "")
        place = Place(shot.board, "needs", entity, need.revision)
        actions = self._actions(shot, need, place)
        return NeedCard(f"need-{entity}", need, chip, tone, verb, peer, shot.board, need.text, need.until, actions)

    def _actions(self, shot: Snapshot, need: Need, place: Place) -> list[Action]:
        if need.kind in PROPOSED and not need.message_id:
            return accepting(shot, self._contracts[str(need.contract_id)], place)
        if need.kind in TO_THE_PERSON:
            return [answering(place, str(need.message_id))]
        if need.kind in ("no_answer", "undeliverable", "expired"):
            return [place.action("resend", "Send again", {"messageId": need.message_id, "node": need.node_id})]
        if need.kind == "lease":
            hidden: dict[str, object] = {"taskId": need.task_id, "node": need.node_id, "fencing": need.fencing}
            return [place.action("renew_task", "Renew", hidden, minutes(), tone="primary")]
        return [resolving(place, self._blockers[str(need.blocker_id)])]
