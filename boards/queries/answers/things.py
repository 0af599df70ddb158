"""One thing by its id, and the shape that answers and success bodies give it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from boards import shapes
from boards.models import Contract, Message
from boards.queries.answers.access import Json, readable, readable_board
from boards.queries.answers.lists import dated
from boards.queries.answers.messages import with_deliveries
from boards.queries.answers.work import contracts
from boards.rules.world import unknown
from boards.schemas import Actor

NAMED: Final = frozenset({"contract", "task"})
"""Kinds whose ids people choose and mistype; the other ids are random, and nothing is near to them."""


def _shown_contract(row: Contract) -> Json:
    return contracts([row])[0]


def _shown_message(row: Message) -> Json:
    return with_deliveries([row])[0]


SHOWN: Final[dict[str, Callable[[Any], Json]]] = {
    "board": shapes.board,
    "task": shapes.task,
    "contract": _shown_contract,
    "message": _shown_message,
}
"""How one thing of a kind is shown, where its columns alone are not enough."""


def thing(kind: str, thing_id: str, actor: Actor) -> Json:
    """A contract, task, message, evidence bundle or blocker by its id; it says its board, which the actor must read."""
    row: Any = shapes.find(kind, thing_id)
    if row is None:
        raise unknown(kind, thing_id, _known(kind, actor))
    head = readable_board(row.board_id, actor)
    return dated({**shown(kind, row), "sourceRevision": head.head})


def _known(kind: str, actor: Actor) -> Iterable[str]:
    """The ids that may be suggested to the actor."""
    if kind not in NAMED:
        return ()
    model, column = shapes.ENTITIES[kind]
    there = model._default_manager.filter(board_id__in=readable(actor).order_by().values("board_id"))
    return there.values_list(column, flat=True)


def shown(kind: str, row: Any) -> Json:
    """One row in the form that answers and success bodies give it."""
    show: Callable[[Any], Json] = SHOWN.get(kind, shapes.body)
    return show(row)
