"""Evidence at the edges, on the real fixture home: artifacts, files and URLs, and what the checks say of them."""

from __future__ import annotations

import http.server
import os
import threading
from pathlib import Path

import pytest

from boards import discovery, proof, telling
from boards.models import Event, Evidence, Summary
from tests.fixtures import Fixture, unpack
from tests.people import done, give, people

pytestmark = pytest.mark.django_db


@pytest.fixture
def scene(settings, tmp_path):
    """The fixture home, and a board ``b`` with three of its sessions and one contract."""
    fixture = unpack(tmp_path)
    settings.AGINTIFLOW_HOME = fixture.home
    who = people()
    discovery.scan_once()
    sessions = ("kv260-recorder", "arduino-patch", "kv260-blocked")
    done("create_board", who.human, title="b", members=dict.fromkeys(sessions, "worker"))
    wish = {"objective": "Record", "owners": {"kv260-recorder": []}, "requiredEvidence": ["the notes"]}
    done("propose_contract", who.human, boardId="b", contractId="c", **wish)
    return who, fixture


WISH = {"board_id": "b", "contract_id": "c", "requirement_id": "proof-1", "summary": "the notes"}


def judged(receipt) -> Evidence:
    """The bundle behind a receipt."""
    assert receipt.outcome == "applied", receipt
    return Evidence.objects.get(pk=receipt.entity["id"])


def workspace_file(session_id: str) -> str:
    """The id of the session's newest artifact that is a file of its project."""
    items = proof.artifacts(session_id).items
    return next(item.id for item in items if item.source == "workspace-file")


def test_an_artifact_of_a_session_is_attached_with_its_event_and_file_and_checked(scene):
    who, _ = scene
    artifact_id = workspace_file("kv260-recorder")
    bundle = judged(proof.attach_artifact(who.human, session_id="kv260-recorder", artifact_id=artifact_id, **WISH))
    assert bundle.verdict == "verified", bundle.checks
    assert bundle.events[0]["eventType"] == "file.changed"
    assert bundle.artifacts[0]["root"] == "project"
    assert bundle.artifacts[0]["path"] == "recordings/run001-notes.md" and bundle.artifacts[0]["sha256"]
    assert {line["name"] for line in bundle.checks} == {"event", "file", "size", "sha256"}


def test_a_file_that_changed_after_it_was_attached_is_found_by_checking_again(scene):
    who, fixture = scene
    artifact_id = workspace_file("kv260-recorder")
    bundle = judged(proof.attach_artifact(who.human, session_id="kv260-recorder", artifact_id=artifact_id, **WISH))
    (fixture.projects / "event-camera" / bundle.artifacts[0]["path"]).write_text("something else\n")
    proof.recheck("b", bundle.evidence_id)
    bundle.refresh_from_db()
    assert bundle.verdict == "rejected"
    assert any(line["name"] == "sha256" and line["verdict"] == "rejected" for line in bundle.checks)


def test_a_file_that_is_gone_is_attached_as_named_and_rejected_by_its_check(scene):
    who, fixture = scene
    artifact_id = workspace_file("kv260-recorder")
    (fixture.projects / "event-camera" / "recordings" / "run001-notes.md").unlink()
    bundle = judged(proof.attach_artifact(who.human, session_id="kv260-recorder", artifact_id=artifact_id, **WISH))
    assert bundle.verdict == "rejected"


def test_evidence_older_than_the_claim_is_stale_and_a_person_may_still_vouch_for_it(scene):
    who, _ = scene
    done("accept_contract", who.human, boardId="b", contractId="c", node="kv260-recorder")
    done("claim_task", who.human, boardId="b", taskId="c", node="kv260-recorder")
    artifact_id = workspace_file("kv260-recorder")
    from boards.schemas import Actor

    agent = Actor("kv260-recorder", "cli")
    bundle = judged(proof.attach_artifact(agent, session_id="kv260-recorder", artifact_id=artifact_id, **WISH))
    assert bundle.verdict == "stale"
    done("verify_evidence", who.human, boardId="b", evidenceId=bundle.evidence_id)
    assert proof.recheck("b", bundle.evidence_id).outcome == "already_applied"
    bundle.refresh_from_db()
    assert (bundle.verdict, bundle.judged_by) == ("verified", who.human.node_id)


def test_a_file_by_path_must_lie_inside_a_members_project(scene, tmp_path):
    who, fixture = scene
    inside = fixture.projects / "event-camera" / "README.md"
    assert judged(proof.attach_file(who.human, path=str(inside), **WISH)).verdict == "verified"
    before = Event.objects.count()
    outside = tmp_path / "secret.txt"
    outside.write_text("x")
    (fixture.projects / "event-camera" / "link").symlink_to(outside)
    sibling = fixture.projects / "event-camera-secret"
    sibling.mkdir()
    (sibling / "a").write_text("x")
    for path in (outside, "/etc/passwd", "../../etc/passwd", sibling / "a", fixture.projects / "event-camera" / "link"):
        receipt = proof.attach_file(who.human, path=str(path), **WISH)
        assert receipt.outcome == "rejected" and receipt.detail, path
    assert Event.objects.count() == before


