"""Commands: the exact events, the five outcomes, and what a refusal leaves behind (nothing)."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from boards import log
from boards.models import Contract, Delivery, Event, Message, StoredReceipt, Task
from boards.queries.needs import needs
from boards.schemas import Actor
from tests.people import board, claim, contract, done, evidence, give, people

pytestmark = pytest.mark.django_db


def types(board_id: str) -> list[str]:
    """The types of a board's events, in order, without their prefix."""
    rows = Event.objects.filter(stream=board_id).order_by("revision").values_list("type", flat=True)
    return [name.removeprefix("agentlink.") for name in rows]


def test_creating_a_board_invites_everybody_named():
    who = people()
    board_id = board(who, title="Event camera")
    assert board_id == "event-camera"
    assert types(board_id) == ["board.created", "board.invited", "board.invited"]


def test_a_taken_title_gets_a_number_and_a_taken_id_is_a_conflict():
    who = people()
    assert [board(who, title="Same"), board(who, title="Same")] == ["same", "same-2"]
    receipt = give("create_board", who.human, title="Other", boardId="same")
    assert (receipt.outcome, receipt.code) == ("conflict", "board_exists")


def test_the_same_key_gives_the_first_result_and_acts_once():
    who = people()
    first = done("create_board", who.human, key="k", title="Once")
    again = give("create_board", who.human, key="k", title="Once")
    assert again.outcome == "already_applied"
    assert (again.board_id, again.events) == (first.board_id, first.events)
    assert types("once") == ["board.created"]


def test_the_same_key_with_other_content_is_refused():
    who = people()
    done("create_board", who.human, key="k", title="Once")
    receipt = give("create_board", who.human, key="k", title="Twice")
    assert (receipt.outcome, receipt.code) == ("rejected", "key_reused")


def test_one_key_of_two_actors_are_two_wishes():
    who = people()
    assert done("create_board", who.alice, key="k", title="One").board_id == "one"
    assert done("create_board", who.bob, key="k", title="Two").board_id == "two"


def test_a_refused_command_may_be_tried_again_with_its_key():
    who = people()
    board_id = board(who)
    wish = {"boardId": board_id, "node": "mallory"}
    assert give("invite", who.alice, key="k", **wish).code == "role_too_low"
    done("update_node", who.human, nodeId="mallory", role="tester")
    done("invite", who.human, key="k", **wish)


def test_a_contract_is_accepted_when_its_last_owner_accepts():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, owners={"alice": ["a"], "bob": ["b"]})
    assert Contract.objects.get(pk=contract_id).status == "proposed"
    done("accept_contract", who.bob, board_id=board_id, contract_id=contract_id)
    assert Contract.objects.get(pk=contract_id).status == "accepted"
    assert types(board_id)[3:] == [
        "contract.proposed",
        "message.sent",
        "contract.accepted",
        "message.acknowledged",
        "message.sent",
        "contract.accepted",
        "message.acknowledged",
        "message.sent",
    ]


def test_an_owners_own_acceptance_answers_the_proposal_and_one_entered_for_it_does_not(clock):
    who = people()
    board_id = board(who)
    wish = {"board_id": board_id, "objective": "X", "owners": {"alice": [], "bob": []}}
    contract_id = done("propose_contract", who.human, **wish).entity["id"]
    message_id = Message.objects.get(message_type="contract_proposed").message_id
    service = Actor("agentlink", "timer")
    for name in ("alice", "bob"):
        done("record_step", service, board_id=board_id, message_id=message_id, node_id=name, step="handed")
    done("accept_contract", who.alice, board_id=board_id, contract_id=contract_id)
    done("accept_contract", who.human, board_id=board_id, contract_id=contract_id, node="bob")
    steps = dict(Delivery.objects.filter(message_id=message_id).values_list("node_id", "step"))
    assert steps == {"alice": "acknowledged", "bob": "handed"}
    clock.move(3600)
    assert [need for need in needs(clock(), board_id) if need.message_id == message_id] == []


def test_accepting_another_text_than_the_present_one_is_a_conflict():
    who = people()
    board_id = board(who)
    receipt = done("propose_contract", who.human, board_id=board_id, objective="X", owners={"alice": []})
    contract_id = receipt.entity["id"]
    stale = give("accept_contract", who.alice, board_id=board_id, contract_id=contract_id, text_revision=2)
    assert (stale.outcome, stale.code) == ("conflict", "text_changed")


