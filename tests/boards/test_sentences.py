"""What pydantic refuses is told in words: which field and why, never the value, never pydantic's own address."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from pydantic import ValidationError

from boards import discovery
from boards.models import Evidence
from boards.schemas import COMMANDS
from boards.schemas.sentences import sentence_of, sentences_of
from boards.views import forms
from tests.boards.pages import Story, post, text
from tests.fixtures import Fixture, unpack

SECRET = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
API: dict[str, Any] = {"agentlink.actor": {"node_id": None, "surface": "api", "human": True}}


def errors(kind: str, **fields: Any) -> Any:
    with pytest.raises(ValidationError) as wrong:
        COMMANDS[kind].model_validate(fields)
    return wrong.value.errors()


def test_each_error_says_its_field_and_what_would_be_right() -> None:
    assert sentence_of(errors("create_board", title=" ")) == "title: The text is empty; say something in it."
    assert sentence_of(errors("create_board")) == "title: this field is required."
    assert sentence_of(errors("create_board", title="x", colour=1)) == "colour: there is no such field here."
    tasks = errors("propose_contract", boardId="b", objective="x", tasks=["a", " "])
    assert sentence_of(tasks) == "tasks.1.text: The text is empty; say something in it."


@pytest.mark.parametrize(
    "fields",
    [{"title": "x", "boardId": f"{SECRET}/"}, {"title": "x", SECRET: 1}, {"title": "x", "members": {SECRET: "king"}}],
)
def test_no_sentence_repeats_a_value_or_names_pydantic(fields: dict[str, Any]) -> None:
    told = sentence_of(errors("create_board", **fields))
    assert told and SECRET not in told and "pydantic" not in told


def test_many_errors_are_counted_instead_of_listed() -> None:
    told = sentences_of(errors("create_board", title="x", **{f"x{number}": 1 for number in "abcdefgh"}))
    assert (len(told), told[-1]) == (6, "And 3 more.")


@pytest.mark.parametrize("ending", ["\n", "\x00", " "])
def test_an_id_ends_where_it_ends(ending: str) -> None:
    assert "is not a valid id" in sentence_of(errors("create_board", title="x", boardId=f"b{ending}"))


def test_forms_call_fields_as_people_see_them() -> None:
    with pytest.raises(forms.Unreadable) as wrong:
        forms.command_from("propose_contract", "b", QueryDict("objective=+"))
    assert wrong.value.sentences == ["Objective: The text is empty; say something in it."]


@pytest.fixture
def attaching(db: None, settings: Any, tmp_path: Any) -> tuple[Story, Fixture]:
    """A board with a session of the real home, and a contract that asks for one file."""
    fixture = unpack(tmp_path)
    settings.AGINTIFLOW_HOME = fixture.home
    story = Story()
    discovery.scan_once()
    story.give("invite", story.who.human, node="kv260-recorder")
    story.accept()
    return story, fixture


WRONG = {
    "summary": {"what": "url", "url": "http://127.0.0.1:9/", "summary": " "},
    "url": {"what": "url", "url": "http://127.0.0.1:9/" + "x" * 2000, "summary": "It answers"},
}


@pytest.mark.parametrize("field", WRONG)
def test_the_panel_says_why_evidence_cannot_be_attached(attaching: tuple[Story, Fixture], field: str) -> None:
    story, _ = attaching
    told = text(post(f"/boards/{story.board_id}/attach", answers="run-1/proof-1", **WRONG[field]), 422)
    expected = {"summary": "Summary: The text is empty; say something in it.", "url": "url: String should have at most"}
    assert expected[field] in told
    assert "pydantic" not in told and "x" * 100 not in told
    assert Evidence.objects.count() == 0


def test_the_api_says_why_a_path_is_too_long_for_a_bundle(attaching: tuple[Story, Fixture]) -> None:
    story, fixture = attaching
    path = str(fixture.projects / "event-camera" / "/".join(["long"] * 300))
    body = {"contractId": "run-1", "requirementId": "proof-1", "summary": "It is there.", "file": path}
    url = f"/api/agentlink/boards/{story.board_id}/evidence"
    answer = Client(**API).post(url, body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")
    assert answer.json()["detail"] == "path: String should have at most 1024 characters."
