"""Boards that other programs made in the folder: shown as data, with one action."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from boards import folder
from boards.edges import actor_of
from boards.queries.pages.actions import Action
from boards.views.access import panel
from boards.views.commands import key_of, receipt_response


@dataclass(frozen=True, slots=True)
class Line:
    """One foreign board and its action."""

    found: folder.ForeignBoard
    action: Action


def lines() -> list[Line]:
    """Every foreign board, by id."""
    return [Line(found, _adopting(found.board_id)) for found in folder.foreign_boards()]


def _adopting(board_id: str) -> Action:
    name, url = f"abroad-adopt-{board_id}", f"/abroad/{board_id}/adopt"
    return Action(name, url, "Adopt", (), "receipt-abroad", tone="primary")


def stamp() -> str:
    """Changes whenever the lines may."""
    return folder.foreign_stamp()


@panel
@require_POST
def adopt(request: HttpRequest, board_id: str) -> HttpResponse:
    """Takes a foreign board over, and shows what became of it."""
    return receipt_response(request, folder.adopt(actor_of(request), board_id, key=key_of(request.POST)))