def test_a_rejected_contract_cannot_be_claimed_and_says_why():
    who = people()
    board_id = board(who)
    receipt = done("propose_contract", who.human, board_id=board_id, objective="X", owners={"alice": []})
    contract_id = receipt.entity["id"]
    done("reject_contract", who.alice, board_id=board_id, contract_id=contract_id, reason="busy")
    refused = give("claim_task", who.alice, board_id=board_id, task_id=contract_id)
    assert (refused.outcome, refused.code) == ("rejected", "contract_not_accepted")
    assert "rejected" in refused.detail


def test_only_owners_may_claim_and_the_loser_is_told_who_holds_it():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, owners={"alice": [], "bob": []})
    done("accept_contract", who.bob, board_id=board_id, contract_id=contract_id)
    assert claim(who, board_id, contract_id) == 1
    lost = give("claim_task", who.bob, board_id=board_id, task_id=contract_id)
    assert (lost.outcome, lost.code) == ("conflict", "already_claimed")
    assert lost.current["holder"] == "alice" and lost.current["leaseUntil"] and lost.current["revision"]
    assert "alice" in lost.detail
    outsider = give("claim_task", who.mallory, board_id=board_id, task_id=contract_id)
    assert outsider.code == "not_a_member"


def test_a_holders_second_claim_changes_nothing():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    claim(who, board_id, contract_id)
    before = Task.objects.get(pk=contract_id).lease_until
    assert give("claim_task", who.alice, board_id=board_id, task_id=contract_id).outcome == "already_applied"
    assert Task.objects.get(pk=contract_id).lease_until == before


def test_a_stale_card_cannot_act_and_is_told_what_changed():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, owners={"alice": [], "bob": []})
    seen = done("accept_contract", who.bob, board_id=board_id, contract_id=contract_id).revision
    claim(who, board_id, contract_id)
    stale = give("claim_task", who.bob, board_id=board_id, task_id=contract_id, expect=seen)
    assert (stale.outcome, stale.code) == ("conflict", "stale_view")
    assert [change["type"] for change in stale.current["changes"]] == ["agentlink.task.claimed"]
    assert "alice" in stale.detail


def test_a_message_elsewhere_does_not_fail_a_claim():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    seen = log.head(board_id)[0]
    done("send_message", who.bob, board_id=board_id, to=["alice"], content="hello", type="status_request")
    done("claim_task", who.alice, board_id=board_id, task_id=contract_id, expect=seen)


def test_a_lease_is_active_until_exactly_its_end_and_its_expiry_is_an_event(clock):
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, owners={"alice": [], "bob": []})
    done("accept_contract", who.bob, board_id=board_id, contract_id=contract_id)
    done("claim_task", who.alice, board_id=board_id, task_id=contract_id, lease_seconds=60)
    clock.move(59.999)
    assert give("claim_task", who.bob, board_id=board_id, task_id=contract_id).outcome == "conflict"
    clock.move(0.001)
    won = done("claim_task", who.bob, board_id=board_id, task_id=contract_id)
    assert won.extra["fencing"] == 2
    assert types(board_id)[-3:-1] == ["task.expired", "task.claimed"]


def test_a_holder_that_wakes_after_its_lease_gets_a_conflict_on_every_write(clock):
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    fencing = claim(who, board_id, contract_id)
    clock.move(3600)
    for kind in ("renew_task", "release_task", "complete_task"):
        receipt = give(kind, who.alice, board_id=board_id, task_id=contract_id, fencing=fencing)
        assert (receipt.outcome, receipt.code) == ("conflict", "not_held"), kind


def test_an_old_fencing_number_is_refused_after_a_new_claim():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    old = claim(who, board_id, contract_id)
    done("release_task", who.alice, board_id=board_id, task_id=contract_id, fencing=old)
    new = claim(who, board_id, contract_id)
    assert new == old + 1
    assert give("renew_task", who.alice, board_id=board_id, task_id=contract_id, fencing=old).code == "fenced"
    assert give("renew_task", who.alice, board_id=board_id, task_id=contract_id).code == "fencing_required"
    done("renew_task", who.alice, board_id=board_id, task_id=contract_id, fencing=new)


