from __future__ import annotations

import json
from pathlib import Path

import pytest

from evidence.summary import MAX_BYTES, Line, Summary, SummaryFacts, summarize
from tests.evidence.conftest import session_events
from tests.evidence.facts import Event, cleaner
from tests.fixtures import Fixture

SESSIONS = (
    "kv260-recorder",
    "kv260-blocked",
    "kv260-maxsteps",
    "arduino-patch",
    "supervisor-failed",
    "supervisor-gated",
)
CLEAN = cleaner()


def stamp(number: int) -> str:
    return f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}.000Z"


def summary_of(*events: Event, role: str = "") -> Summary:
    facts = SummaryFacts("alice", role, "running", "s1", events, project_root=Path("/p"), command_cwd=Path("/p"))
    return summarize(facts, CLEAN)


def lines(summary: Summary) -> list[Line]:
    single = [line for line in (summary.objective, summary.status_from) if line]
    return [*single, *summary.done, *summary.next, *summary.blockers, *summary.files]


@pytest.mark.parametrize("session_id", SESSIONS)
def test_every_line_of_a_real_session_names_an_event_of_its_log(aginti: Fixture, session_id: str) -> None:
    events = session_events(aginti.home, session_id)
    facts = SummaryFacts(session_id, "", "idle", session_id, events, evidence=("ev-1",))
    found = summarize(facts, CLEAN)
    log = {(event.type, event.timestamp) for event in events}
    assert lines(found)
    assert {(line.event_type, line.timestamp) for line in lines(found)} <= log
    assert found.size() <= MAX_BYTES


def test_the_files_of_a_real_session_are_project_relative(aginti: Fixture) -> None:
    root = aginti.projects / "arduino-light"
    events = session_events(aginti.home, "arduino-patch")
    found = summarize(SummaryFacts("a", "", "idle", "arduino-patch", events, root, root), CLEAN)
    assert [line.text for line in found.files] == ["notes/patch-note.md", "patch-target.txt"]


def test_a_file_changed_twice_is_one_line_with_its_last_event() -> None:
    changes = [Event(stamp(number), "file.changed", {"ok": True, "path": path}) for number, path in enumerate("aba")]
    found = summary_of(*changes)
    assert [(line.text, line.timestamp) for line in found.files] == [("a", stamp(2)), ("b", stamp(1))]


def test_files_outside_the_project_are_not_named() -> None:
    assert summary_of(Event(stamp(1), "file.changed", {"ok": True, "path": "../proj-secret/x"})).files == ()


def test_a_resume_clears_what_stood_in_the_way() -> None:
    stopped = Event(stamp(1), "session.stopped", {"reason": "max_steps_reached"})
    blocked = Event(stamp(0), "tool.blocked", {"toolName": "write_file", "reason": "no"})
    assert (len(summary_of(blocked, stopped).next), len(summary_of(blocked, stopped).blockers)) == (1, 1)
    resumed = summary_of(blocked, stopped, Event(stamp(2), "session.resumed"))
    assert (resumed.next, resumed.blockers) == ((), ())


def test_what_does_not_fit_is_left_out_in_whole_lines_and_counted() -> None:
    changes = [Event(stamp(n), "file.changed", {"ok": True, "path": f"src/módulo-{n}.py"}) for n in range(500)]
    found = summary_of(*changes)
    assert found.size() <= MAX_BYTES
    assert found.left_out > 0
    assert found.left_out + len(found.files) == 500
    assert found.files[0].text == "src/módulo-499.py"
    assert json.loads(json.dumps(found.as_json()))["leftOut"] == found.left_out


def test_a_huge_role_and_objective_still_fit() -> None:
    created = Event(stamp(0), "session.created", {"goal": "漢" * 100_000})
    found = summary_of(created, role="字" * 100_000)
    assert found.size() <= MAX_BYTES


def test_text_is_redacted_and_final_answers_are_not_quoted() -> None:
    secret = "Ab1" * 9
    found = summary_of(
        Event(stamp(0), "session.created", {"goal": f"use api_key={secret}"}),
        Event(stamp(1), "session.finished", {"result": "the raw answer of the model"}),
        Event(stamp(2), "tool.failed", {"error": f"DB_PASSWORD={secret}"}),
    )
    told = json.dumps(found.as_json())
    assert secret not in told
    assert "raw answer" not in told


@pytest.mark.parametrize("data", [None, [], {"goal": 3, "path": [], "reason": {}, "requiredEvidence": "x"}])
def test_any_type_in_any_field_is_tolerated(data: object) -> None:
    kinds = ("session.created", "file.changed", "tool.failed", "completion.evidence_rejected", "session.stopped")
    summary_of(*(Event(stamp(0), kind, data) for kind in kinds))  # type: ignore[arg-type]
