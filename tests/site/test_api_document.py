"""The OpenAPI document, the schemas and the reference page say what is so."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import jsonschema_rs
import pytest
from django.test import Client

from agentlink_site.api import api
from boards.api import bodies
from boards.events import EVENTS
from boards.schemas import COMMANDS
from tests import people
from tests.people import People, done
from tests.site.callers import BASE, Caller, Json, check_problem, client, document


def test_without_an_actor_every_route_is_401(db: None) -> None:
    document = api.get_openapi_schema()
    for path, methods in document["paths"].items():
        for method in methods:
            response = Client().generic(
                method.upper(), path.replace("{", "").replace("}", ""), b"{}", "application/json"
            )
            assert response.status_code == 401
    for path in ("/docs", "/openapi.json"):
        assert Client().get(BASE + path).status_code == 401


def test_every_route_documents_its_answers_and_every_reference_resolves() -> None:
    document = json.loads(json.dumps(api.get_openapi_schema()))
    for methods in document["paths"].values():
        for method, operation in methods.items():
            statuses = set(operation["responses"])
            assert operation["summary"]
            assert operation["description"]
            assert {"200", "400", "401", "403", "429", "503"} <= statuses
            assert method == "get" or {"404", "409", "413", "415", "422"} <= statuses
            assert "Retry-After" in operation["responses"]["429"]["headers"]
    schemas = document["components"]["schemas"]
    refs = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert refs <= set(schemas)
    mapping = document["paths"][f"{BASE}/commands"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert set(mapping["discriminator"]["mapping"]) == set(bodies.PUBLIC)


class Page(HTMLParser):
    """What a strict content security policy would refuse, or what needs the internet."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "style") or "style" in given or any(name.startswith("on") for name in given):
            self.faults.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src") and value]


def test_the_reference_page_needs_no_script_no_inline_style_and_no_internet(human: Caller) -> None:
    response = client(human.actor).get(f"{BASE}/docs")
    text = response.content.decode()
    page = Page()
    page.feed(text)
    assert response.status_code == 200
    assert page.faults == []
    assert all(link.startswith(("/", "#")) for link in page.links)
    for kind in bodies.PUBLIC:
        assert f"<code>{kind}</code>" in text
    for path in api.get_openapi_schema()["paths"]:
        assert path in text


# --- the schemas of events and commands


@pytest.fixture
def schemas(human: Caller) -> Json:
    return human.get("/schemas").data


def valid(schema: Json, value: Json) -> bool:
    return bool(jsonschema_rs.Draft202012Validator(schema).is_valid(value))


def test_every_event_and_every_command_has_a_schema(schemas: Json) -> None:
    assert {name: [one["version"] for one in known] for name, known in schemas["events"].items()} == {
        name: [event.version] for name, event in EVENTS.items()
    }
    assert set(schemas["commands"]) == {*bodies.PUBLIC, "attach_evidence", "summarize_session"}
    for kind, known in schemas["commands"].items():
        assert known["controlled"] == COMMANDS[kind].controlled
        assert known["panelOnly"] == (kind in bodies.PANEL_ONLY)
        method, path = known["route"].split()
        assert method.lower() in document()["paths"][BASE + path]


def test_what_the_log_holds_is_valid_and_what_it_never_holds_is_not(who: People, human: Caller, schemas: Json) -> None:
    board_id = people.board(who)
    wish = {"tasks": ["one"], "stopConditions": ["disk full"], "requiredEvidence": ["file"]}
    people.evidence(who, board_id, people.contract(who, board_id, **wish), requirementId="proof-1")
    done("send_message", who.human, board_id=board_id, to=["alice"], content="Go on", expires_at="2099-01-01T00:00:00Z")
    done("open_blocker", who.alice, board_id=board_id, summary="No disk")
    found = human.get("/events").data["events"]
    assert len({event["type"] for event in found}) > 8
    for event in found:
        data = schemas["events"][event["type"]][0]["data"]
        assert valid(schemas["event"], event)
        assert valid(data, event["data"]), event
        assert not valid(schemas["event"], {**event, "at": "yesterday"})
    sent = next(event for event in found if event["type"] == "agentlink.message.sent")
    data = schemas["events"][sent["type"]][0]["data"]
    assert not valid(data, {**sent["data"], "to": "alice"})
    assert not valid(data, {name: value for name, value in sent["data"].items() if name != "content"})


def test_receipts_and_problems_are_as_their_schemas_say(human: Caller, schemas: Json) -> None:
    assert valid(schemas["receipt"], human.send("/boards", {"title": "One", "key": "k"}).data["receipt"])
    problem = human.send("/boards", {"title": "Two", "key": "k"})
    check_problem(problem, 422, "key_reused")
    assert valid(schemas["problem"], problem.data)
    assert not valid(schemas["problem"], {**problem.data, "receipt": {}})


def test_a_body_that_a_schema_takes_or_refuses_is_taken_or_refused(human: Caller, schemas: Json) -> None:
    form = schemas["commands"]["create_board"]["body"]
    for body, good in (
        ({"title": "One"}, True), ({"title": "One", "members": {}}, True), ({"title": " "}, False), ({}, False),
        ({"title": "One", "boardId": "UP"}, False), ({"title": "One", "colour": "red"}, False),
    ):  # fmt: skip
        assert valid(form, {"command": "create_board", **body}) == good
        assert (human.give("create_board", **body).status == 201) == good
