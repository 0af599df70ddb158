"""Copies addressed to whoever asks: urgent first, then newest first. Looking changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Final, Literal

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast, Length, Substr

from boards import shapes
from boards.models import Board, Contract, Delivery, Message
from boards.people import memberships
from boards.queries.answers.access import Json, Page, is_human, readable_board
from boards.queries.answers.lists import PREVIEW, Listing, dated, ranks
from boards.schemas import Actor

State = Literal["open", "all"]

WAITING: Final = ("queued", "held")
"""Steps of copies that did not arrive yet."""
ARRIVED: Final = ("handed", "applied")
"""Steps that settle a copy unless it asks for an answer."""
URGENT: Final = ranks(Q(priority="asap"), Q(priority="high"))


def inbox(actor: Actor, page: Page, *, board_id: str = "", state: State = "open") -> Json:
    """Copies addressed to the actor on boards that it may read; ``open``: those that are not settled yet."""
    if board_id:
        readable_board(board_id, actor)
    rows = addressed(actor, board_id) if state == "all" else unsettled(actor, board_id)
    listing = Listing("inbox", Message, "position", partial(_shown, actor.node_id), rank=URGENT, load=_previews)
    return dated({**listing.page(rows, page), "total": rows.count()})


def _copies(actor: Actor, board_id: str) -> QuerySet[Delivery]:
    copies = Delivery.objects.filter(node_id=actor.node_id)
    if board_id:
        return copies.filter(board_id=board_id)
    if is_human(actor):
        return copies
    return copies.filter(board_id__in=memberships().filter(node_id=actor.node_id).values("board_id"))


def addressed(actor: Actor, board_id: str = "") -> QuerySet[Message]:
    """Every message of which the actor has a copy."""
    return Message.objects.filter(pk__in=_copies(actor, board_id).values("message_id"))


def unsettled(actor: Actor, board_id: str = "") -> QuerySet[Message]:
    """Messages whose copy waits for the actor: not arrived yet, or not answered where an answer is asked for.

    A proposal is settled by the contract's own answer; on a closed board nothing waits.
    """
    copies = _copies(actor, board_id).filter(board_id__in=Board.objects.filter(status="active").values("board_id"))
    waiting = Q(pk__in=copies.filter(step__in=WAITING).values("message_id"))
    arrived = Q(pk__in=copies.filter(step__in=ARRIVED).values("message_id"), requires_ack=True)
    answered = Q(message_type="contract_proposed", contract_id__in=_answered(actor.node_id))
    return Message.objects.filter(waiting | arrived).exclude(answered)


def _answered(node_id: str) -> QuerySet[Any]:
    """Contracts that ask nothing more of this node. Ids hold no quotes, so the list's text can be searched."""
    accepted = Contract.objects.annotate(accepted_text=Cast("accepted_by", TextField()))
    return accepted.filter(~Q(status="proposed") | Q(accepted_text__contains=f'"{node_id}"')).values("contract_id")


def _previews(keys: list[str]) -> Iterable[Message]:
    """Messages with the beginning of their text and its length, because a text may have 200,000 bytes."""
    sized = {"preview": Substr("content", 1, PREVIEW), "size": Length("content")}
    return Message.objects.filter(pk__in=keys).defer("content").annotate(**sized)


def _shown(node_id: str, rows: list[Any]) -> list[Json]:
    keys = [row.message_id for row in rows]
    copies = {copy.message_id: copy for copy in Delivery.objects.filter(node_id=node_id, message_id__in=keys)}
    return [_item(row, copies[row.message_id]) for row in rows]


def _item(row: Any, copy: Delivery) -> Json:
    row.content = ""  # not read: the preview stands for it
    shape = shapes.message(row, [])
    del shape["deliveries"], shape["content"]
    return {**shape, "preview": row.preview, "contentLength": row.size, "copy": shapes.delivery(copy)}
