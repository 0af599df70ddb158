"""Every session of the home that the real program wrote, against what its README says about it."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from peers import presence, queries
from peers.adapters import adapter
from peers.adapters.agintiflow import AgInTiFlow
from peers.models import Session, SessionRoots
from tests.fixtures import Fixture
from tests.peers.conftest import Scanner

WEB = "web-agent-33996012-ab56-4364-8aca-4c06656e784b"
FINISHED = "finished: finish-tool"
# session -> project, status, reason, goal contract, files changed
EXPECTED = {
    "kv260-recorder": ("event-camera", "stopped", "tool_contract_violation", "paused", ["recordings/run001-notes.md"]),
    "kv260-canvas": ("event-camera", "idle", FINISHED, "completed", []),
    "kv260-blocked": ("event-camera", "idle", FINISHED, "completed", []),
    "kv260-maxsteps": ("event-camera", "stopped", "max_steps_reached", "paused", ["notes/never-finished.md"]),
    "kv260-scs": ("event-camera", "idle", FINISHED, "completed", ["notes/scs-report.md"]),
    WEB: ("event-camera", "stopped", "tool_contract_violation", "paused", []),
    "arduino-patch": ("arduino-light", "idle", FINISHED, "completed", ["patch-target.txt", "notes/patch-note.md"]),
    "arduino-shell": ("arduino-light", "idle", FINISHED, "completed", []),
    "arduino-longjob": ("arduino-light", "idle", FINISHED, "completed", []),
    "arduino-killed": (
        "arduino-light",
        "stale",
        "it started and never ended; no process of it can be proved alive",
        "active",
        [],
    ),
    "supervisor-main": ("supervisor-desk", "idle", FINISHED, "completed", []),
    "supervisor-structured": ("supervisor-desk", "idle", FINISHED, "completed", []),
    "supervisor-failed": ("supervisor-desk", "failed", "provider_preflight_failed", "failed", []),
    "supervisor-gated": ("supervisor-desk", "stopped", "model_did_not_execute", "paused", []),
}
# What others wrote into these logs later is no activity of the session.
LAST_ACTIVITY = {"arduino-shell": "2026-11-30T19:28:04.043000+00:00", WEB: "2026-11-30T19:28:27.691000+00:00"}


def _later() -> datetime:
    """A day after the home was written, so that nothing in it is recent whatever this machine's clock says."""
    return datetime(2026, 12, 1, 20, tzinfo=UTC)


@pytest.mark.parametrize("session_id", EXPECTED)
def test_each_session_has_its_derived_state(session_id: str, scan_real: Scanner) -> None:
    scan_real()
    row = Session.objects.get(session_id=session_id)
    changed = [change["path"] for change in row.details.get("filesChanged", ())]
    status = adapter(row.source).status_at(row.life, _later())
    found = (row.project_name, status.word, status.reason, row.goal_status, changed)
    assert found == EXPECTED[session_id]
    assert row.problems == []


def test_one_scan_finds_exactly_the_sessions_of_the_home(scan_real: Scanner) -> None:
    scan = scan_real()
    assert (scan.seen, sorted(scan.new), scan.problems) == (14, sorted(EXPECTED), [])
    assert sorted(scan.changed) == sorted(EXPECTED)


def test_the_program_s_own_answer_agrees_on_what_both_know(real: Fixture, scan_real: Scanner) -> None:
    scan_real()
    golden = json.loads((real.golden / "summaries.json").read_text())
    for row in Session.objects.all():
        summary = golden[row.session_id]["summary"]
        events = row.details["eventCount"]
        assert (row.goal, row.title, row.provider, row.model, row.steps, events) == tuple(
            summary[key] for key in ("goal", "title", "provider", "model", "stepsCompleted", "eventCount")
        )
        newest_first = [(change["path"], change["action"]) for change in summary["recentChanges"]]
        ours = [(change["path"], change["action"]) for change in row.details.get("filesChanged", ())]
        assert sorted(ours) == sorted(newest_first)


@pytest.mark.parametrize("session_id", LAST_ACTIVITY)
def test_what_others_write_into_the_log_is_no_activity(session_id: str, scan_real: Scanner) -> None:
    scan_real()
    row = Session.objects.get(session_id=session_id)
    assert row.last_activity_at is not None
    assert row.last_activity_at.isoformat() == LAST_ACTIVITY[session_id]