def test_renewing_never_makes_a_running_lease_shorter():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    fencing = claim(who, board_id, contract_id)
    before = Task.objects.get(pk=contract_id).lease_until
    done("renew_task", who.alice, board_id=board_id, task_id=contract_id, fencing=fencing, lease_seconds=60)
    assert Task.objects.get(pk=contract_id).lease_until >= before


@pytest.mark.parametrize("seconds", [59, 86_401, 0, -1])
def test_a_lease_outside_its_limits_is_refused(seconds):
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    receipt = give("claim_task", who.alice, board_id=board_id, task_id=contract_id, lease_seconds=seconds)
    assert receipt.code == "bad_lease"


def test_the_human_may_act_for_a_session_and_the_log_names_both():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    done("claim_task", who.human, board_id=board_id, task_id=contract_id, node="alice")
    event = Event.objects.get(type="agentlink.task.claimed")
    assert event.actor == who.human.node_id
    assert '"nodeId":"alice"' in event.data


def test_no_agent_may_act_for_another():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    receipt = give("claim_task", who.bob, board_id=board_id, task_id=contract_id, node="alice")
    assert (receipt.outcome, receipt.code) == ("rejected", "not_yours")


def test_completing_needs_verified_evidence_for_each_requirement():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, required_evidence=["the file", "the log"])
    fencing = claim(who, board_id, contract_id)
    evidence(who, board_id, contract_id, requirement_id="proof-1")
    evidence(who, board_id, contract_id, requirement_id="proof-2", verified=False)
    refused = give("complete_task", who.alice, board_id=board_id, task_id=contract_id, fencing=fencing)
    assert (refused.outcome, refused.code) == ("rejected", "gate_not_ready")
    assert "the log" in refused.detail and "the file" not in refused.detail
    evidence(who, board_id, contract_id, requirement_id="proof-2")
    done("complete_task", who.alice, board_id=board_id, task_id=contract_id, fencing=fencing)
    assert Contract.objects.get(pk=contract_id).outcome == "completed"
    closed = done("close_board", who.human, board_id=board_id)
    assert closed.entity["type"] == "board"


def test_a_claim_or_prose_is_no_evidence():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    fencing = claim(who, board_id, contract_id)
    done("send_message", who.alice, board_id=board_id, to=[who.human.node_id], type="task_done", content="All done!")
    assert (
        give("complete_task", who.alice, board_id=board_id, task_id=contract_id, fencing=fencing).code
        == "gate_not_ready"
    )
    assert give("close_board", who.human, board_id=board_id).code == "gate_not_ready"


def test_nobody_verifies_their_own_bundle():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    evidence_id = evidence(who, board_id, contract_id, verified=False)
    done("invite", who.human, board_id=board_id, node="alice", role="supervisor")
    assert give("verify_evidence", who.alice, board_id=board_id, evidence_id=evidence_id).code == "own_evidence"
    assert give("verify_evidence", who.bob, board_id=board_id, evidence_id=evidence_id).code == "role_too_low"


def test_an_open_blocker_with_verified_evidence_stands_in_for_a_missing_proof():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, required_evidence=["the file"], stop_conditions=["device busy"])
    fencing = claim(who, board_id, contract_id)
    proof = evidence(who, board_id, contract_id, stands_for="blocker")
    bare = done("open_blocker", who.alice, board_id=board_id, contract_id=contract_id, summary="stuck")
    assert (
        give("complete_task", who.alice, board_id=board_id, task_id=contract_id, fencing=fencing).code
        == "gate_not_ready"
    )
    done("resolve_blocker", who.human, board_id=board_id, blocker_id=bare.extra["blockerId"], resolution="not it")
    done(
        "open_blocker",
        who.alice,
        board_id=board_id,
        contract_id=contract_id,
        summary="busy",
        stop_condition_id="stop-1",
        evidence_ids=[proof],
    )
    assert Contract.objects.get(pk=contract_id).status == "blocked"
    done("complete_task", who.alice, board_id=board_id, task_id=contract_id, fencing=fencing)
    done("close_board", who.human, board_id=board_id)
    from boards.models import Board

    assert Board.objects.get(pk=board_id).final_status == "finished_blocked"


