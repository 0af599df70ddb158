"""Live regions: each is one partial with one address. The first render and every update are the same text.

A region is rendered once however many people watch: the text is kept by all that it depends on (:data:`READS`), which
also makes its ETag. A revision stands here as the digest of its event, which no other history has.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any, Final

from django.db.models import Count, Max
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from django.template.loader import render_to_string
from django.utils.http import parse_etags
from django.utils.safestring import SafeString

from boards import log, rows
from boards.models import Board, Event, Outbox
from boards.queries import pages
from boards.queries.pages.board import VIEWS, tabs
from boards.queries.pages.messages import WINDOW, WINDOW_LIMIT
from boards.views import abroad
from boards.views.access import board_or_404, panel
from boards.views.kept import Kept
from boards.words import HOME_STREAM
from peers.models import ScanMark, Session

KEPT: Final = Kept(16_000_000)
"""Rendered regions."""
CARDS: Final = Kept(16_000_000)
"""Rendered cards of messages: most of a list is as it was before."""
START: Final = secrets.token_hex(4)
"""Part of every ETag: another start may be another version of the templates."""

Context = dict[str, Any]


# --- what a region depends on ----------------------------------------------------------------------------------------


def _presence(_: str) -> str:
    """Sessions as the last scan left them."""
    seen = Session.objects.aggregate(count=Count("*"), at=Max("observed_at"))
    problems = list(ScanMark.objects.order_by("source").values_list("problems", flat=True))
    return f"{seen['count']}@{seen['at']} {problems}"


def _events(board_id: str) -> str:
    """The last event of the board; at home of any board."""
    if board_id:
        return log.head(board_id)[1]
    last = rows.last(Event, "digest", by="position")
    return str(last[0]) if last else ""


def _waiting(_: str) -> str:
    """When the delivery worker last noted why a copy is still queued: its own notes are no events."""
    return str(Outbox.objects.aggregate(at=Max("noted_at"))["at"])


SOURCES: Final[dict[str, Callable[[str], str]]] = {
    "events": _events,
    "names": lambda _: log.head(HOME_STREAM)[1],
    "presence": _presence,
    "waiting": _waiting,
    "abroad": lambda _: abroad.stamp(),
}
"""What a text can depend on besides the present. Nodes' names stand in the home's stream."""
READS: Final[dict[str, tuple[str, ...]]] = {
    "head": ("events", "names", "presence", "present"),
    "needs": ("events", "names", "present"),
    "contracts": ("events", "names", "present"),
    "evidence": ("events", "names", "present"),
    "blockers": ("events", "names", "present"),
    "ownership": ("events", "names", "present"),
    "messages": ("events", "names", "waiting"),
    "choices": ("events", "names", "presence"),
    "owners": ("events", "names"),
    "boards": ("events", "names", "present"),
    "collaborators": ("names", "presence", "present"),
    "count": ("events", "names", "present"),
    "overview": ("events", "names", "present"),
    "abroad": ("events", "abroad"),
}
"""Which of them a region's text depends on; ages, leases and what is overdue move with the present too."""


