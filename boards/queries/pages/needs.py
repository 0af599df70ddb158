"""What needs the person, each line with the action that settles it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from boards.models import Blocker, Board, Contract, Message
from boards.queries.needs import Need, needs
from boards.queries.pages.actions import Action, Place, minutes
from boards.queries.pages.contracts import accepting
from boards.queries.pages.evidence import resolving
from boards.queries.pages.messages import answering
from boards.queries.pages.snapshot import Face, Snapshot

KINDS: Final[dict[str, tuple[str, str, str]]] = {
    "acceptance": ("Contract", "accent", "asks you to accept"),
    "answer": ("Message", "accent", "waits for your answer"),
    "no_answer": ("No answer", "warn", "has not acknowledged"),
    "undeliverable": ("Not delivered", "bad", "cannot be reached with"),
    "expired": ("Expired", "bad", "never received"),
    "lease": ("Lease", "warn", "holds a lease that ends soon on"),
    "blocker": ("Blocker", "bad", "is blocked:"),
}
"""Chip, its tone, and the words between the peer and the thing."""


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


def need_cards(at: datetime, board: Board | None = None) -> list[NeedCard]:
    """Every need of one board, or of all open ones, oldest first."""
    shots: dict[str, Snapshot] = {}
    cards = []
    for number, need in enumerate(needs(at, board.board_id if board else None)):
        if need.board_id not in shots:
            shots[need.board_id] = Snapshot(board or Board.objects.get(board_id=need.board_id), at)
        cards.append(_card(shots[need.board_id], need, number))
    return cards


def _card(shot: Snapshot, need: Need, number: int) -> NeedCard:
    about = need.message_id or need.blocker_id or need.task_id or need.contract_id or str(number)
    peer = shot.faces(need.node_id)
    if need.kind == "answer":
        peer = shot.faces(_sender(need))
    chip, tone, verb = KINDS[need.kind]
    entity = f"{need.kind}-{about}" + (f"-{need.node_id}" if need.message_id else "")
    place = Place(shot.board, "needs", entity, need.revision)
    actions = _actions(shot, need, place)
    return NeedCard(f"need-{entity}", need, chip, tone, verb, peer, shot.board, need.text, need.until, actions)


def _sender(need: Need) -> str:
    return Message.objects.values_list("sender", flat=True).get(message_id=need.message_id)


def _actions(shot: Snapshot, need: Need, place: Place) -> list[Action]:
    if need.kind == "acceptance":
        return accepting(shot, Contract.objects.get(contract_id=need.contract_id), place)
    if need.kind == "answer":
        return [answering(place, str(need.message_id))]
    if need.kind in ("no_answer", "undeliverable", "expired"):
        return [place.action("resend", "Send again", {"messageId": need.message_id, "node": need.node_id})]
    if need.kind == "lease":
        hidden: dict[str, object] = {"taskId": need.task_id, "node": need.node_id, "fencing": need.fencing}
        return [place.action("renew_task", "Renew", hidden, minutes(), tone="primary")]
    return [resolving(place, Blocker.objects.get(blocker_id=need.blocker_id))]
