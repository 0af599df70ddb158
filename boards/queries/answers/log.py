"""The log as events: one board's by revision, or all that somebody may read by their place in the whole log."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from boards import log
from boards.models import Event
from boards.queries.answers.access import Json, is_human, readable, readable_board
from boards.queries.answers.lists import dated, fitting
from boards.schemas import Actor


def events(board_id: str, actor: Actor, *, after: int, limit: int) -> Json:
    """The board's events after a revision, oldest first; ``nextAfter`` is null when these are all."""
    head = readable_board(board_id, actor)
    found = Event.objects.filter(stream=board_id, revision__gt=after).order_by("revision")
    items, more = _page(found, limit)
    shown = {"boardId": board_id, "sourceRevision": head.head, "events": items}
    return dated({**shown, "nextAfter": items[-1]["revision"] if more else None})


def events_everywhere(actor: Actor, *, after: int, limit: int) -> Json:
    """The events of every stream that the actor may read, after a position; the home stream is the human's alone.

    ``nextAfter`` goes on; when it is null these are all up to ``position``, and the next question asks after that.
    """
    position = log.last_position()
    which = Q() if is_human(actor) else Q(stream__in=readable(actor).order_by().values("board_id"))
    found = Event.objects.filter(which, position__gt=after, position__lte=position).order_by("position")
    items, more = _page(found, limit)
    return dated({"events": items, "nextAfter": items[-1]["position"] if more else None, "position": position})


def _page(found: QuerySet[Event], limit: int) -> tuple[list[Json], bool]:
    rows = list(found[: limit + 1])
    items = fitting(log.body(row) for row in rows[:limit])
    return items, len(rows) > len(items)
