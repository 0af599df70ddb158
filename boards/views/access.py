"""Who may see the panel: the person, with the panel's own cookie. Programs have the API."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse

from boards.models import Board

View = Callable[..., HttpResponse]


def panel(view: View) -> View:
    """Only the person may: agents read boards that they are members of, through the API."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        known: dict[str, Any] | None = getattr(request, "actor", None)
        if known is None or not known.get("human"):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded


def board_or_404(board_id: str) -> Board:
    """The board that an address names."""
    board = Board.objects.filter(board_id=board_id).first()
    if board is None:
        raise Http404(f"There is no board {board_id[:80]!r}.")
    return board
