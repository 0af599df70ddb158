"""A contract's new text and its withdrawal; a task's way from one holder to the next."""

from __future__ import annotations

from typing import Any

import pytest

from boards import log, words
from boards.models import Contract, Delivery, Message, Task
from tests.boards.pages import PERSON
from tests.people import board, claim, contract, done, evidence, give, people

pytestmark = pytest.mark.django_db


def test_an_edit_is_a_new_text_and_every_acceptance_of_the_old_one_lapses():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, owners={"alice": ["x"], "bob": ["y"]})
    done("accept_contract", who.bob, board_id=board_id, contract_id=contract_id)
    assert Contract.objects.get().status == "accepted"
    done("edit_contract", who.human, board_id=board_id, contract_id=contract_id, objective="Record two files")
    row = Contract.objects.get()
    assert (row.objective, row.text_revision, row.status, row.accepted_by) == (
        "Record two files",
        2,
        "proposed",
        [],
    )
    assert row.owners == {"alice": ["x"], "bob": ["y"]}, "what is left out stays"
    old = give("accept_contract", who.alice, board_id=board_id, contract_id=contract_id, text_revision=1)
    assert (old.outcome, old.code) == ("conflict", "text_changed")
    for owner in (who.alice, who.bob):
        done("accept_contract", owner, board_id=board_id, contract_id=contract_id, text_revision=2)
    assert Contract.objects.get().status == "accepted"


def test_an_edit_asks_every_owner_again_with_the_new_text():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    done("edit_contract", who.human, board_id=board_id, contract_id=contract_id, stop_conditions=["it is hot"])
    asked = Message.objects.filter(message_type="contract_proposed").order_by("position")
    assert [row.recipients for row in asked] == [["alice"], ["alice"]]
    assert "it is hot" in asked[1].content


def test_a_proposal_that_no_store_has_got_is_taken_back_by_its_edit():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, owners={"bob": []})
    done("edit_contract", who.human, board_id=board_id, contract_id=contract_id, mutating=True)
    steps = Delivery.objects.filter(node_id="bob").order_by("queued_at").values_list("step", flat=True)
    assert list(steps) == ["withdrawn", "queued"]


def test_nothing_is_edited_while_somebody_works_under_it():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    claim(who, board_id, contract_id)
    edit: dict[str, Any] = {"board_id": board_id, "contract_id": contract_id, "objective": "Something else"}
    refused = give("edit_contract", who.human, **edit)
    assert (refused.outcome, refused.code) == ("conflict", "task_held")
    assert "alice" in refused.detail
    done("release_task", who.alice, board_id=board_id, task_id=contract_id, fencing=1)
    done("edit_contract", who.human, **edit)
    assert Task.objects.get().title == "Something else"
    late = give("claim_task", who.alice, board_id=board_id, task_id=contract_id)
    assert late.code == "contract_not_accepted"


def test_the_list_of_tasks_changes_only_before_anybody_has_begun():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, tasks=["one", "two"])
    done("edit_contract", who.human, board_id=board_id, contract_id=contract_id, tasks=["one", "other", "three"])
    assert list(Task.objects.order_by("task_id").values_list("title", flat=True)) == ["one", "other", "three"]
    done("edit_contract", who.human, board_id=board_id, contract_id=contract_id, tasks=["only"])
    assert list(Task.objects.values_list("task_id", "title")) == [(f"{contract_id}.1", "only")]
    done("accept_contract", who.alice, board_id=board_id, contract_id=contract_id)
    done("claim_task", who.alice, board_id=board_id, task_id=f"{contract_id}.1")
    done("release_task", who.alice, board_id=board_id, task_id=f"{contract_id}.1", fencing=1)
    refused = give("edit_contract", who.human, board_id=board_id, contract_id=contract_id, tasks=["new"])
    assert refused.code == "tasks_begun"