class Sight:
    """The sources as one request sees them: each is read once, before anything that depends on it is rendered."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, str], str] = {}

    def of(self, source: str, board_id: str) -> str:
        """What says that the source is still the same."""
        key = source, board_id
        if key not in self._read:
            self._read[key] = SOURCES[source](board_id)
        return self._read[key]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which region, as its address says it: ``current``: the board that a list marks; ``window``: how many messages;
    ``page``: of any other list."""

    name: str
    board: Board | None
    at: datetime
    current: str = ""
    window: int = WINDOW
    page: int = 1
    sight: Sight = field(default_factory=Sight, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Region:
    """A rendered region."""

    html: SafeString
    etag: str


def _key(asked: Asked) -> str:
    """What the region's text depends on."""
    board_id = asked.board.board_id if asked.board else ""
    seen = [str(asked.at) if source == "present" else asked.sight.of(source, board_id) for source in READS[asked.name]]
    return "|".join((asked.name, board_id, *seen, asked.current, str(asked.window), str(asked.page)))


def region(asked: Asked) -> Region:
    """The region as it is now, from memory when nothing that it shows has changed."""
    key = sha256(f"{START}|{_key(asked)}".encode()).hexdigest()[:32]
    return Region(KEPT.get(key, partial(_render, asked)), f'"{key}"')


def _render(given: Asked) -> str:
    """Reads the board's row again: the one that was asked with may be older than the key."""
    board = rows.fetch(Board, board_id=given.board.board_id)[0] if given.board else None
    asked, table = replace(given, board=board), BOARD_REGIONS if board else HOME_REGIONS
    common = {"at": asked.at, "board": board, "region_name": asked.name, "region_url": address(asked)}
    common["region_base"] = _with(address(replace(asked, page=1)))
    return render_to_string(f"boards/regions/{asked.name}.html", {**common, **table[asked.name](asked)})


# --- what a region shows ---------------------------------------------------------------------------------------------


def _of_board(asked: Asked) -> pages.Snapshot:
    assert asked.board is not None  # board regions are looked up with their board
    return pages.Snapshot(asked.board, asked.at)


def _view(name: str, part: Callable[[pages.Snapshot, int], Any]) -> Callable[[Asked], Context]:
    def context(asked: Asked) -> Context:
        shot = _of_board(asked)
        return {"shot": shot, "tabs": tabs(shot, name), name: part(shot, asked.page)}

    return context


def _head(asked: Asked) -> Context:
    return {"head": pages.board_head(_of_board(asked))}


def _needs(asked: Asked) -> Context:
    return {"needs": pages.need_cards(asked.at, asked.board, asked.page)}


def _messages(asked: Asked) -> Context:
    shot = _of_board(asked)
    found = pages.message_list(shot, asked.window)
    changed = [entry.message_id for entry in found.entries if entry.shows not in CARDS]
    cards = pages.message_cards(shot, changed, found.waiting)
    html = [CARDS.get(entry.shows, partial(_card, shot.board, cards, entry.message_id)) for entry in found.entries]
    return {"messages": found, "cards": SafeString("".join(html))}


def _card(board: Board, cards: dict[str, pages.MessageCard], message_id: str) -> str:
    return render_to_string("boards/_message_card.html", {"card": cards[message_id], "board": board})


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
    "boards": lambda asked: {"boards": pages.boards_list(asked.at, asked.page), "current": asked.current},
    "collaborators": lambda asked: {"peers": pages.collaborators(asked.page)},
    "needs": _needs,
    "count": lambda asked: {"count": len(pages.home_needs(asked.at))},
    "overview": lambda asked: {"boards": pages.boards_list(asked.at, asked.page)},
    "abroad": lambda asked: {"abroad": abroad.lines()},
}
assert set(VIEWS) <= set(BOARD_REGIONS)
assert set(READS) == {*BOARD_REGIONS, *HOME_REGIONS}


def address(asked: Asked) -> str:
    """Where the region fetches itself again."""
    base = f"/boards/{asked.board.board_id}/regions/" if asked.board else "/regions/"
    queries = [f"board={asked.current}"] if asked.current else []
    queries += [f"window={asked.window}"] if asked.window != WINDOW else []
    queries += [f"page={asked.page}"] if asked.page != 1 else []
    return base + asked.name + ("?" + "&".join(queries) if queries else "")


def _with(url: str) -> str:
    """The address, ready for one more part of its query."""
    return url + ("&" if "?" in url else "?")


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
    known = current and not board and Board.objects.filter(board_id=current).exists()
    found = region(Asked(name, board, pages.present(), current if known else "", _window(request), _page(request)))
    response = HttpResponse(found.html)
    if found.etag in parse_etags(request.headers.get("If-None-Match", "")):
        response = HttpResponseNotModified()
    response.headers["ETag"] = found.etag
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def _page(request: HttpRequest) -> int:
    asked = request.GET.get("page", "")
    return max(1, int(asked)) if asked.isdecimal() and len(asked) < 6 else 1


def _window(request: HttpRequest) -> int:
    asked = request.GET.get("window", "")
    number = int(asked) if asked.isdecimal() and len(asked) < 6 else WINDOW
    return max(WINDOW, min(number, WINDOW_LIMIT))
