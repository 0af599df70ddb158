"""What needs a person: oldest first, each with what settles it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    copies = _Copies(ids)
    sources = (_acceptances(ids), _unanswered(copies, at), _failed(copies), _leases(ids, at), _blockers(ids))
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
        elif row.trust and not row.owners:
            yield _need("foreign_claim", row, row.created_at, row.proposed_by, row.objective)


class _Copies:
    """Copies of messages that ask for an acknowledgement, with their messages and contracts; each table read once.

    Of all other copies, which are most of them, nothing is looked at.
    """

    def __init__(self, ids: list[str]) -> None:
        self._ids = ids
        self._contracts: dict[str, Contract | None] = {}

    def found(self, **filters: Any) -> list[tuple[Delivery, Message]]:
        """The copies that fit and still ask for something."""
        asking = Message.objects.filter(board_id__in=self._ids, requires_ack=True).values("message_id")
        copies = list(Delivery.objects.filter(message_id__in=asking, **filters))
        messages = Message.objects.in_bulk({copy.message_id for copy in copies})
        pairs = [(copy, messages[copy.message_id]) for copy in copies]
        self._read_contracts(row for _, row in pairs)
        return [(copy, row) for copy, row in pairs if not self._settled(copy, row)]

    def _read_contracts(self, messages: Iterable[Message]) -> None:
        wanted = {row.contract_id for row in messages if row.message_type == "contract_proposed" and row.contract_id}
        self._contracts |= Contract.objects.in_bulk(wanted - set(self._contracts))

    def _settled(self, copy: Delivery, row: Message) -> bool:
        """A proposal asks nothing more of an owner once the contract has that owner's answer, whoever entered it."""
        if row.message_type != "contract_proposed":
            return False
        contract = self._contracts.get(row.contract_id or "")
        return contract is None or contract.status != "proposed" or copy.node_id in contract.accepted_by


def _unanswered(copies: _Copies, at: datetime) -> Iterator[Need]:
    """Handed copies whose acknowledgement is overdue, and those to the person."""
    late = at - words.ACK_OVERDUE
    for copy, row in copies.found(step__in=["handed", "applied"], handed_at__lt=late):
        if not row.trust and not copy.unverified_answer:  # an answer that nobody verified is told by its own line
            yield _about(copy, row, "no_answer", copy.handed_at or copy.queued_at)
    for copy, row in copies.found(node_id=human_node_id(), step__in=["queued", "handed"]):
        if copy.handed_at is None or copy.handed_at >= late or row.trust:
            yield _about(copy, row, _asking(row), copy.queued_at)


def _asking(row: Message) -> str:
    """What a message to the person is: what came through the folder is said by somebody, no more."""
    if not row.trust:
        return "answer"
    return "foreign_claim" if row.message_type == "task_claim" else "unverified_answer"


def _failed(copies: _Copies) -> Iterator[Need]:
    """Copies that reach nobody any more."""
    for copy, row in copies.found(step__in=["undeliverable", "expired"]):
        yield _about(copy, row, copy.step, copy.ended_at or copy.queued_at)


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
