"""The page on which a person erases a leaked text."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from boards.models import Event, Message
from tests.boards.pages import PERSON
from tests.people import board, done, people

pytestmark = pytest.mark.django_db
LEAK = "the-leaked-sentence"


def asked(client: Client, path: str, form: dict[str, str] | None = None, **actor: Any) -> Any:
    """The page, as the person sees it; with a form what becomes of it."""
    extra: Any = actor or PERSON
    return client.get(path, **extra) if form is None else client.post(path, form, **extra)


def test_the_chosen_text_is_gone_from_the_page_and_the_board(client: Client):
    who = people()
    board_id = board(who)
    sent = done("send_message", who.alice, board_id=board_id, to=["bob"], content=LEAK, refs=[{"file": "a.txt"}])
    page = asked(client, f"/boards/{board_id}/erase").content.decode()
    assert LEAK in page
    assert "a.txt" in page
    form = {"event": sent.events[0], "reason": "it leaked", "key": "k-1"}
    answer = asked(client, f"/boards/{board_id}/erase", form)
    assert (answer.status_code, LEAK in answer.content.decode()) == (200, False)
    assert "applied" in answer.content.decode()
    assert Message.objects.get().content == "[erased]"
    assert LEAK not in asked(client, f"/boards/{board_id}/").content.decode()


def test_a_form_without_a_choice_keeps_its_reason_and_says_what_is_missing(client: Client):
    who = people()
    board_id = board(who)
    answer = asked(client, f"/boards/{board_id}/erase", {"reason": "it leaked"})
    assert answer.status_code == 422
    assert "it leaked" in answer.content.decode()
    assert not Event.objects.filter(type="agentlink.payload.erased").exists()


def test_older_events_are_reached_and_the_homes_own_too(client: Client):
    who = people()
    board_id = board(who)
    for number in range(60):
        done("update_board", who.human, board_id=board_id, objective=f"objective {number}")
    first = asked(client, f"/boards/{board_id}/erase").content.decode()
    assert "Older events" in first
    oldest = asked(client, f"/boards/{board_id}/erase?before=12").content.decode()
    assert "objective 0" in oldest
    assert "objective 59" not in oldest
    done("register_node", who.human, name="Carol", role="a role that says too much")
    assert "a role that says too much" in asked(client, "/erase").content.decode()


def test_agents_do_not_see_the_page(client: Client):
    who = people()
    board_id = board(who)
    agent: dict[str, Any] = {"agentlink.actor": {"node_id": "alice", "surface": "api", "human": False}}
    assert asked(client, f"/boards/{board_id}/erase", **agent).status_code == 403
