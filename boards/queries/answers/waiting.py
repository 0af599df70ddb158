"""What waits for whoever asks: the human's "Needs you", or what an agent itself must answer, renew or take.

What needs the person on any board is the person's business; an agent sees what waits for it alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Substr

from boards import words
from boards.models import Board, Contract, Message, Task
from boards.people import memberships
from boards.queries.answers.access import Json, Page, is_human, readable_board
from boards.queries.answers.inbox import unsettled
from boards.queries.answers.lists import PREVIEW, dated, listed
from boards.queries.needs import Need
from boards.queries.needs import needs as needs_of_human
from boards.schemas import Actor
from boards.shapes import camel
from boards.times import iso, now


def needs(actor: Actor, page: Page, board_id: str = "") -> Json:
    """What waits for the actor, oldest first: of one board, or of all open ones."""
    head = {"boardId": board_id, "sourceRevision": readable_board(board_id, actor).head} if board_id else {}
    return dated({**head, **listed("needs", waiting(actor, now(), board_id), page, _shown)})


def count(actor: Actor, at: datetime) -> int:
    """How many things wait for the actor."""
    if is_human(actor):
        return len(needs_of_human(at))
    work = _work(actor, at)
    return _asked(actor, work).count() + len(work)


def waiting(actor: Actor, at: datetime, board_id: str = "") -> list[Need]:
    """Every need of the actor, oldest first."""
    if is_human(actor):
        return needs_of_human(at, board_id or None)
    work = _work(actor, at, board_id)
    return sorted([*_answers(actor, work, board_id), *work], key=lambda need: need.since)


def _work(actor: Actor, at: datetime, board_id: str = "") -> list[Need]:
    """What an agent must agree to, renew or take."""
    boards = _open_boards(actor, board_id)
    return [*_acceptances(actor, boards), *_leases(actor, boards, at), *_offers(actor, boards)]


def _open_boards(actor: Actor, board_id: str) -> QuerySet[Any]:
    mine = memberships().filter(node_id=actor.node_id).values("board_id")
    found = Board.objects.filter(status="active", board_id__in=mine)
    return (found.filter(board_id=board_id) if board_id else found).values("board_id")


def _asked(actor: Actor, work: list[Need], board_id: str = "") -> QuerySet[Message]:
    """Messages that ask for an answer; a proposal that waits for agreement is not counted twice."""
    proposals = [need.contract_id for need in work if need.kind == "acceptance"]
    asked = unsettled(actor, board_id).filter(requires_ack=True)
    return asked.exclude(message_type="contract_proposed", contract_id__in=proposals)


def _answers(actor: Actor, work: list[Need], board_id: str) -> Iterator[Need]:
    """Messages that ask this node for an answer; of their texts only the beginning is read."""
    columns = ("board_id", "created_at", "sender", Substr("content", 1, PREVIEW + 1), "revision")
    more = ("contract_id", "task_id", "message_id", "expires_at")
    for row in _asked(actor, work, board_id).values_list(*columns, *more):
        contract_id, task_id, message_id, until = row[len(columns) :]
        named = {"contract_id": contract_id, "task_id": task_id, "message_id": message_id, "until": until}
        yield Need("answer", *row[: len(columns)], **named)


def _acceptances(actor: Actor, boards: QuerySet[Any]) -> Iterator[Need]:
    """Proposals in which this node owns something and has not agreed."""
    for row in Contract.objects.filter(board_id__in=boards, status="proposed"):
        if actor.node_id in row.owners and actor.node_id not in row.accepted_by:
            yield _of_work("acceptance", row, row.created_at, row.proposed_by, row.objective)


def _leases(actor: Actor, boards: QuerySet[Any], at: datetime) -> Iterator[Need]:
    """This node's leases that end soon."""
    mine = Task.objects.filter(board_id__in=boards, status="claimed", holder=actor.node_id)
    for row in mine.filter(lease_until__lt=at + words.LEASE_WARNING):
        more = {"task_id": row.task_id, "until": row.lease_until, "fencing": row.fencing}
        yield _of_work("lease", row, row.claimed_at or at, row.holder, row.title, **more)


def _offers(actor: Actor, boards: QuerySet[Any]) -> Iterator[Need]:
    """Tasks that their holders offer to this node."""
    for row in Task.objects.filter(board_id__in=boards, status="claimed", offered_to=actor.node_id):
        more = {"task_id": row.task_id, "until": row.lease_until}
        yield _of_work("hand_over", row, row.claimed_at or row.lease_until, row.holder, row.title, **more)


def _of_work(kind: str, row: Contract | Task, since: datetime | None, node_id: str, text: str, **more: Any) -> Need:
    assert since is not None
    return Need(kind, row.board_id, since, node_id, text, row.revision, contract_id=row.contract_id, **more)


def _shown(need: Need) -> Json:
    """A need in JSON; its text is the beginning of what it speaks of, ``cut`` says whether there is more."""
    shape = {camel(name): iso(value) if isinstance(value, datetime) else value for name, value in asdict(need).items()}
    return {**shape, "text": need.text[:PREVIEW], "cut": len(need.text) > PREVIEW}
