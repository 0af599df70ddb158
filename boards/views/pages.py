"""The pages: home, a new board, a board."""

from __future__ import annotations

import re
import uuid
from http import HTTPStatus
from typing import Any, Final

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from boards import log
from boards.commands import execute
from boards.edges import STATUS, actor_of
from boards.models import Board, Message, Node
from boards.queries import pages
from boards.queries.pages.board import PRIORITIES, ROLES, TYPES, VIEWS
from boards.queries.pages.home import found, reached
from boards.queries.reach import reach_of
from boards.schemas import Receipt
from boards.views import forms
from boards.views.access import board_or_404, panel
from boards.views.commands import key_of
from boards.views.forms import Unreadable
from boards.views.regions import Asked, Sight, region
from boards.words import REQUIRES_ACK
from peers import queries as peers

NAV: Final = ("boards", "collaborators", "count")
THEMES: Final = ("light", "dark")
MENTION: Final = re.compile(r"[A-Za-z0-9._:@-]{1,200}")


def show(request: HttpRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """A page inside the frame: header, boards and collaborators around it."""
    at = context.setdefault("at", pages.present())
    board: Board | None = context.get("board")
    current = board.board_id if board else ""
    sight = context.get("sight") or Sight()
    asked = [Asked(name, None, at, current if name == "boards" else "", sight=sight) for name in NAV]
    nav = {one.name: region(one).html for one in asked}
    theme = request.COOKIES.get("agentlink_theme", "")
    frame = {
        "nav": nav,
        "mode": settings.AGENTLINK.mode or "local",
        "theme": theme if theme in THEMES else "",
        "revision": board.head if board else log.last_position(),
    }
    return render(request, template, {**frame, **context}, status=status)


# --- home ------------------------------------------------------------------------------------------------------------


@panel
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The first visit, or the boards and what needs the person over all of them."""
    if not Board.objects.exists():
        return show(request, "boards/first.html", {**_choosing(QueryDict()), **_regions(("abroad",), None)})
    return show(request, "boards/home.html", _regions(("needs", "overview", "abroad"), None))


def _regions(names: tuple[str, ...], board: Board | None) -> dict[str, Any]:
    """The regions of a page, with the present and the sight that they share with its frame."""
    at, sight = pages.present(), Sight()
    regions = {name: region(Asked(name, board, at, sight=sight)).html for name in names}
    return {"at": at, "sight": sight, "board": board, "regions": regions}


@panel
@require_http_methods(["GET", "HEAD", "POST"])
def new_board(request: HttpRequest) -> HttpResponse:
    """Title, objective, and who should work together; POST makes the board and goes there."""
    if request.method != "POST":
        return show(request, "boards/new.html", _choosing(request.GET))
    try:
        receipt = execute(_board_command(request.POST), actor_of(request), key=key_of(request.POST))
    except Unreadable as wrong:
        receipt = Receipt("rejected", "create_board", "malformed", " ".join(wrong.sentences))
    if receipt.accepted:
        response = HttpResponseRedirect(f"/boards/{receipt.board_id}/")
        response.status_code = HTTPStatus.SEE_OTHER
        return response
    context = {**_choosing(request.POST), "receipt": receipt}
    return show(request, "boards/new.html", context, status=STATUS[receipt.outcome])


def _board_command(post: QueryDict) -> Any:
    chosen = _chosen(post)
    members = {session: post.get(f"role-{session}", "worker") for session in chosen}
    fields = {"title": _title(post, chosen), "objective": forms.whole(post, "objective"), "members": members}
    return forms.validated("create_board", fields)


def _chosen(post: QueryDict) -> list[str]:
    """Sessions that were ticked, and those that are not listed and were named."""
    return [*forms.many(post, "session"), *forms.names(post, "other")]


def _title(post: QueryDict, chosen: list[str]) -> str:
    """What was typed; the first visit may leave it out, and then the board is named after who is on it."""
    typed = forms.whole(post, "title")
    if typed or "unnamed" not in post:
        return typed
    titles = {row.session_id: row.title or row.session_id for row in pages.found_sessions().rows}
    return " + ".join(titles.get(session, session) for session in chosen)[:180] or "New board"


def _choosing(given: QueryDict) -> dict[str, Any]:
    """The sessions that can be chosen, and what was chosen and typed so far."""
    chosen, listed = given.getlist("session"), pages.found_sessions()
    sessions = [
        {"found": found(row), "chosen": row.session_id in chosen, "role": given.get(f"role-{row.session_id}", "worker")}
        for row in listed.rows
    ]
    # Others may have become active meanwhile: what was ticked and is not listed any more is named instead.
    unlisted = set(chosen) - {row.session_id for row in listed.rows}
    return {
        "peers": pages.collaborators(),
        "sessions": sessions,
        "more": listed.more,
        "other": ", ".join([*sorted(unlisted), *forms.names(given, "other")]),
        "roles": ROLES,
        "title": given.get("title", ""),
        "objective": given.get("objective", ""),
        "form_key": given.get("key", "") or f"panel-{uuid.uuid4()}",
    }


# --- a board ---------------------------------------------------------------------------------------------------------


@panel
@require_safe
def board(request: HttpRequest, board_id: str) -> HttpResponse:
    """One board: the view that is asked for in the middle, its messages beside it."""
    row, asked = board_or_404(board_id), request.GET.get("view")
    view = asked if asked in VIEWS else VIEWS[0]
    parts = _regions(("head", "needs", view, "messages", "choices", "owners"), row)
    context = {
        **parts,
        "view": view,
        "shown": parts["regions"][view],
        "types": TYPES,
        "acked": REQUIRES_ACK,
        "priorities": PRIORITIES,
        "reply": Message.objects.filter(board_id=board_id, message_id=request.GET.get("reply", "")).first(),
    }
    return show(request, "boards/board.html", context)


@panel
@require_safe
def reach(request: HttpRequest, board_id: str) -> HttpResponse:
    """How the chosen peer will be reached, said before anything is sent."""
    board_or_404(board_id)
    to = request.GET.get("to", "")
    if not MENTION.fullmatch(to) or to == "@board":
        return render(request, "boards/_reach.html", {"everybody": to == "@board"})
    node = Node.objects.filter(node_id=to).first()
    how, session = reach_of(node or to), peers.session(node.session_id if node else to)
    words, tone = reached(how, session.status if session else "")
    return render(request, "boards/_reach.html", {"reach": how, "words": words, "tone": tone})


@panel
@require_safe
def older(request: HttpRequest, board_id: str) -> HttpResponse:
    """Messages before one of them, a page at a time: ``?before=<message id>``."""
    row = board_or_404(board_id)
    first = Message.objects.filter(board_id=board_id, message_id=request.GET.get("before", "")).first()
    if first is None:
        raise Http404("This board has no such message; name one of its messages with 'before'.")
    at = pages.present()
    cards, more = pages.older_messages(pages.Snapshot(row, at), first.position)
    return show(request, "boards/older.html", {"at": at, "board": row, "cards": cards, "more": more})


@panel
@require_safe
def message_text(request: HttpRequest, board_id: str, message_id: str) -> HttpResponse:
    """The whole text of a long message."""
    row = Message.objects.filter(board_id=board_id, message_id=message_id).first()
    if row is None:
        raise Http404("This board has no such message.")
    return render(request, "boards/_message_text.html", {"text": row.content})