def test_a_met_stop_condition_blocks_the_contract_until_it_is_resolved():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, stop_conditions=["device busy"])
    opened = done(
        "open_blocker",
        who.alice,
        board_id=board_id,
        contract_id=contract_id,
        stop_condition_id="stop-1",
        summary="busy",
    )
    assert give("claim_task", who.alice, board_id=board_id, task_id=contract_id).code == "contract_not_accepted"
    done("resolve_blocker", who.human, board_id=board_id, blocker_id=opened.extra["blockerId"], resolution="free again")
    claim(who, board_id, contract_id)


def test_a_closed_board_is_read_only():
    who = people()
    board_id = board(who)
    done("close_board", who.human, board_id=board_id)
    receipt = give("propose_contract", who.human, board_id=board_id, objective="late")
    assert (receipt.outcome, receipt.code) == ("rejected", "board_closed")


def test_an_unknown_recipient_names_the_nearest_and_stores_nothing():
    who = people()
    board_id = board(who)
    before = log.last_position()
    receipt = give("send_message", who.human, board_id=board_id, to=["alcie"], content="hi")
    assert (receipt.outcome, receipt.code) == ("rejected", "unknown_peer")
    assert receipt.extra["nearest"][0] == "alice"
    assert log.last_position() == before and not Message.objects.exists()


def test_acknowledging_twice_records_once():
    who = people()
    board_id = board(who)
    sent = done("send_message", who.human, board_id=board_id, to=["alice"], content="do it")
    wish = {"board_id": board_id, "message_id": sent.extra["messageId"]}
    done("acknowledge_message", who.alice, answer="read", **wish)
    assert give("acknowledge_message", who.alice, answer="read", **wish).outcome == "already_applied"
    done("acknowledge_message", who.alice, answer="accepted", **wish)
    assert give("acknowledge_message", who.alice, answer="blocked", **wish).outcome == "conflict"
    assert give("acknowledge_message", who.bob, answer="read", **wish).code == "not_addressed"
    assert Event.objects.filter(type="agentlink.message.acknowledged").count() == 2


def test_the_human_cannot_acknowledge_for_a_peer():
    who = people()
    board_id = board(who)
    sent = done("send_message", who.bob, board_id=board_id, to=["alice"], content="do it")
    receipt = give(
        "acknowledge_message", who.human, board_id=board_id, message_id=sent.extra["messageId"], answer="read"
    )
    assert receipt.code == "not_addressed"


def test_withdrawing_takes_back_only_what_was_not_handed():
    who = people()
    board_id = board(who)
    sent = done("send_message", who.human, board_id=board_id, to=["alice", "bob"], content="do it")
    message_id = sent.extra["messageId"]
    service = Actor("agentlink", "timer")
    done("record_step", service, board_id=board_id, message_id=message_id, node_id="bob", step="handed")
    done("withdraw_message", who.human, board_id=board_id, message_id=message_id)
    steps = dict(Delivery.objects.filter(message_id=message_id).values_list("node_id", "step"))
    assert steps == {"alice": "withdrawn", "bob": "handed"}
    again = give("withdraw_message", who.human, board_id=board_id, message_id=message_id)
    assert (again.outcome, again.code) == ("conflict", "already_handed")


def test_steps_are_recorded_once_and_never_go_backwards():
    who = people()
    board_id = board(who)
    sent = done("send_message", who.human, board_id=board_id, to=["alice"], content="do it")
    service = Actor("agentlink", "timer")
    copy = {"board_id": board_id, "message_id": sent.extra["messageId"], "node_id": "alice"}
    done("record_step", service, step="applied", **copy)
    done("record_step", service, step="handed", **copy)
    assert give("record_step", service, step="applied", **copy).outcome == "already_applied"
    assert give("record_step", service, step="expired", **copy).outcome == "already_applied"
    assert Delivery.objects.get(node_id="alice").step == "applied"


