"""Nothing is finished until its proof was read again: every way around the gate that was tried, and is closed."""

from __future__ import annotations

import os

import pytest

from boards import discovery, proof
from boards.models import Board, Evidence, Task
from boards.schemas import Actor
from tests.boards.test_proof import WISH
from tests.fixtures import unpack
from tests.people import board, claim, contract, done, evidence, give, people

pytestmark = pytest.mark.django_db
AGENT = Actor("kv260-recorder", "cli", session_id="kv260-recorder")


@pytest.fixture
def run(settings, tmp_path):
    """A claimed contract of a real session, and a new file in its project."""
    fixture = unpack(tmp_path)
    settings.AGINTIFLOW_HOME = fixture.home
    who = people()
    discovery.scan_once()
    done("create_board", who.human, title="b", members={"kv260-recorder": "worker", "arduino-patch": "worker"})
    wish = {"objective": "Record", "owners": {"kv260-recorder": []}, "requiredEvidence": ["the notes"]}
    done("propose_contract", who.human, boardId="b", contractId="c", **wish)
    done("accept_contract", AGENT, boardId="b", contractId="c")
    return who, fixture.projects / "event-camera" / "new.txt"


def claimed() -> int:
    return int(done("claim_task", AGENT, boardId="b", taskId="c").extra["fencing"])


def attached(path) -> Evidence:
    receipt = proof.attach_file(AGENT, path=str(path), **WISH)
    assert receipt.outcome == "applied" and receipt.entity, receipt
    return Evidence.objects.get(pk=receipt.entity["id"])


def complete(fencing: int):
    return give("complete_task", AGENT, boardId="b", taskId="c", fencing=fencing)


@pytest.mark.parametrize("harm", ["deleted", "changed"])
def test_a_file_that_was_harmed_after_its_check_does_not_finish_a_task(run, harm):
    _, path = run
    fencing = claimed()
    path.write_text("recorded")
    assert attached(path).verdict == "verified"
    path.unlink() if harm == "deleted" else path.write_text("something else")
    refused = complete(fencing)
    assert refused.code == "gate_not_ready" and "rejected" in refused.detail
    assert Evidence.objects.get().verdict == "rejected"


def test_a_file_older_than_the_claim_does_not_finish_it_even_when_attached_before(run):
    _, path = run
    path.write_text("recorded long ago")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    assert attached(path).verdict == "verified"
    fencing = claimed()
    assert complete(fencing).code == "gate_not_ready"
    assert Evidence.objects.get().verdict == "stale"


def test_a_board_does_not_close_on_a_done_contract_whose_proof_is_gone_and_new_proof_mends_it(run):
    who, path = run
    fencing = claimed()
    path.write_text("recorded")
    attached(path)
    assert complete(fencing).outcome == "applied"
    path.write_text("something else")
    refused = give("close_board", who.human, boardId="b")
    assert refused.code == "gate_not_ready"
    attached(path)
    done("close_board", who.human, boardId="b", note="Proved twice.")
    assert Board.objects.get().final_status == "completed" and Board.objects.get().report["note"] == "Proved twice."


def test_an_unchanged_proof_is_read_again_without_a_word(run):
    _, path = run
    fencing = claimed()
    path.write_text("recorded")
    bundle = attached(path)
    assert complete(fencing).outcome == "applied"
    assert Evidence.objects.get().revision == bundle.revision


def test_a_held_task_keeps_a_board_open_even_when_a_proven_blocker_stands_in():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, stop_conditions=["busy"])
    fencing = claim(who, board_id, contract_id)
    proven = evidence(who, board_id, contract_id, stands_for="blocker")
    wish = {"contract_id": contract_id, "stop_condition_id": "stop-1", "evidence_ids": [proven], "summary": "busy"}
    done("open_blocker", who.alice, board_id=board_id, **wish)
    refused = give("close_board", who.human, board_id=board_id)
    assert refused.code == "gate_not_ready" and "held by alice" in refused.detail
    done("release_task", who.alice, board_id=board_id, task_id=contract_id, fencing=fencing)
    done("close_board", who.human, board_id=board_id)
    assert not Task.objects.filter(status="claimed").exists()


def test_a_bundle_whose_check_died_is_checked_later(run, monkeypatch):
    _, path = run
    path.write_text("recorded")
    with monkeypatch.context() as patch:
        patch.setattr(proof, "recheck", lambda *_: None)  # the process died between attaching and checking
        attached(path)
    assert Evidence.objects.get().checks == []
    assert proof.check_pending() == 0, "not while its own process may still be at it"
    moment = proof.now()
    monkeypatch.setattr(proof, "now", lambda: moment + 2 * proof.PENDING)
    assert proof.check_pending() == 1 and proof.check_pending() == 0
    assert Evidence.objects.get().verdict == "verified"


def test_attaching_again_with_one_key_is_the_first_bundle_even_when_the_file_is_gone(run):
    _, path = run
    path.write_text("recorded")
    first = proof.attach_file(AGENT, path=str(path), key="k", **WISH)
    path.unlink()
    again = proof.attach_file(AGENT, path=str(path), key="k", **WISH)
    assert (again.outcome, again.entity) == ("already_applied", first.entity)
    other = proof.attach_file(AGENT, path=str(path) + "x", key="k", **WISH)
    assert other.code == "key_reused"


def test_an_agent_shows_only_what_its_own_session_made(run):
    who, path = run
    other = Actor("arduino-patch", "cli", session_id="arduino-patch")
    path.write_text("recorded")
    items = proof.artifacts("kv260-recorder").items
    artifact = proof.attach_artifact(other, session_id="kv260-recorder", artifact_id=items[0].id, **WISH)
    assert artifact.code == "not_yours"
    assert proof.attach_file(other, path=str(path), **WISH).outcome == "rejected"
    pointer = {"sessionId": "kv260-recorder", "eventType": "file.changed", "timestamp": "2026-11-30T00:00:00.000Z"}
    wish = {"boardId": "b", "contractId": "c", "requirementId": "proof-1", "summary": "s", "events": [pointer]}
    assert give("attach_evidence", other, **wish).code == "not_yours"
    outside = {**pointer, "sessionId": "supervisor-main"}
    assert give("attach_evidence", who.human, **{**wish, "events": [outside]}).code == "not_a_member"
