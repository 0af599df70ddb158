"""Replay equals state, the chain verifies, old logs still parse; and the checkers themselves are checked."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from boards import events, log, projections, rows
from boards.models import BOARD_PROJECTIONS, Event, Task
from tests.people import board, claim, contract, done, evidence, people

pytestmark = pytest.mark.django_db
GOLDEN = Path(__file__).with_name("golden_events.json")


def story() -> str:
    """A board with something of everything; its id."""
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, required_evidence=["the file"], stop_conditions=["busy"])
    fencing = claim(who, board_id, contract_id)
    done("renew_task", who.alice, board_id=board_id, task_id=contract_id, fencing=fencing)
    evidence(who, board_id, contract_id, requirement_id="proof-1")
    wish: dict[str, Any] = {"contract_id": contract_id, "stop_condition_id": "stop-1", "summary": "busy"}
    blocker = done("open_blocker", who.alice, board_id=board_id, **wish)
    done("resolve_blocker", who.human, board_id=board_id, blocker_id=blocker.extra["blockerId"], resolution="free")
    done("complete_task", who.alice, board_id=board_id, task_id=contract_id, fencing=fencing)
    done("close_board", who.human, board_id=board_id)
    return board_id


def test_rebuild_check_finds_nothing_on_a_legal_history():
    story()
    out = StringIO()
    call_command("rebuild", "--check", stdout=out)
    assert "different before: none" in out.getvalue()


def test_rebuild_check_finds_a_changed_row_and_rebuild_mends_it():
    board_id = story()
    Task.objects.filter(board_id=board_id).update(holder="mallory")
    with pytest.raises(CommandError, match=board_id):
        call_command("rebuild", "--check")
    assert Task.objects.get(board_id=board_id).holder == "mallory", "a check changes nothing"
    call_command("rebuild", stdout=StringIO())
    assert Task.objects.get(board_id=board_id).holder == "alice"


def test_rebuild_check_finds_a_projection_that_asks_the_clock(monkeypatch):
    """A planted bug: the checker must go red when a projection uses something that its event does not hold."""
    board_id = story()

    def planted(event, data):
        rows.update(Task, data.task_id, status="claimed", holder="whoever-is-here-now")

    with monkeypatch.context() as patch:
        patch.setitem(projections.PROJECTORS, events.TaskClaimed, planted)
        with pytest.raises(CommandError, match=board_id):
            call_command("rebuild", "--check")


def test_a_lost_projection_is_rebuilt_whole():
    board_id = story()
    before = log.state(board_id)
    for model in BOARD_PROJECTIONS:
        model.objects.filter(board_id=board_id).delete()
    with transaction.atomic():
        log.rebuild(board_id)
    assert log.state(board_id) == before


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("data", '{"x":1}', "changed payload"),
        ("actor", "mallory", "was changed"),
        ("previous", "0" * 64, "does not follow"),
        ("revision", 4242, "revision 4242"),
        ("at", "2020-01-01T00:00:00.000Z", "was changed"),
    ],
)
def test_verify_log_finds_every_kind_of_tampering(column, value, says):
    board_id = story()
    row = Event.objects.filter(stream=board_id).order_by("revision")[2]
    Event.objects.filter(pk=row.pk).update(**{column: value})
    with pytest.raises(CommandError, match=says):
        call_command("verify_log")
    Event.objects.filter(pk=row.pk).update(**{column: getattr(row, column)})
    call_command("verify_log", stdout=StringIO())


def test_a_removed_event_breaks_the_chain():
    board_id = story()
    row = Event.objects.filter(stream=board_id).order_by("revision")[2]
    Event.objects.filter(pk=row.pk).delete()
    assert any("revision" in fault for fault in log.verify())
    row.save(force_insert=True)


def test_every_event_class_has_a_projection():
    assert set(projections.PROJECTORS) == set(events.EVENTS.values())


def test_every_event_version_ever_written_still_parses():
    """Golden files: one line for each event class and version; a new class without a line fails here."""
    golden = json.loads(GOLDEN.read_text())
    assert {key.rsplit("@", 1)[0] for key in golden} == set(events.EVENTS)
    for key, data in golden.items():
        name, version = key.rsplit("@", 1)
        cls = events.EVENTS[name]
        parsed = cls.model_validate(data)
        if int(version) == cls.version:
            assert parsed.body() == data, key


def test_writers_use_a_file_database_with_full_durability():
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert cursor.execute("PRAGMA synchronous").fetchone()[0] == 2