@pytest.mark.parametrize("kind", ["record_step", "record_checks", "expire_task", "discover_peers", "create_identity"])
def test_what_agentlink_finds_out_cannot_be_sent_in(kind):
    who = people()
    board_id = board(who)
    fields = {
        "record_step": {"boardId": board_id, "messageId": "m", "nodeId": "alice", "step": "applied"},
        "record_checks": {"boardId": board_id, "evidenceId": "e", "checks": [], "verdict": "verified"},
        "expire_task": {"boardId": board_id, "taskId": "t"},
        "discover_peers": {"sessions": []},
        "create_identity": {"nodeId": "x", "name": "x", "nodeKind": "human"},
    }[kind]
    assert give(kind, who.human, **fields).code == "not_allowed"


def test_limits_are_sentences_that_say_the_limit(clock):
    who = people()
    board_id = board(who)
    wish = {"board_id": board_id, "to": ["alice"], "type": "status_response"}
    done("send_message", who.bob, content="same", **wish)
    assert give("send_message", who.bob, content="same", **wish).code == "same_text"
    for number in range(19):
        done("send_message", who.bob, content=str(number), **wish)
    burst = give("send_message", who.bob, content="one more", **wish)
    assert burst.code == "too_many_messages" and "20" in burst.detail
    clock.move(11)
    for number in range(5):
        done("send_message", who.bob, board_id=board_id, to=["alice"], content=f"do {number}", type="task_request")
    full = give("send_message", who.bob, board_id=board_id, to=["alice"], content="do 6", type="task_request")
    assert full.code == "too_many_unanswered" and "5" in full.detail
    assert give("send_message", who.bob, board_id=board_id, to=["bob"], content="me").code == "to_oneself"


def test_a_chain_of_replies_between_agents_ends_by_itself(clock):
    who = people()
    board_id = board(who)
    last = done("send_message", who.alice, board_id=board_id, to=["bob"], content="0", type="status_response")
    sides = [(who.bob, "alice"), (who.alice, "bob")]
    for hop in range(8):
        clock.move(4)
        sender, to = sides[hop % 2]
        wish = {"to": [to], "content": str(hop + 1), "type": "status_response", "reply_to": last.extra["messageId"]}
        last = done("send_message", sender, board_id=board_id, **wish)
    clock.move(4)
    wish = {"to": ["alice"], "content": "9", "type": "status_response", "reply_to": last.extra["messageId"]}
    assert give("send_message", who.bob, board_id=board_id, **wish).code == "too_many_hops"


def test_a_task_request_under_a_mutating_contract_needs_the_recipients_acceptance():
    who = people()
    board_id = board(who)
    receipt = done("propose_contract", who.human, board_id=board_id, objective="X", owners={"alice": []}, mutating=True)
    wish = {"board_id": board_id, "to": ["alice"], "content": "go", "contract_id": receipt.entity["id"]}
    assert give("send_message", who.human, **wish).code == "contract_not_accepted"
    done("accept_contract", who.alice, board_id=board_id, contract_id=receipt.entity["id"])
    done("send_message", who.human, **wish)


def test_an_observer_may_ask_for_status_and_answer_no_more():
    who = people()
    board_id = board(who, members={"alice": "worker", "mallory": "observer"})
    wish = {"board_id": board_id, "to": ["alice"], "content": "how is it?"}
    done("send_message", who.mallory, type="status_request", **wish)
    assert give("send_message", who.mallory, type="task_request", **wish).code == "role_too_low"
    assert give("propose_contract", who.mallory, board_id=board_id, objective="X").code == "role_too_low"


def test_joining_needs_an_invitation_and_leaving_needs_empty_hands():
    who = people()
    board_id = board(who)
    assert give("join_board", who.mallory, board_id=board_id).code == "not_a_member"
    done("join_board", who.alice, board_id=board_id)
    contract_id = contract(who, board_id)
    fencing = claim(who, board_id, contract_id)
    assert give("leave_board", who.alice, board_id=board_id).code == "holds_tasks"
    done("release_task", who.alice, board_id=board_id, task_id=contract_id, fencing=fencing)
    done("leave_board", who.alice, board_id=board_id)
    assert give("send_message", who.alice, board_id=board_id, to=["bob"], content="hi").code == "not_a_member"


def test_names_are_unique_without_regard_to_case_and_ascii():
    who = people()
    assert give("register_node", who.human, name="ALICE").code == "name_taken"
    assert give("register_node", who.human, name="supervis\u043er").code == "bad_name"
    assert give("register_node", who.alice, name="other").code == "not_yours"


