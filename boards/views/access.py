"""Who may see the panel: the person, with the panel's own cookie. Programs have the API."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import structlog
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse

from boards.models import Board

View = Callable[..., HttpResponse]
logger = structlog.get_logger(__name__)
NO_STORE: Final = "The store cannot be reached; nothing was changed, and what you typed is still in its form."


def panel(view: View) -> View:
    """Only the person may: agents read boards that they are members of, through the API.

    A store that cannot be read is 503, so that the page says so and keeps what it shows.
    """

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        known: dict[str, Any] | None = getattr(request, "actor", None)
        if known is None or not known.get("human"):
            raise PermissionDenied
        try:
            return view(request, *args, **kwargs)
        except DatabaseError:
            logger.exception("store_failed", path=request.path)
            return HttpResponse(NO_STORE, status=503, content_type="text/plain; charset=utf-8")

    return guarded


def board_or_404(board_id: str) -> Board:
    """The board that an address names."""
    board = Board.objects.filter(board_id=board_id).first()
    if board is None:
        raise Http404(f"There is no board {board_id[:80]!r}.")
    return board