def test_capabilities_and_constraints_come_from_the_runtime_configuration(scan_real: Scanner) -> None:
    scan_real()
    danger = Session.objects.get(session_id="arduino-longjob")
    web = Session.objects.get(session_id=WEB)
    assert danger.capabilities == ["shell", "files", "web-search"]
    assert web.capabilities == ["shell", "files", "web-search", "mcp"]
    assert danger.constraints == [
        "permissionMode=danger",
        "sandboxMode=host",
        "packageInstallPolicy=allow",
        "workspaceWritePolicy=allow",
    ]
    assert web.constraints[0] == "permissionMode=normal"
    assert web.constraints[-3:] == ["no-passwords", "no-destructive", "no-outside-workspace"]


def test_the_last_doings_are_there_with_their_events(scan_real: Scanner) -> None:
    scan_real()
    blocked = Session.objects.get(session_id="kv260-blocked").details["blocked"]
    assert (blocked["tool"], blocked["category"], blocked["type"]) == ("write_file", "workspace-path", "tool.blocked")
    job = Session.objects.get(session_id="arduino-longjob").details["jobs"][0]
    assert (job["name"], job["output"], job["at"]) == (
        "mock-long-job",
        "mock-long-job-output.txt",
        "2026-11-30T19:28:14.860Z",
    )
    rejected = Session.objects.get(session_id="supervisor-gated").details["rejected"]
    assert rejected["reason"].startswith("Missing evidence categories")


def test_roots_are_in_the_private_table_only(real: Fixture, scan_real: Scanner) -> None:
    scan_real()
    roots = queries.roots("kv260-scs")
    assert roots is not None
    assert roots.project_root == str(real.projects / "event-camera")
    assert roots.session_dir == str(real.home / "sessions" / "kv260-scs")
    shown = [str(value) for row in Session.objects.values() for value in row.values()]
    assert not [text for text in shown if str(real.projects) in text or str(real.home) in text]
    assert SessionRoots.objects.count() == 14


def test_sessions_of_one_project_have_one_key(scan_real: Scanner) -> None:
    scan_real()
    keys = {name: set[str]() for name in ("event-camera", "arduino-light", "supervisor-desk")}
    for row in Session.objects.all():
        keys[row.project_name].add(row.project_key)
    assert [len(found) for found in keys.values()] == [1, 1, 1]
    assert len(set.union(*keys.values())) == 3


def test_without_the_index_the_pointer_gives_the_project_root(real: Fixture) -> None:
    (real.home / "sessions" / "index.sqlite").unlink()
    facts = {found.session_id: found for found in AgInTiFlow(real.home).discover()}
    assert len(facts) == 14
    assert facts["kv260-scs"].project_root == str(real.projects / "event-camera")


def test_everything_stored_went_through_the_redactor(real: Fixture, scan_real: Scanner) -> None:
    presence.scan(clean=lambda text: text.replace("Mock run complete", "[HIDDEN]"))
    assert "[HIDDEN]" in Session.objects.get(session_id="kv260-scs").result
    shown = "".join(str(row) for row in Session.objects.values())
    assert "Mock run complete" not in shown


def test_events_carry_the_data_unmodified(real: Fixture) -> None:
    for folder in (real.home / "sessions").iterdir():
        if folder.is_dir():
            raw = (folder / "events.jsonl").read_bytes()
            found = list(AgInTiFlow(real.home).events(folder.name))
            assert [{"timestamp": e.timestamp, "type": e.type, "data": e.data} for e in found] == [
                json.loads(piece) for piece in raw.split(b"\n") if piece
            ]
            assert found[-1].end == len(raw)
            assert all(raw[e.offset : e.end].endswith(b"\n") and raw[e.offset : e.offset + 1] == b"{" for e in found)


def test_reading_the_home_leaves_every_file_of_it_as_it_was(real: Fixture, scan_real: Scanner) -> None:
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in real.home.rglob("*") if path.is_file()}
    scan_real()
    scan_real()
    after = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in real.home.rglob("*") if path.is_file()}
    # A read-only open of a WAL database makes these two; that is SQLite's own doing.
    extra = {path.name for path in after.keys() - before.keys()}
    assert extra <= {"index.sqlite-wal", "index.sqlite-shm"}
    assert {path: after[path] for path in before} == before
