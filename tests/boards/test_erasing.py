"""Erasing a payload: the text is gone wherever AgentLink keeps it, and the chain still verifies."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from boards import events, log
from boards.digests import ERASED, canonical, remainder
from boards.models import Event, Message, Node
from tests.people import People, board, contract, done, give, people

GOLDEN = Path(__file__).with_name("golden_events.json")
LEAK = "the-leaked-sentence"


def leaked(who: People) -> tuple[str, str]:
    """A board with a message that should never have been sent: its id and the event's."""
    board_id = board(who)
    sent = done("send_message", who.alice, board_id=board_id, to=["bob"], content=f"Look: {LEAK}")
    return board_id, sent.events[0]


def erase(who: People, board_id: str | None, *event_ids: str, **more: Any) -> Any:
    return give("erase_payload", who.human, board_id=board_id, event_ids=list(event_ids), reason="a leak", **more)


@pytest.mark.django_db
def test_the_text_is_gone_and_the_message_and_its_steps_stay():
    who = people()
    board_id, event_id = leaked(who)
    receipt = erase(who, board_id, event_id)
    assert (receipt.outcome, receipt.extra["erased"]) == ("applied", [event_id])
    row = Message.objects.get()
    assert (row.content, row.sender, row.recipients) == (ERASED, "alice", ["bob"])
    assert LEAK not in Event.objects.get(event_id=event_id).data
    assert log.verify() == []


@pytest.mark.django_db
def test_a_payload_that_was_emptied_by_hand_is_still_found():
    """The checker is checked: only what an erasure declared may differ, and only as declared."""
    who = people()
    board_id, event_id = leaked(who)
    row = Event.objects.get(event_id=event_id)
    Event.objects.filter(pk=row.pk).update(data=canonical(remainder(json.loads(row.data))))
    assert any("changed payload" in fault for fault in log.verify())
    Event.objects.filter(pk=row.pk).update(data=row.data)
    erase(who, board_id, event_id)
    left = Event.objects.get(event_id=event_id).data
    Event.objects.filter(pk=row.pk).update(data=left.replace(ERASED, "something else"))
    assert any("changed payload" in fault for fault in log.verify())
    Event.objects.filter(pk=row.pk).update(data=left)


@pytest.mark.django_db
def test_only_the_person_in_the_panel_erases():
    who = people()
    board_id, event_id = leaked(who)
    wish: dict[str, Any] = {"board_id": board_id, "event_ids": [event_id], "reason": "r"}
    for actor in (who.alice, replace(who.alice, surface="panel"), replace(who.human, surface="cli")):
        assert give("erase_payload", actor, **wish).code == "panel_only"
    assert LEAK in Message.objects.get().content


@pytest.mark.django_db
def test_erasing_again_changes_nothing_and_an_unknown_event_is_named():
    who = people()
    board_id, event_id = leaked(who)
    erased = erase(who, board_id, event_id)
    assert erase(who, board_id, event_id).outcome == "already_applied"
    assert erase(who, board_id, "evt-none").code == "unknown_event"
    assert erase(who, board(who), event_id).code == "unknown_event", "an event of another board"
    assert erase(who, board_id, erased.events[0]).code == "not_erasable"


@pytest.mark.django_db
def test_a_node_that_is_erased_keeps_its_place_under_its_id():
    who = people()
    done("register_node", who.human, name="Carol", role=LEAK)
    event = Event.objects.get(data__contains=LEAK)
    erase(who, None, event.event_id)
    row = Node.objects.get(node_id="carol")
    assert (row.name, row.role) == ("carol", ERASED)


@pytest.mark.django_db
def test_a_contract_that_is_erased_keeps_its_owners_and_the_ids_of_its_proofs():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, contract_id="c", objective=LEAK, required_evidence=[LEAK], tasks=[LEAK])
    rows = Event.objects.filter(stream=board_id, data__contains=LEAK)
    erase(who, board_id, *rows.values_list("event_id", flat=True))
    assert not Event.objects.filter(data__contains=LEAK).exists()
    state = json.dumps(log.state(board_id), default=str)
    assert LEAK not in state
    done("claim_task", who.alice, board_id=board_id, task_id=f"{contract_id}.1")


def test_every_kind_of_event_can_be_read_after_its_texts_are_gone():
    for key, data in json.loads(GOLDEN.read_text()).items():
        kind = events.EVENTS[key.rsplit("@", 1)[0]]
        rest = remainder(kind.model_validate(data).body())
        assert kind.model_validate(rest).body() == rest, key
        assert remainder(rest) == rest, "erasing twice erases once"


@pytest.mark.django_db(transaction=True)
def test_no_byte_of_the_text_is_left_in_the_files_of_the_store():
    who = people()
    board_id, event_id = leaked(who)
    file = Path(connection.settings_dict["NAME"])
    places = [file, file.with_name(f"{file.name}-wal")]
    assert any(LEAK.encode() in place.read_bytes() for place in places), "it was there"
    erase(who, board_id, event_id)
    assert [place.name for place in places if place.exists() and LEAK.encode() in place.read_bytes()] == []
