"""A board's messages, newest page first, oldest first inside it, each with its recipients' steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from boards import shapes
from boards.models import Delivery, Message
from boards.queries.answers.access import Json, readable_board
from boards.queries.answers.lists import dated, fitting
from boards.rules.world import Refused
from boards.schemas import Actor


def with_deliveries(rows: Iterable[Message]) -> list[Json]:
    """Messages with each recipient's steps."""
    rows = list(rows)
    copies: dict[str, list[Delivery]] = {row.message_id: [] for row in rows}
    for copy in Delivery.objects.filter(message_id__in=list(copies)).order_by("key"):
        copies[copy.message_id].append(copy)
    return [shapes.message(row, copies[row.message_id]) for row in rows]


def newest(board_id: str, limit: int, before: int | None = None) -> tuple[list[Json], str | None]:
    """The last messages (before a position), oldest first; and the id that asks for those before them."""
    found = Message.objects.filter(board_id=board_id).order_by("-position")
    if before is not None:
        found = found.filter(position__lt=before)
    rows = list(found[: limit + 1])
    items = fitting(with_deliveries(rows[:limit]))
    more = len(rows) > len(items)
    return items[::-1], items[-1]["messageId"] if more else None


def messages(board_id: str, actor: Actor, *, before: str = "", limit: int) -> Json:
    """The newest messages (``before`` a message of this board); ``nextBefore`` goes on, null: these are the first."""
    head = readable_board(board_id, actor)
    items, next_before = newest(board_id, limit, _position(board_id, before) if before else None)
    shown: dict[str, Any] = {"boardId": board_id, "sourceRevision": head.head}
    return dated({**shown, "messages": items, "nextBefore": next_before})


def _position(board_id: str, message_id: str) -> int:
    found = Message.objects.filter(board_id=board_id, message_id=message_id)
    position = found.values_list("position", flat=True).first()
    if position is None:
        sentence = f"The board {board_id!r} has no message {message_id[:80]!r}; send the nextBefore of a page."
        raise Refused("unknown_message", sentence)
    return position
