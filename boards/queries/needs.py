"""What needs a person: oldest first, each with what settles it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from boards import words
from boards.models import Blocker, Board, Contract, Delivery, Message, Task
from boards.people import human_node_id


@dataclass(frozen=True, slots=True)
class Need:
    """One line of "Needs you". ``kind`` chooses its card and its action; the ids say what it speaks of."""

    kind: str
    board_id: str
    since: datetime
    node_id: str
    text: str
    revision: int
    contract_id: str | None = None
    task_id: str | None = None
    message_id: str | None = None
    blocker_id: str | None = None
    until: datetime | None = None
    fencing: int | None = None


def needs(at: datetime, board_id: str | None = None) -> list[Need]:
    """Every need of one board, or of all open boards, oldest first."""
    boards = Board.objects.filter(status="active")
    if board_id is not None:
        boards = boards.filter(board_id=board_id)
    ids = list(boards.values_list("board_id", flat=True))
    sources = (_acceptances(ids), _unanswered(ids, at), _failed(ids), _leases(ids, at), _blockers(ids))
    return sorted((need for source in sources for need in source), key=lambda need: need.since)


def _need(
    kind: str, row: Blocker | Contract | Message | Task, since: datetime, node_id: str, text: str, **more: Any
) -> Need:
    """What is the same for every row that a need is about."""
    return Need(kind, row.board_id, since, node_id, text, row.revision, contract_id=row.contract_id, **more)


def _acceptances(ids: list[str]) -> Iterator[Need]:
    """Contracts that wait for the person's own answer."""
    human = human_node_id()
    for row in Contract.objects.filter(board_id__in=ids, status="proposed"):
        if human in row.owners and human not in row.accepted_by:
            yield _need("acceptance", row, row.created_at, row.proposed_by, row.objective)


def _unanswered(ids: list[str], at: datetime) -> Iterator[Need]:
    """Handed copies whose acknowledgement is overdue."""
    late = at - words.ACK_OVERDUE
    copies = Delivery.objects.filter(board_id__in=ids, step__in=["handed", "applied"], handed_at__lt=late)
    for copy, row in _with_message(list(copies)):
        if row.requires_ack and copy.handed_at and not _settled(copy, row):
            yield _about(copy, row, "no_answer", copy.handed_at)
    human = human_node_id()
    waiting = Delivery.objects.filter(board_id__in=ids, node_id=human, step__in=["queued", "handed"])
    for copy, row in _with_message(list(waiting)):
        late_already = copy.handed_at is not None and copy.handed_at < late
        if row.requires_ack and not late_already and not _settled(copy, row):
            yield _about(copy, row, "answer", copy.queued_at)


def _failed(ids: list[str]) -> Iterator[Need]:
    """Copies that reach nobody any more."""
    copies = Delivery.objects.filter(board_id__in=ids, step__in=["undeliverable", "expired"])
    for copy, row in _with_message(list(copies)):
        if row.requires_ack and not _settled(copy, row):
            yield _about(copy, row, copy.step, copy.ended_at or copy.queued_at)


def _settled(copy: Delivery, row: Message) -> bool:
    """A proposal asks nothing more of an owner once the contract has that owner's answer, whoever entered it."""
    if row.message_type != "contract_proposed":
        return False
    contract = Contract.objects.filter(contract_id=row.contract_id).first()
    return contract is None or contract.status != "proposed" or copy.node_id in contract.accepted_by


def _with_message(copies: list[Delivery]) -> Iterator[tuple[Delivery, Message]]:
    rows = Message.objects.in_bulk([copy.message_id for copy in copies])
    return ((copy, rows[copy.message_id]) for copy in copies)


def _about(copy: Delivery, row: Message, kind: str, since: datetime) -> Need:
    more = {"message_id": row.message_id, "until": row.expires_at}
    return _need(kind, row, since, copy.node_id, row.content, **more)


def _leases(ids: list[str], at: datetime) -> Iterator[Need]:
    """Leases that end soon."""
    soon = at + words.LEASE_WARNING
    for row in Task.objects.filter(board_id__in=ids, status="claimed", lease_until__lt=soon):
        if row.lease_until and row.claimed_at:
            more = {"task_id": row.task_id, "until": row.lease_until, "fencing": row.fencing}
            yield _need("lease", row, row.claimed_at, row.holder, row.title, **more)


def _blockers(ids: list[str]) -> Iterator[Need]:
    for row in Blocker.objects.filter(board_id__in=ids, status="open"):
        more = {"task_id": row.task_id, "blocker_id": row.blocker_id}
        yield _need("blocker", row, row.opened_at, row.opened_by, row.summary, **more)
