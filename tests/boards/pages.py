"""The panel as a test sees it: pages, their regions, and what a page is made of."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from boards import live
from boards.commands import execute, service
from boards.models import Event
from boards.queries.pages import snapshot
from boards.schemas import COMMANDS, Actor
from boards.words import HOME_STREAM
from tests.boards.conftest import Clock
from tests.people import People, board, claim, done, evidence, people


@pytest.fixture
def page_clock(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Pages look at the clock that commands look at: time passes only when a test lets it."""
    monkeypatch.setattr(snapshot, "now", clock)
    return clock


PERSON = {"agentlink.actor": {"node_id": None, "surface": "panel", "human": True}}
VIEWS = ("contracts", "evidence", "blockers", "ownership")
CHANGING = (
    (re.compile(r'"X-CSRFToken": "[^"]+"'), "token"),
    (re.compile(r'id="fresh" data-revision="\d+".*?As of revision \d+', re.DOTALL), "fresh"),
    (re.compile(r"<title>.*?</title>", re.DOTALL), "title"),
)
"""What differs between two loads of one page and is kept by the page's own script: token, freshness chip, title."""


def get(path: str, **headers: str) -> HttpResponse:
    """A page as the person gets it."""
    return Client().get(path, headers=headers or None, **PERSON)  # type: ignore[arg-type,return-value]


def post(path: str, /, **fields: Any) -> HttpResponse:
    """A form as the person sends it."""
    return Client().post(path, fields, **PERSON)  # type: ignore[arg-type,return-value]


def text(response: HttpResponse, status: int = 200) -> str:
    assert response.status_code == status, (response.status_code, response.content[:500])
    return response.content.decode()


def page(path: str) -> str:
    """The page without what its own script keeps current."""
    html = text(get(path))
    for pattern, name in CHANGING:
        html, count = pattern.subn(name, html)
        assert count == 1, name
    return html


def regions(html: str) -> dict[str, str]:
    """Each live region of a page: its address, and its text as the address gives it now."""
    addresses = [url.replace("&amp;", "&") for url in re.findall(r'hx-get="([^"]*/?regions/[^"]+)"', html)]
    own = [url for url in addresses if "window=" not in url]
    assert len(own) == len(set(own))
    return {url: text(get(url)) for url in own}


def refetched(html: str, before: dict[str, str], board_id: str, events: list[Event]) -> str:
    """The page after the frames of these events: each region that they name fetched itself again, no other."""
    of_board = [event.type for event in events if event.stream in (board_id, HOME_STREAM)]
    named = {f"/boards/{board_id}/regions/{name}" for name in live.changed(of_board)}
    named |= {f"/regions/{name}" for name in live.changed_at_home([event.type for event in events])}
    for url, old in before.items():
        assert html.count(old) == 1, f"the first render of {url} is another text than its update"
        if url.partition("?")[0] in named:
            html = html.replace(old, text(get(url)))
    return html


class Skeleton(HTMLParser):
    """Elements and the names of their attributes, in order: what a browser builds, without any text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[tuple[str, ...]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.append((tag, *(name for name, _ in attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.parts.append((f"/{tag}",))

    def handle_comment(self, data: str) -> None:
        self.parts.append(("comment",))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


class Story:
    """A board on its way: each step is a legal command, and ``at`` names what a page is about."""

    def __init__(self) -> None:
        self.who: People = people()
        self.board_id = board(self.who, title="Light sync", objective="Record it")
        self.message_id = ""

    def give(self, kind: str, actor: Actor, **fields: Any) -> Any:
        return done(kind, actor, board_id=self.board_id, **fields)

    def found(self, kind: str, **fields: Any) -> None:
        """What a timer, the checks or the delivery worker find."""
        command = COMMANDS[kind].model_validate({"board_id": self.board_id, **fields})
        receipt = execute(command, service())
        assert receipt.outcome == "applied", receipt

    def propose(self, contract_id: str = "run-1", **fields: Any) -> str:
        wish = {"owners": {"alice": ["/dev/video0"]}, "required_evidence": ["the file"], "stop_conditions": ["busy"]}
        self.give(
            "propose_contract", self.who.human, objective="Record one file", contract_id=contract_id, **wish | fields
        )
        return contract_id

    def accept(self) -> str:
        contract_id = self.propose()
        self.give("accept_contract", self.who.alice, contract_id=contract_id)
        return contract_id

    def claim(self) -> tuple[str, int]:
        contract_id = self.accept()
        return contract_id, claim(self.who, self.board_id, contract_id)

    def attach(self, contract_id: str) -> str:
        wish = {"requirement_id": "proof-1", "summary": "It was recorded"}
        return evidence(self.who, self.board_id, contract_id, verified=False, **wish)

    def blocked(self) -> str:
        contract_id = self.accept()
        wish = {"contract_id": contract_id, "stop_condition_id": "stop-1", "summary": "The device is busy"}
        return str(self.give("open_blocker", self.who.alice, **wish).extra["blockerId"])

    def send(self, **fields: Any) -> str:
        wish = {"to": ["alice"], "content": "Start the recording", **fields}
        self.message_id = self.give("send_message", self.who.human, **wish).extra["messageId"]
        return self.message_id

    def step(self, step: str, **fields: Any) -> None:
        self.found("record_step", message_id=self.message_id, node_id="alice", step=step, **fields)

    @property
    def url(self) -> str:
        return f"/boards/{self.board_id}/"

    @property
    def views(self) -> list[str]:
        return [f"{self.url}?view={view}" for view in VIEWS]


def completed(story: Story) -> None:
    contract_id, fencing = story.claim()
    evidence_id = story.attach(contract_id)
    story.give("verify_evidence", story.who.human, evidence_id=evidence_id)
    story.give("complete_task", story.who.alice, task_id=contract_id, fencing=fencing)
