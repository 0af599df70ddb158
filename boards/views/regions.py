"""Live regions: each is one partial with one address. The first render and every update are the same text.

A region is rendered once however many people watch: the text is kept by (board, region, revision, step of 20 s), in
this process's memory, bounded. The same four make its ETag. A revision stands here as the digest of its event, which
no other history has.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from django.db.models import Count, Max
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from django.template.loader import render_to_string
from django.utils.http import parse_etags
from django.utils.safestring import SafeString

from boards import log
from boards.models import Board, Event
from boards.queries import pages
from boards.queries.pages.board import VIEWS, tabs
from boards.queries.pages.messages import WINDOW, WINDOW_LIMIT
from boards.views.access import board_or_404, panel
from boards.words import HOME_STREAM
from peers.models import Session

KEPT: Final = 512
"""Rendered regions in memory."""
START: Final = secrets.token_hex(4)
"""Part of every ETag: another start may be another version of the templates."""

Context = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which region, as its address says it: ``current``: the board that a list marks; ``window``: how many messages."""

    name: str
    board: Board | None
    at: datetime
    current: str = ""
    window: int = WINDOW


@dataclass(frozen=True, slots=True)
class Region:
    """A rendered region."""

    html: SafeString
    etag: str


def _of_board(asked: Asked) -> pages.Snapshot:
    assert asked.board is not None  # board regions are looked up with their board
    return pages.Snapshot(asked.board, asked.at)


def _view(name: str, part: Callable[[pages.Snapshot], Any]) -> Callable[[Asked], Context]:
    def context(asked: Asked) -> Context:
        shot = _of_board(asked)
        return {"shot": shot, "tabs": tabs(shot, name), name: part(shot)}

    return context


def _head(asked: Asked) -> Context:
    return {"head": pages.board_head(_of_board(asked))}


def _needs(asked: Asked) -> Context:
    return {"needs": pages.need_cards(asked.at, asked.board)}


def _messages(asked: Asked) -> Context:
    return {"messages": pages.message_list(_of_board(asked), asked.window), "window": asked.window}


def _choices(asked: Asked) -> Context:
    return {"composer": pages.composer(_of_board(asked))}


def _owners(asked: Asked) -> Context:
    shot = _of_board(asked)
    return {"faces": [shot.faces(row.node_id) for row in shot.members]}


BOARD_REGIONS: Final[dict[str, Callable[[Asked], Context]]] = {
    "head": _head,
    "needs": _needs,
    "contracts": _view("contracts", pages.contract_lanes),
    "evidence": _view("evidence", pages.evidence_cards),
    "blockers": _view("blockers", pages.blocker_cards),
    "ownership": _view("ownership", pages.ownership),
    "messages": _messages,
    "choices": _choices,
    "owners": _owners,
}
HOME_REGIONS: Final[dict[str, Callable[[Asked], Context]]] = {
    "boards": lambda asked: {"boards": pages.boards_list(asked.at), "current": asked.current},
    "collaborators": lambda asked: {"peers": pages.collaborators()},
    "needs": _needs,
    "count": lambda asked: {"needs": pages.need_cards(asked.at)},
    "overview": lambda asked: {"boards": pages.boards_list(asked.at)},
}
assert set(VIEWS) <= set(BOARD_REGIONS)

_kept: OrderedDict[str, Region] = OrderedDict()
_lock = threading.Lock()


def region(asked: Asked) -> Region:
    """The region as it is now, from memory when nothing that it shows has changed."""
    key = _key(asked)
    with _lock:
        found = _kept.get(key)
    return found or _keep(key, _render(asked, key))


def _keep(key: str, made: Region) -> Region:
    with _lock:
        _kept[key] = made
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return made


def _key(asked: Asked) -> str:
    """What the region's text depends on. Names stand in the home stream, who is there in the sessions' rows."""
    board_id = asked.board.board_id if asked.board else ""
    last = log.head(board_id)[1] if board_id else _last_digest()
    parts = (asked.name, board_id, last, log.head(HOME_STREAM)[1], _presence(), asked.at.timestamp())
    return "|".join(str(part) for part in (*parts, asked.current, asked.window))


def _last_digest() -> str:
    return Event.objects.order_by("-position").values_list("digest", flat=True).first() or ""


def _presence() -> str:
    seen = Session.objects.aggregate(count=Count("key"), at=Max("observed_at"))
    return f"{seen['count']}@{seen['at']}"


def _render(asked: Asked, key: str) -> Region:
    table = BOARD_REGIONS if asked.board else HOME_REGIONS
    context = {"at": asked.at, "board": asked.board, "region_url": address(asked), **table[asked.name](asked)}
    html = render_to_string(f"boards/regions/{asked.name}.html", context)
    return Region(SafeString(html), f'"{sha256(f"{START}|{key}".encode()).hexdigest()[:32]}"')


def address(asked: Asked) -> str:
    """Where the region fetches itself again."""
    base = f"/boards/{asked.board.board_id}/regions/" if asked.board else "/regions/"
    queries = [f"board={asked.current}"] if asked.current else []
    queries += [f"window={asked.window}"] if asked.window != WINDOW else []
    return base + asked.name + ("?" + "&".join(queries) if queries else "")


# --- over HTTP -------------------------------------------------------------------------------------------------------


@panel
def board_region(request: HttpRequest, board_id: str, name: str) -> HttpResponse:
    """``GET /boards/<id>/regions/<name>``."""
    return _answer(request, name, board_or_404(board_id))


@panel
def home_region(request: HttpRequest, name: str) -> HttpResponse:
    """``GET /regions/<name>``."""
    return _answer(request, name, None)


def _answer(request: HttpRequest, name: str, board: Board | None) -> HttpResponse:
    if name not in (BOARD_REGIONS if board else HOME_REGIONS):
        raise Http404(f"There is no region {name[:80]!r}.")
    current = request.GET.get("board", "")
    known = "" if board or not Board.objects.filter(board_id=current).exists() else current
    found = region(Asked(name, board, pages.present(), known, _window(request)))
    response = HttpResponse(found.html)
    if found.etag in parse_etags(request.headers.get("If-None-Match", "")):
        response = HttpResponseNotModified()
    response.headers["ETag"] = found.etag
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def _window(request: HttpRequest) -> int:
    asked = request.GET.get("window", "")
    number = int(asked) if asked.isdecimal() and len(asked) < 6 else WINDOW
    return max(WINDOW, min(number, WINDOW_LIMIT))