def test_who_is_not_concerned_may_not_edit_and_the_same_text_changes_nothing():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    wish: dict[str, Any] = {"board_id": board_id, "contract_id": contract_id}
    assert give("edit_contract", who.bob, **wish, objective="Mine now").code == "not_yours"
    assert give("edit_contract", who.mallory, **wish, objective="Mine now").code == "not_a_member"
    assert give("edit_contract", who.alice, **wish, required_evidence=[]).code == "not_yours", "an owner alone may not"
    same = give("edit_contract", who.human, **wish, objective="Record one file")
    assert (same.outcome, same.code) == ("already_applied", "nothing_changed")
    assert Contract.objects.get().text_revision == 1


def test_an_edit_from_a_stale_view_is_a_conflict():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, owners={"bob": []})
    seen = done("update_board", who.human, board_id=board_id, objective="x").revision
    done("accept_contract", who.bob, board_id=board_id, contract_id=contract_id)
    stale = give("edit_contract", who.human, expect=seen, board_id=board_id, contract_id=contract_id, objective="Other")
    assert (stale.outcome, stale.code) == ("conflict", "stale_view")


def test_only_the_proposer_or_the_human_withdraws_and_only_what_is_proposed():
    who = people()
    board_id = board(who)
    wish: dict[str, Any] = {"board_id": board_id, "objective": "o", "owners": {"bob": []}}
    contract_id = str((done("propose_contract", who.alice, **wish).entity or {})["id"])
    aim: dict[str, Any] = {"board_id": board_id, "contract_id": contract_id}
    assert give("withdraw_contract", who.bob, **aim).code == "not_yours"
    done("withdraw_contract", who.alice, **aim, reason="a better one follows")
    assert (Contract.objects.get().status, Contract.objects.get().reason) == ("withdrawn", "a better one follows")
    assert give("withdraw_contract", who.alice, **aim).outcome == "already_applied"
    assert give("accept_contract", who.bob, **aim).outcome == "conflict"
    accepted = contract(who, board_id)
    late = give("withdraw_contract", who.human, board_id=board_id, contract_id=accepted)
    assert (late.outcome, late.code) == ("conflict", "not_proposed")


def test_a_task_is_handed_over_only_when_the_named_node_takes_it():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, owners={"alice": [], "bob": []})
    done("accept_contract", who.bob, board_id=board_id, contract_id=contract_id)
    fencing = claim(who, board_id, contract_id)
    task: dict[str, Any] = {"board_id": board_id, "task_id": contract_id}
    early = give("claim_task", who.bob, **task)
    assert (early.outcome, early.code) == ("conflict", "already_claimed")
    offer = done("hand_over_task", who.alice, **task, to="bob", summary="Half is recorded.", fencing=fencing)
    assert offer.extra["offeredTo"] == "bob"
    assert Task.objects.get().holder == "alice", "an offer moves nothing"
    note = Message.objects.get(message_type="handoff_summary")
    assert note.recipients == ["bob"]
    assert "Half is recorded." in note.content
    taken = done("claim_task", who.bob, **task)
    assert taken.extra["fencing"] == fencing + 1
    row = Task.objects.get()
    assert (row.holder, row.last_holder, row.offered_to, row.status) == ("bob", "alice", "", "claimed")
    for kind in ("renew_task", "release_task", "complete_task", "hand_over_task"):
        late = give(kind, who.alice, **task, fencing=fencing)
        assert late.outcome == "conflict", kind
    done("renew_task", who.bob, **task, fencing=fencing + 1)


def test_an_offer_is_for_whom_it_names_and_can_be_taken_back():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, owners={})
    fencing = claim(who, board_id, contract_id)
    task: dict[str, Any] = {"board_id": board_id, "task_id": contract_id, "fencing": fencing}
    assert give("hand_over_task", who.alice, **task, to="bob").code == "summary_missing"
    assert give("hand_over_task", who.alice, **task, to="alice", summary="s").code == "to_oneself"
    assert give("hand_over_task", who.alice, **task, to="mallory", summary="s").code == "role_too_low"
    assert give("hand_over_task", who.bob, **task, to="bob", summary="s").outcome == "conflict"
    done("hand_over_task", who.alice, **task, to="bob", summary="s")
    again = give("hand_over_task", who.alice, **task, to="bob", summary="s")
    assert again.outcome == "already_applied"
    done("hand_over_task", who.alice, **task)
    refused = give("claim_task", who.bob, board_id=board_id, task_id=contract_id)
    assert (refused.outcome, refused.code) == ("conflict", "already_claimed")


