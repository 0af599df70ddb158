"""The workers' turns stay short however much lies there: thousands of sessions, ten thousand open copies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from boards import delivery, discovery
from boards.models import Delivery, Message, Position
from boards.people import human_node_id
from boards.schemas import Actor
from boards.times import now
from peers.adapters.agintiflow import discovery as glances
from peers.adapters.agintiflow.index import Index
from peers.models import InboxMark, Session
from tests import crowd
from tests.peers.stores import append, event, make_session
from tests.people import board, done, people

pytestmark = pytest.mark.django_db


def deliveries(settings: pytest.FixtureRequest, tmp_path: Path, count: int) -> str:
    """A session that was sent so many messages, and the board they are on."""
    settings.AGINTIFLOW_HOME = tmp_path  # type: ignore[attr-defined]
    make_session(tmp_path, "reader", [event("session.created")])
    discovery.scan_once()
    who = people()
    board_id = board(who, members={"alice": "worker", "reader": "worker"})
    for number in range(count):
        done("send_message", who.human, board_id=board_id, to=["reader"], type="task_update", content=f"Step {number}")
    return board_id


def test_an_urgent_message_is_handed_over_before_older_ones(settings, tmp_path, monkeypatch):
    board_id = deliveries(settings, tmp_path, 4)
    human = Actor(human_node_id(), "panel")
    done("send_message", human, board_id=board_id, to=["reader"], content="Stop", priority="asap")
    monkeypatch.setattr(delivery, "BATCH", 2)
    due = [Message.objects.get(message_id=copy.message_id).content for copy in delivery._due(now())]
    assert due == ["Stop", "Step 0"]
    while delivery.attempt_once():
        pass
    inbox = [json.loads(line) for line in (tmp_path / "sessions/reader/inbox.jsonl").read_text().splitlines()]
    assert len(inbox) == 5 and "Stop" in inbox[0]["content"]
    assert not Delivery.objects.filter(step="queued").exists()


def test_only_what_the_stores_proved_since_is_looked_at(settings, tmp_path):
    deliveries(settings, tmp_path, 6)
    while delivery.attempt_once():
        pass
    discovery.scan_once()
    assert InboxMark.objects.count() == 6
    with CaptureQueriesContext(connection) as idle:
        assert delivery.record_progress() == 0
    assert len(idle) == 2, "its own position, and whether anything stands after it"
    ids = list(Message.objects.values_list("message_id", flat=True))
    log = tmp_path / "sessions/reader/events.jsonl"
    append(log, event("conversation.queued_input_applied", id=f"inbox-agentlink-{ids[0]}"))
    discovery.scan_once()
    assert [copy.message_id for copy in Delivery.objects.filter(step="applied")] == [ids[0]]
    assert Position.objects.get(reader=delivery.MARKS_READER).position == InboxMark.objects.latest("id").id


def test_a_lost_position_loses_no_step_and_makes_none_twice(settings, tmp_path):
    deliveries(settings, tmp_path, 3)
    while delivery.attempt_once():
        pass
    log = tmp_path / "sessions/reader/events.jsonl"
    for message_id in Message.objects.values_list("message_id", flat=True):
        append(log, event("conversation.queued_input_applied", id=f"inbox-agentlink-{message_id}"))
    discovery.scan_once()
    assert Delivery.objects.filter(step="applied").count() == 3
    Position.objects.all().delete()
    assert delivery.record_progress() == 0


def test_sessions_that_nobody_works_on_are_looked_at_in_turn_and_the_others_always(tmp_path, monkeypatch):
    names = crowd.sessions(tmp_path, 30)
    store = tmp_path / "agintiflow" / "sessions"
    monkeypatch.setattr(glances, "COLD", 10)
    looking = glances.Glances(store, Index(store))
    assert set(looking.glance().stamps) == set(names)
    seen: list[str] = []
    real = glances.Glances._look
    monkeypatch.setattr(
        glances.Glances, "_look", lambda self, name, row, at: (seen.append(name), real(self, name, row, at))[1]
    )
    for _ in range(3):
        seen.clear()
        looking.glance(watched=[names[7]])
        assert len(set(seen)) <= 11 and names[7] in seen
    append(store / names[20] / "events.jsonl", event("session.resumed"))
    before = looking.glance().stamps[names[20]]
    stamps = {looking.glance().stamps[names[20]] for _ in range(3)}
    assert len({before, *stamps}) <= 2
    seen.clear()
    looking.glance()
    assert names[20] in seen, "what changed lately is looked at each time"


def test_a_first_scan_of_very_many_reads_the_latest_first_and_says_that_there_are_more(tmp_path, settings):
    settings.AGINTIFLOW_HOME = tmp_path / "agintiflow"
    names = crowd.sessions(tmp_path, 20)
    turns = []
    while True:
        found = discovery.scan_once(most=6)
        turns.append(found.new)
        if not found.behind:
            break
    assert [len(turn) for turn in turns] == [6, 6, 6, 2]
    assert sorted(name for turn in turns for name in turn) == sorted(names)
    assert Session.objects.filter(present=True).count() == 20
