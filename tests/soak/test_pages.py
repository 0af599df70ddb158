"""The page stays quick and bounded however much there is: what it reads does not grow with the home."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from boards.models import Contract, Message
from boards.people import human_node_id
from boards.queries.pages import contracts, evidence, home, messages, needs
from boards.schemas import Actor
from boards.views import regions
from boards.views.kept import Kept
from tests import crowd
from tests.boards.pages import get, text
from tests.people import done
from tests.site.servers import Server

SECONDS = 0.300
VIEWS = ("contracts", "evidence", "blockers", "ownership")


def of_board(board_id: str) -> list[str]:
    """Every page and every region of a board."""
    urls = [*(f"/boards/{board_id}/?view={view}" for view in VIEWS), f"/boards/{board_id}/attach"]
    return urls + [f"/boards/{board_id}/regions/{name}" for name in regions.BOARD_REGIONS]


def of_home() -> list[str]:
    return ["/", "/boards/new", *(f"/regions/{name}" for name in regions.HOME_REGIONS)]


@pytest.fixture
def forget(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Nothing is in memory from before."""

    def now() -> None:
        monkeypatch.setattr(regions, "KEPT", Kept(16_000_000))
        monkeypatch.setattr(regions, "CARDS", Kept(16_000_000))
        needs._needs_after.cache_clear()

    now()
    return now


def statements(url: str, forget: Callable[[], None]) -> int:
    """How many statements it takes when nothing is kept."""
    forget()
    with CaptureQueriesContext(connection) as found:
        text(get(url))
    return len(found)


@pytest.mark.django_db
def test_a_board_with_much_on_it_asks_no_more_of_the_store_than_a_small_one(tmp_path, settings, forget):
    settings.AGINTIFLOW_HOME = tmp_path / "agintiflow"
    made = crowd.history(crowd.SMALL, tmp_path)
    small = [statements(url, forget) for url in of_board(made.small_id)]
    large = [statements(url, forget) for url in of_board(made.board_id)]
    grown = {url: (a, b) for url, a, b in zip(of_board(made.board_id), small, large, strict=True) if b > a + 8}
    assert grown == {}
    assert max(statements(url, forget) for url in of_home()) < 45


def ids(pattern: str, html: str) -> list[str]:
    return re.findall(pattern, html)


def turned(url: str, pattern: str) -> list[str]:
    """What all pages of a list show, going on by the address that each of them gives."""
    found: list[str] = []
    following: str | None = url
    while following:
        html = text(get(following))
        found += ids(pattern, html)
        nexts = re.search(r'-next" hx-get="([^"]+)"', html)
        following = nexts[1].replace("&amp;", "&") if nexts else None
    return found


@pytest.mark.django_db
def test_every_list_is_bounded_and_the_rest_is_on_its_next_pages(tmp_path, settings, forget, monkeypatch):
    settings.AGINTIFLOW_HOME = tmp_path / "agintiflow"
    made = crowd.history(crowd.SMALL, tmp_path)
    for worker in made.workers[:4]:
        wish = {"to": [human_node_id()], "content": f"{worker} asks", "requires_ack": True}
        done("send_message", Actor(worker, "cli"), board_id=made.board_id, **wish)
    base = f"/boards/{made.board_id}/regions/"
    lists = {
        f"{base}contracts": r'<article class="card [^"]*" id="contract-([^"]+)"',
        f"{base}evidence": r'id="(evidence-ev-[^"]+)"',
        f"{base}ownership": r"<tr[^>]*>\s*<td><code>(.*?)</code>",
        "/regions/boards": r'<li id="nav-([^"]+)"',
        "/regions/overview": r'<article class="[^"]*" id="board-([^"]+)"',
        "/regions/needs": r'<li class="need" id="([^"]+)"',
        "/regions/collaborators": r'<li class="row" id="((?:peer|session)-[^"]+)"',
    }
    whole = {url: sorted(ids(pattern, text(get(url)))) for url, pattern in lists.items()}
    for module, name in ((contracts, "PER_LANE"), (evidence, "PER_PAGE"), (home, "PER_PAGE"), (needs, "PER_PAGE")):
        monkeypatch.setattr(module, name, 3)
    forget()
    for url, pattern in lists.items():
        assert len(whole[url]) > 3, url
        assert len(ids(pattern, text(get(url)))) < len(whole[url]), url
        assert sorted(turned(url, pattern)) == whole[url], url
    assert Contract.objects.filter(board_id=made.board_id).count() == len(whole[f"{base}contracts"])


@pytest.mark.django_db
def test_messages_before_the_largest_window_are_on_pages_of_their_own(tmp_path, settings, forget, monkeypatch):
    settings.AGINTIFLOW_HOME = tmp_path / "agintiflow"
    made = crowd.history(crowd.SMALL, tmp_path)
    for name in ("WINDOW", "WINDOW_LIMIT"):
        monkeypatch.setattr(messages, name, 10)
        monkeypatch.setattr(regions, name, 10)
    card = r'<article class="[^"]*" id="msg-(msg-[^"]+)"'
    html = text(get(f"/boards/{made.board_id}/"))
    found, link = ids(card, html), re.search(r'href="(/boards/[^"]+/messages\?before=[^"]+)"', html)
    while link:
        html = text(get(link[1]))
        found += ids(card, html)
        link = re.search(r'href="(/boards/[^"]+/messages\?before=[^"]+)"', html)
    every = list(Message.objects.filter(board_id=made.board_id).values_list("message_id", flat=True))
    assert sorted(found) == sorted(every) and len(found) > 40


@pytest.mark.soak
@pytest.mark.process
@pytest.mark.timeout(900)
def test_the_first_page_of_anything_takes_less_than_three_tenths_of_a_second(tmp_path: Path) -> None:
    big = crowd.copied(crowd.FULL, tmp_path / "big")
    big.scanned_anew()
    with Server(big.home, launcher=False) as server:
        cookie = server.login()
        server.ask("GET", f"/boards/{big.small_id}/", cookie)
        slow = {}
        for url in [*of_home(), *of_board(big.board_id)]:
            took = min(_cold(server, big, cookie, url) for _ in range(4))
            if took > SECONDS:
                slow[url] = took
        assert slow == {}


def _cold(server: Server, big: crowd.Crowd, cookie: dict[str, str], url: str) -> float:
    """Seconds from the request to the answer, just after an event that changes the board."""
    body: dict[str, Any] = {"command": "propose_contract", "boardId": big.board_id, "objective": "One more"}
    kind = {"Content-Type": "application/json"}
    assert server.ask_unix("POST", "/api/agentlink/commands", kind, json.dumps(body).encode()).status == 201
    time.sleep(0.3)  # what else hears of it has its turn first
    began = time.monotonic()
    assert server.ask("GET", url, cookie).status == 200
    return time.monotonic() - began