def test_a_task_is_not_handed_to_somebody_whom_the_contract_does_not_name():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    fencing = claim(who, board_id, contract_id)
    wish: dict[str, Any] = {"board_id": board_id, "task_id": contract_id, "fencing": fencing}
    assert give("hand_over_task", who.alice, **wish, to="bob", summary="s").code == "not_eligible"


def test_an_offer_ends_with_its_lease(clock):
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, owners={})
    fencing = claim(who, board_id, contract_id)
    wish: dict[str, Any] = {"board_id": board_id, "task_id": contract_id}
    done("hand_over_task", who.alice, **wish, fencing=fencing, to="bob", summary="s")
    clock.move(31 * 60)
    done("claim_task", who.human, **wish, node="alice")
    assert Task.objects.get().offered_to == ""
    assert give("claim_task", who.bob, **wish).code == "already_claimed"


def test_a_full_board_says_its_limit(monkeypatch):
    monkeypatch.setitem(words.BOARD_ROOM, "Contract", ("contracts", 1))
    monkeypatch.setitem(words.BOARD_ROOM, "Member", ("members", 3))
    who = people()
    board_id = board(who)
    contract(who, board_id)
    refused = give("propose_contract", who.human, board_id=board_id, objective="another")
    assert (refused.code, "the limit is 1" in refused.detail) == ("board_full", True)
    refused = give("invite", who.human, board_id=board_id, node="mallory")
    assert refused.code == "board_full"
    assert give("invite", who.human, board_id=board_id, node="bob", role="supervisor").outcome == "applied"


def test_the_page_says_to_whom_a_task_is_offered_and_lets_the_person_enter_the_take_over(client):
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, owners={})
    fencing = claim(who, board_id, contract_id)
    wish: dict[str, Any] = {"board_id": board_id, "task_id": contract_id}
    done("hand_over_task", who.alice, **wish, fencing=fencing, to="bob", summary="s")
    page = client.get(f"/boards/{board_id}/", **PERSON).content.decode()
    assert "Offered to" in page
    form = {"taskId": contract_id, "node": "bob", "expectedRevision": log.head(board_id)[0], "key": "k"}
    answer = client.post(f"/boards/{board_id}/do/claim_task", form, **PERSON)
    assert answer.headers["AgentLink-Outcome"] == "applied"
    assert Task.objects.get().holder == "bob"


def test_what_proved_the_old_text_proves_no_new_one():
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, required_evidence=["a file", "a log"])
    evidence(who, board_id, contract_id, requirement_id="proof-1")
    edit: dict[str, Any] = {"board_id": board_id, "contract_id": contract_id}
    done("edit_contract", who.human, **edit, required_evidence=["ten files", "a log"])
    assert [item["id"] for item in Contract.objects.get().required_evidence] == ["proof-3", "proof-2"]
    done("edit_contract", who.human, **edit, required_evidence=["a log"])
    done("edit_contract", who.human, **edit, required_evidence=["other files", "a log"])
    assert Contract.objects.get().required_evidence[0]["id"] != "proof-1", "evidence speaks of it"
    refused = give("edit_contract", who.human, **edit, required_evidence=[{"id": "proof-2", "text": "no log"}])
    assert refused.code == "id_reused"
    done("accept_contract", who.alice, board_id=board_id, contract_id=contract_id)
    fencing = claim(who, board_id, contract_id)
    late = give("complete_task", who.alice, board_id=board_id, task_id=contract_id, fencing=fencing)
    assert late.code == "gate_not_ready"
