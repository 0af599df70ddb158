"""Erasing a leaked text: the person chooses events of the log, and their texts go. What they did stays."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from boards.commands import execute
from boards.digests import ERASED, canonical, remainder
from boards.edges import STATUS, actor_of
from boards.events import PayloadErased
from boards.models import Board, Event
from boards.schemas import Receipt
from boards.times import parse
from boards.views import forms
from boards.views.access import board_or_404, panel
from boards.views.commands import key_of
from boards.views.forms import Unreadable
from boards.views.pages import show

PAGE: Final = 50
SHOWN: Final = 300
"""Characters of an event's texts on the page; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Line:
    """An event that has texts, and whether it was chosen."""

    row: Event
    at: Any
    text: str
    hidden: int
    chosen: bool


@panel
@require_http_methods(["GET", "HEAD", "POST"])
def erase(request: HttpRequest, board_id: str = "") -> HttpResponse:
    """The newest events with texts, older ones on demand; POST erases the chosen ones."""
    board = board_or_404(board_id) if board_id else None
    receipt = _erased(request, board_id) if request.method == "POST" else None
    status = STATUS[receipt.outcome] if receipt else 200
    return show(request, "boards/erase.html", {"receipt": receipt, **_context(request, board, receipt)}, status)


def _erased(request: HttpRequest, board_id: str) -> Receipt:
    fields = {
        "boardId": board_id or None,
        "eventIds": forms.many(request.POST, "event"),
        "reason": forms.whole(request.POST, "reason"),
    }
    try:
        return execute(forms.validated("erase_payload", fields), actor_of(request), key=key_of(request.POST))
    except Unreadable as wrong:
        return Receipt("rejected", "erase_payload", "malformed", " ".join(wrong.sentences), board_id=board_id or None)


def _context(request: HttpRequest, board: Board | None, receipt: Receipt | None) -> dict[str, Any]:
    given = request.POST if receipt is not None and not receipt.accepted else request.GET
    chosen = set(given.getlist("event"))
    before = forms.number(request.GET, "before") if request.GET.get("before", "").isdecimal() else None
    rows = _rows(board.board_id if board else "", before)
    return {
        "board": board,
        "lines": [line for row in rows[:PAGE] if (line := _line(row, chosen)) is not None],
        "before": rows[PAGE - 1].revision if len(rows) > PAGE else None,
        "reason": given.get("reason", ""),
        "form_key": given.get("key", "") or f"panel-{uuid.uuid4()}",
    }


def _rows(stream: str, before: int | None) -> list[Event]:
    found = Event.objects.filter(stream=stream).exclude(type=PayloadErased.type).order_by("-revision")
    return list((found if before is None else found.filter(revision__lt=before))[: PAGE + 1])


def _line(row: Event, chosen: set[str]) -> Line | None:
    """None for an event that has no text (any more)."""
    data = json.loads(row.data)
    if canonical(remainder(data)) == row.data:
        return None
    text = " · ".join(_texts(data, remainder(data)))
    return Line(row, parse(row.at), text[:SHOWN], max(0, len(text) - SHOWN), row.event_id in chosen)


def _texts(whole: Any, rest: Any) -> list[str]:
    """The texts that an erasure would take."""
    if isinstance(whole, dict):
        return [text for name, value in whole.items() for text in _texts(value, rest[name])]
    if isinstance(whole, list):
        pairs = zip(whole, rest or [ERASED] * len(whole), strict=True)
        return [text for value, left in pairs for text in _texts(value, left if rest else _emptied(value))]
    return [whole] if isinstance(whole, str) and whole != rest else []


def _emptied(value: Any) -> Any:
    """What stands beside a list that an erasure empties: nothing of it stays."""
    if isinstance(value, dict):
        return dict.fromkeys(value, "")
    return ""