def test_secrets_are_masked_before_anything_is_stored():
    who = people()
    board_id = board(who)
    secret = "ghp_" + "a1B2" * 9
    done("send_message", who.human, board_id=board_id, to=["alice"], content=f"use {secret}", key="k")
    stored = "".join(Event.objects.values_list("data", flat=True)) + Message.objects.get().content
    assert secret not in stored
    assert '"redacted":' in Event.objects.get(type="agentlink.message.sent").origin


def test_with_mode_off_nothing_is_written(settings):
    who = people()
    settings.AGENTLINK = settings.AGENTLINK.model_copy(update={"mode": "off"})
    assert give("create_board", who.human, title="X").code == "mode_off"


def test_an_over_long_key_is_refused():
    who = people()
    assert give("create_board", who.human, key="k" * 201, title="X").code == "bad_key"


def test_an_id_that_looks_like_a_secret_is_refused():
    who = people()
    receipt = give("create_board", who.human, title="X", boardId="sk-live-abcdefghijklmnop1234567890")
    assert (receipt.outcome, receipt.code) == ("rejected", "secret_id")
    assert "abcdefgh" not in receipt.detail


def test_an_agent_is_not_told_of_boards_that_it_may_not_read():
    who = people()
    done("create_board", who.human, title="private-plan")
    asked = {"boardId": "private-plam", "to": ["alice"], "content": "x"}
    assert give("send_message", who.human, **asked).extra["nearest"] == ["private-plan"]
    refused = give("send_message", who.mallory, **asked)
    assert refused.code == "unknown_board" and "private-plan'" not in refused.detail and not refused.extra


def test_a_time_without_a_zone_is_a_sentence():
    with pytest.raises(ValidationError, match="no zone"):
        give("send_message", people().human, boardId="b", to=["x"], content="x", expiresAt="2030-01-01T00:00:00")


def test_nobody_takes_the_mail_of_a_session_by_calling_itself_like_it(settings, tmp_path):
    from boards import discovery
    from tests.fixtures import unpack

    settings.AGINTIFLOW_HOME = unpack(tmp_path).home
    who = people()
    discovery.scan_once()
    board_id = board(who)
    for name in ("kv260-canvas", "KV260-Canvas"):
        taken = give("update_node", who.alice, nodeId="alice", name=name)
        assert (taken.outcome, taken.code) == ("conflict", "name_taken")
    assert give("register_node", who.human, name="kv260-canvas").code == "name_taken"
    assert give("update_node", who.alice, nodeId="alice", name="bob").code == "name_taken"
    done("send_message", who.human, board_id=board_id, to=["kv260-canvas"], content="for the session")
    assert Message.objects.get().recipients == ["kv260-canvas"]


def test_a_name_in_the_way_does_not_keep_a_session_out():
    from boards.rules.world import Found
    from tests.boards.test_rules import node, world

    squatter = node("mallory")
    squatter.name_key = "kv"
    assert world(squatter, found=Found("kv", "agintiflow", "t")).free_name("kv") == "kv-2"


def test_who_has_left_hears_nothing_more():
    who = people()
    board_id = board(who)
    contract_id = done("propose_contract", who.bob, board_id=board_id, objective="X").entity["id"]
    done("leave_board", who.bob, board_id=board_id)
    done("attach_evidence", who.alice, board_id=board_id, contract_id=contract_id, summary="private")
    assert not [row for row in Message.objects.all() if "bob" in row.recipients]


def test_an_observer_answers_only_what_was_sent_to_it():
    who = people()
    board_id = board(who, members={"alice": "worker", "bob": "worker", "mallory": "observer"})
    wish = {"board_id": board_id, "content": "x", "type": "status_response"}
    theirs = done("send_message", who.alice, board_id=board_id, to=["bob"], content="hello", type="status_request")
    mine = done("send_message", who.alice, board_id=board_id, to=["mallory"], content="you?", type="status_request")
    to_me, not_to_me = mine.extra["messageId"], theirs.extra["messageId"]
    assert give("send_message", who.mallory, to=["alice"], reply_to=not_to_me, **wish).code == "role_too_low"
    assert give("send_message", who.mallory, to=["alice", "bob"], reply_to=to_me, **wish).code == "role_too_low"
    stop = {**wish, "type": "stop_request"}
    assert give("send_message", who.mallory, to=["alice"], reply_to=to_me, **stop).code == "role_too_low"
    done("send_message", who.mallory, to=["alice"], reply_to=to_me, **wish)