def test_a_fifo_does_not_hang_and_is_no_evidence(scene):
    who, fixture = scene
    os.mkfifo(fixture.projects / "event-camera" / "pipe")
    bundle = judged(proof.attach_file(who.human, path=str(fixture.projects / "event-camera" / "pipe"), **WISH))
    assert bundle.verdict == "rejected"


def test_a_loopback_url_that_answers_is_verified_and_any_other_is_not(scene):
    who, _ = scene

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            """Quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        assert judged(proof.attach_url(who.human, url=url, **WISH)).verdict == "verified"
        server.shutdown()
    elsewhere = judged(proof.attach_url(who.human, url="https://ci.example.org/run/7", **WISH))
    assert elsewhere.verdict == "unverified"
    private = judged(proof.attach_url(who.human, url="http://169.254.169.254/latest", **WISH))
    assert private.verdict == "unavailable" and "169.254" not in private.url
    bad = judged(proof.attach_url(who.human, url="http://0177.0.0.1:8000/", **WISH))
    assert bad.verdict == "rejected"


def test_prose_alone_stays_unverified(scene):
    who, _ = scene
    assert judged(proof.attach_text(who.human, **WISH)).verdict == "unverified"


def test_a_blockers_evidence_may_be_a_failed_event(scene):
    who, _ = scene
    blocked = next(e for e in _events("kv260-blocked") if e.type == "tool.blocked")
    pointer = {"sessionId": "kv260-blocked", "eventType": blocked.type, "timestamp": blocked.timestamp}
    wish = {"boardId": "b", "contractId": "c", "summary": "it was blocked", "events": [pointer]}
    as_blocker = done("attach_evidence", who.human, standsFor="blocker", **wish)
    proof.recheck("b", as_blocker.extra["evidenceId"])
    assert Evidence.objects.get(pk=as_blocker.extra["evidenceId"]).verdict == "verified"
    as_proof = done("attach_evidence", who.human, requirementId="proof-1", **wish)
    proof.recheck("b", as_proof.extra["evidenceId"])
    assert Evidence.objects.get(pk=as_proof.extra["evidenceId"]).verdict == "rejected"


def _events(session_id: str):
    from peers.adapters import adapter

    return list(adapter("agintiflow").events(session_id))


def test_artifacts_of_a_session_outside_the_board_cannot_be_attached(scene):
    who, _ = scene
    artifact_id = workspace_file("supervisor-main") if _has_file("supervisor-main") else "x"
    receipt = proof.attach_artifact(who.human, session_id="supervisor-main", artifact_id=artifact_id, **WISH)
    assert receipt.code == "not_a_member"
    unknown = proof.attach_artifact(who.human, session_id="kv260-recorder", artifact_id="nope", **WISH)
    assert unknown.code == "unknown_artifact"


def _has_file(session_id: str) -> bool:
    return any(item.source == "workspace-file" for item in proof.artifacts(session_id).items)


def test_a_summary_has_a_fixed_shape_is_small_and_each_line_names_its_event(scene):
    who, _ = scene
    done_receipt = telling.summarize(who.human, board_id="b", node="kv260-recorder")
    assert done_receipt.outcome == "applied", done_receipt
    row = Summary.objects.get(node_id="kv260-recorder")
    assert len(row.text.encode()) <= 8_192
    assert row.summary["node"] == "kv260-recorder"
    for line in [*row.summary["done"], *row.summary["filesChanged"]]:
        assert line["event"]["type"] and line["event"]["timestamp"]
    raw = "Mock mode will exercise a guarded workspace file tool"
    assert raw not in row.text, "a summary never holds raw messages"
    assert telling.summarize(who.human, board_id="b", node="mallory").code == "no_session"


def test_no_absolute_path_of_this_machine_reaches_an_event(scene, tmp_path):
    who, fixture = scene
    artifact_id = workspace_file("kv260-recorder")
    proof.attach_artifact(who.human, session_id="kv260-recorder", artifact_id=artifact_id, **WISH)
    telling.summarize(who.human, board_id="b", node="kv260-recorder")
    give("send_message", who.human, boardId="b", to=["kv260-recorder"], content=f"see {Path.home()}/private/notes.txt")
    stored = "".join(Event.objects.values_list("data", flat=True))
    assert str(fixture.projects) not in stored and str(fixture.home) not in stored and str(Path.home()) not in stored


def test_the_fixture_is_what_it_says(scene):
    _, fixture = scene
    assert isinstance(fixture, Fixture) and len(list((fixture.home / "sessions").glob("*/state.json"))) == 14
    assert Event.objects.filter(type="agentlink.peer.discovered").count() == 14
    discovery.scan_once()
    assert Event.objects.filter(type="agentlink.peer.discovered").count() == 14
