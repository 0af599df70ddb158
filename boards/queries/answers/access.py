"""Who may read what, and which part of a list is asked for."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from django.db.models import QuerySet

from boards.models import Board, Node
from boards.people import is_member, memberships
from boards.rules.world import Refused, unknown
from boards.schemas import Actor

Json = dict[str, Any]
PAGE: Final = 100


class BadCursor(ValueError):
    """A cursor that no page of this list gave."""


class Page(NamedTuple):
    """Which part of a list: at most ``limit`` items, after the page that gave ``cursor`` (empty: the first)."""

    limit: int = PAGE
    cursor: str = ""


def is_human(actor: Actor) -> bool:
    """Whether a person asks, who may read everything here."""
    return Node.objects.filter(node_id=actor.node_id, kind="human").exists()


def readable(actor: Actor) -> QuerySet[Board]:
    """The boards that this actor may read, latest change first."""
    rows = Board.objects.order_by("-updated_at", "board_id")
    if is_human(actor):
        return rows
    mine = memberships().filter(node_id=actor.node_id).values("board_id")
    return rows.filter(board_id__in=mine)


def readable_board(board_id: str, actor: Actor) -> Board:
    """One board. Raises ``Refused``: ``unknown_board`` with the nearest names, or ``not_a_member``."""
    row = Board.objects.filter(board_id=board_id).defer("report").first()
    if row is None:
        raise unknown("board", board_id, readable(actor).values_list("board_id", flat=True))
    if not is_human(actor) and not is_member(board_id, actor.node_id):
        sentence = f"{actor.node_id} is no member of the board {board_id!r}; its human or a supervisor can invite it."
        raise Refused("not_a_member", sentence)
    return row