def test_a_task_named_alone_brings_its_contract_and_its_rule():
    who = people()
    board_id = board(who)
    wish = {"board_id": board_id, "objective": "X", "owners": {"alice": []}, "mutating": True}
    contract_id = done("propose_contract", who.human, **wish).entity["id"]
    asked = {"board_id": board_id, "to": ["alice"], "content": "go", "task_id": contract_id}
    assert give("send_message", who.human, **asked).code == "contract_not_accepted"
    assert give("send_message", who.human, contract_id="other", **asked).code == "contract_mismatch"


def test_a_chosen_contract_id_cannot_be_the_id_of_a_task():
    who = people()
    receipt = give("propose_contract", who.human, board_id=board(who), objective="X", contractId="xx.1")
    assert (receipt.outcome, receipt.code) == ("rejected", "bad_id")


@pytest.mark.parametrize("extra", [{}, {"requires_ack": False}])
@pytest.mark.parametrize("kind", ["status_request", "task_request"])
def test_requests_without_an_acknowledgement_count_against_the_limit_too(kind, extra, clock):
    who = people()
    board_id = board(who)
    for number in range(5):
        clock.move(4)
        done("send_message", who.bob, board_id=board_id, to=["alice"], content=str(number), type=kind, **extra)
    clock.move(4)
    wish = {"board_id": board_id, "to": ["alice"], "content": "6", "type": kind, **extra}
    assert give("send_message", who.bob, **wish).code == "too_many_unanswered"


def test_what_a_command_says_counts_as_a_message_of_its_agent(clock):
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    wish = {"board_id": board_id, "contract_id": contract_id, "evidenceKind": "statement"}
    clock.move(60)
    outcomes = [give("attach_evidence", who.alice, summary=str(n), **wish).code for n in range(21)]
    assert outcomes == ["ok"] * 20 + ["too_many_messages"]


def test_a_revision_that_does_not_exist_yet_is_refused():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    receipt = give("claim_task", who.alice, board_id=board_id, task_id=contract_id, expect=10**18)
    assert (receipt.outcome, receipt.code) == ("rejected", "future_revision")


def test_a_key_is_stored_as_a_hash_and_a_sentence_repeats_no_secret():
    who = people()
    secret = "ghp_" + "a1B2" * 9
    done("create_board", who.human, title="X", key=secret)
    assert secret not in str(list(StoredReceipt.objects.values()))
    assert give("create_board", who.human, title="X", key=secret).key == secret
    refused = give("send_message", who.human, boardId="x", to=[secret], content="hi")
    assert refused.code == "unknown_peer" and secret not in refused.detail


@pytest.mark.parametrize("fields", [{"leaseSeconds": 10**15}, {"leaseSeconds": -(10**15)}])
def test_a_lease_beyond_all_bounds_is_malformed(fields):
    with pytest.raises(ValidationError):
        give("claim_task", people().human, boardId="b", taskId="t", **fields)


def test_a_time_beyond_all_years_is_malformed():
    wish = {"boardId": "b", "to": ["x"], "content": "x", "expiresAt": "9999-12-31T23:59:59-14:00"}
    with pytest.raises(ValidationError, match="outside the years"):
        give("send_message", people().human, **wish)


def test_a_contract_without_owners_may_be_rejected_until_its_first_claim():
    who = people()
    board_id = board(who)
    first = done("propose_contract", who.human, board_id=board_id, objective="by accident").entity["id"]
    refused = give("reject_contract", who.alice, board_id=board_id, contract_id=first, reason="no")
    assert refused.code == "not_an_owner"
    done("reject_contract", who.human, board_id=board_id, contract_id=first, reason="by accident")
    second = done("propose_contract", who.alice, board_id=board_id, objective="meant").entity["id"]
    done("claim_task", who.bob, board_id=board_id, task_id=second)
    late = give("reject_contract", who.alice, board_id=board_id, contract_id=second, reason="no")
    assert (late.outcome, late.code) == ("conflict", "not_proposed")
