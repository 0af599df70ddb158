"""Inbox, acknowledgements, needs, the whole log, and changes of contracts."""

from __future__ import annotations

from typing import Any

import pytest

from boards import log, words
from boards.models import Contract, Message, Task
from boards.people import human_node_id
from boards.times import now
from tests import people
from tests.people import People, done
from tests.site.callers import Caller, Json, check_problem, every

# --- the inbox


def send(who: People, board_id: str, text: str, **fields: Any) -> str:
    wish: Json = {"to": ["alice"], "content": text, "type": "task_request", **fields}
    return str(done("send_message", who.human, board_id=board_id, **wish).extra["messageId"])


def test_the_inbox_has_urgent_copies_first_then_the_newest(who: People, alice: Caller, bob: Caller) -> None:
    board_id = people.board(who)
    for text, priority in (("a", "normal"), ("b", "asap"), ("c", "low"), ("d", "high"), ("e", "asap"), ("f", "high")):
        send(who, board_id, text, priority=priority, type="status_response")
    found = alice.get("/inbox").data
    assert [item["preview"] for item in found["inbox"]] == ["e", "b", "f", "d", "c", "a"]
    assert found["total"] == 6
    assert [item["preview"] for item in every(alice, "/inbox", "inbox")] == ["e", "b", "f", "d", "c", "a"]
    assert bob.get("/inbox").data["inbox"] == []


def test_looking_at_the_inbox_changes_nothing(who: People, alice: Caller) -> None:
    board_id = people.board(who)
    send(who, board_id, "Do it")
    before = (log.last_position(), log.state(board_id))
    first = alice.get("/inbox").data["inbox"]
    assert alice.get("/inbox").data["inbox"] == first
    assert alice.get("/inbox?state=all").data["inbox"] == first
    assert (log.last_position(), log.state(board_id)) == before
    assert first[0]["copy"]["step"] == "queued"


def test_a_copy_leaves_the_open_inbox_by_its_owners_answer_only(who: People, alice: Caller) -> None:
    board_id, other = people.board(who), people.board(who)
    message_id = send(who, board_id, "Do it")
    kept = send(who, other, "And this")
    answer = alice.send(f"/boards/{board_id}/messages/{message_id}/acknowledgements", {"answer": "accepted"})
    assert (answer.status, answer.data["receipt"]["outcome"]) == (200, "applied")
    assert answer.data["deliveries"][0]["answer"] == "accepted"
    assert [item["messageId"] for item in alice.get("/inbox").data["inbox"]] == [kept]
    assert len(alice.get("/inbox?state=all").data["inbox"]) == 2
    assert [item["messageId"] for item in alice.get(f"/inbox?board={board_id}&state=all").data["inbox"]] == [message_id]
    assert alice.get(f"/inbox?board={board_id}").data["inbox"] == []


def test_a_long_text_is_a_preview_that_says_how_long_it_is(who: People, alice: Caller) -> None:
    board_id = people.board(who)
    message_id = send(who, board_id, "é" * 9_000)
    item = alice.get("/inbox").data["inbox"][0]
    assert (item["preview"], item["contentLength"]) == ("é" * 500, 9_000)
    assert alice.get(f"/messages/{message_id}").data["content"] == "é" * 9_000


def test_a_proposal_is_settled_by_the_contracts_own_answer(who: People, alice: Caller) -> None:
    board_id = people.board(who)
    done("propose_contract", who.human, board_id=board_id, objective="Record", owners={"alice": [], "bob": []})
    assert [item["type"] for item in alice.get("/inbox").data["inbox"]] == ["contract_proposed"]
    done("accept_contract", who.alice, board_id=board_id, contract_id="record")
    assert alice.get("/inbox").data["inbox"] == []


def test_the_inbox_of_a_board_asks_who_reads(who: People, mallory: Caller) -> None:
    board_id = people.board(who)
    check_problem(mallory.get(f"/inbox?board={board_id}"), 403, "not_a_member")
    check_problem(mallory.get("/inbox?board=nope"), 404, "unknown_board")
    check_problem(mallory.get("/inbox?state=closed"), 400, "malformed")


def test_who_has_left_a_board_has_none_of_its_messages(who: People, bob: Caller) -> None:
    board_id = people.board(who)
    send(who, board_id, "For Bob", to=["bob"])
    done("leave_board", who.bob, board_id=board_id)
    assert bob.get("/inbox?state=all").data["inbox"] == []


# --- acknowledgements


def test_the_same_answer_twice_is_recorded_once(who: People, alice: Caller) -> None:
    board_id = people.board(who)
    path = f"/boards/{board_id}/messages/{send(who, board_id, 'Do it')}/acknowledgements"
    assert alice.send(path, {"answer": "accepted", "note": "gladly"}).data["receipt"]["outcome"] == "applied"
    assert alice.send(path, {"answer": "accepted"}).data["receipt"]["outcome"] == "already_applied"
    check_problem(alice.send(path, {"answer": "blocked"}), 409, "already_settled")


def test_only_the_recipient_answers(who: People, bob: Caller, mallory: Caller) -> None:
    board_id = people.board(who)
    path = f"/boards/{board_id}/messages/{send(who, board_id, 'Do it')}/acknowledgements"
    check_problem(bob.send(path, {"answer": "accepted"}), 422, "not_addressed")
    check_problem(mallory.send(path, {"answer": "accepted"}), 403, "not_a_member")
    check_problem(bob.send(path, {"answer": "perhaps"}), 400, "malformed")
    wrong = f"/boards/{board_id}/messages/msg-nope/acknowledgements"
    check_problem(bob.send(wrong, {"answer": "accepted"}), 404, "unknown_message")


# --- peers


def test_a_mailbox_is_registered_with_201_and_its_secret_is_in_no_answer(human: Caller) -> None:
    made = human.send("/peers", {"name": "Carol"}, HTTP_IDEMPOTENCY_KEY="k")
    assert (made.status, made.data["name"], made.data["receipt"]["command"]) == (201, "Carol", "register_node")
    again = human.send("/peers", {"name": "Carol", "key": "k"})
    assert (again.status, again.data["receipt"]["outcome"]) == (200, "already_applied")
    check_problem(human.send("/peers", {"name": "carol"}), 409, "name_taken")


# --- what waits


def test_an_agents_needs_are_its_own(who: People, alice: Caller, bob: Caller, human: Caller) -> None:
    board_id = people.board(who)
    send(who, board_id, "Do it")
    done("propose_contract", who.human, board_id=board_id, objective="Record", owners={"alice": []})
    assert [item["kind"] for item in alice.get("/needs").data["needs"]] == ["answer", "acceptance"]
    assert alice.get(f"/boards/{board_id}/needs").data["needs"] == alice.get("/needs").data["needs"]
    assert [item["kind"] for item in every(alice, "/needs", "needs", 1)] == ["answer", "acceptance"]
    assert bob.get("/needs").data["needs"] == []
    assert human.get("/needs").data["needs"] == []
    assert alice.get("/status").data["counts"]["needsYou"] == 2
    assert bob.get("/status").data["counts"]["needsYou"] == 0


def test_a_lease_that_ends_soon_and_an_offered_task_wait_for_their_nodes(
    who: People, alice: Caller, bob: Caller
) -> None:
    board_id = people.board(who)
    contract_id = people.contract(who, board_id, owners={"alice": [], "bob": []})
    done("accept_contract", who.bob, board_id=board_id, contract_id=contract_id)
    wish: Json = {"board_id": board_id, "task_id": contract_id}
    fencing = done("claim_task", who.alice, **wish, lease_seconds=60).extra["fencing"]
    assert [(item["kind"], item["fencing"]) for item in alice.get("/needs").data["needs"]] == [("lease", fencing)]
    done("hand_over_task", who.alice, **wish, to="bob", summary="Half is done", fencing=fencing)
    found = [item for item in bob.get("/needs").data["needs"] if item["kind"] == "hand_over"]
    assert [(item["taskId"], item["nodeId"]) for item in found] == [(contract_id, "alice")]
    assert Task.objects.get(task_id=contract_id).holder == "alice"


def test_the_human_needs_what_a_person_must_do_on_any_board(who: People, human: Caller) -> None:
    board_id = str(done("create_board", who.alice, title="Alice's own").board_id)
    done("open_blocker", who.alice, board_id=board_id, summary="x" * 900)
    need = human.get("/needs").data["needs"][0]
    assert (need["kind"], need["boardId"], need["text"], need["cut"]) == ("blocker", board_id, "x" * 500, True)
    assert human.get(f"/boards/{people.board(who)}/needs").data["needs"] == []


# --- the whole log


def test_events_of_all_readable_boards_come_by_position(who: People, human: Caller, alice: Caller) -> None:
    first, second = people.board(who), people.board(who)
    hidden = people.board(who, members={"bob": "worker"})
    whole = human.get("/events").data
    assert [event["position"] for event in whole["events"]] == list(range(1, log.last_position() + 1))
    assert {event["boardId"] for event in whole["events"]} == {None, first, second, hidden}
    assert (whole["nextAfter"], whole["position"]) == (None, log.last_position())
    seen = alice.get("/events").data
    assert seen["events"] == [event for event in whole["events"] if event["boardId"] in (first, second)]
    pieces: list[Json] = []
    after: int | None = 0
    while after is not None:
        page = alice.get(f"/events?after={after}&limit=2").data
        pieces += page["events"]
        after = page["nextAfter"]
    assert pieces == seen["events"]
    assert alice.get(f"/events?after={seen['position']}").data["events"] == []


# --- PATCH of a contract


@pytest.fixture
def proposed(who: People) -> str:
    """The path of a contract that Alice and Bob must accept."""
    board_id = people.board(who)
    wish: Json = {"objective": "Record", "owners": {"alice": ["/a"], "bob": ["/b"]}, "contract_id": "record"}
    done("propose_contract", who.human, board_id=board_id, **wish)
    return f"/boards/{board_id}/contracts/record"


def seen(path: str) -> Json:
    """Key and view of a controlled change."""
    return {"key": f"k-{now().timestamp()}", "expectedRevision": log.head(path.split("/")[2])[0]}


def test_owners_accept_a_contract_by_its_status(proposed: str, alice: Caller, bob: Caller) -> None:
    one = alice.patch(proposed, {"status": "accepted", "textRevision": 1, **seen(proposed)})
    assert (one.status, one.data["status"], one.data["acceptedBy"]) == (200, "proposed", ["alice"])
    two = bob.patch(proposed, {"status": "accepted", **seen(proposed)})
    assert (two.data["status"], two.data["receipt"]["command"]) == ("accepted", "accept_contract")


def test_a_status_is_held_to_key_and_revision_like_its_command(proposed: str, alice: Caller) -> None:
    check_problem(alice.patch(proposed, {"status": "accepted"}), 400, "key_required")
    check_problem(alice.patch(proposed, {"status": "accepted", "key": "k"}), 400, "expected_revision_required")
    wish = {"status": "accepted", "expectedRevision": 0}
    check_problem(alice.patch(proposed, wish, HTTP_IDEMPOTENCY_KEY="k"), 409, "stale_view")
    good = {"status": "accepted", "expectedRevision": seen(proposed)["expectedRevision"]}
    assert alice.patch(proposed, good, HTTP_IDEMPOTENCY_KEY="k2").data["receipt"]["outcome"] == "applied"
    assert alice.patch(proposed, good, HTTP_IDEMPOTENCY_KEY="k2").data["receipt"]["outcome"] == "already_applied"
    check_problem(
        alice.patch(
            proposed,
            good,
            HTTP_IDEMPOTENCY_KEY="k3",
        ),
        409,
        "stale_view",
    )


def test_an_owner_rejects_with_a_reason(proposed: str, alice: Caller) -> None:
    check_problem(alice.patch(proposed, {"status": "rejected", **seen(proposed)}), 400, "malformed")
    answer = alice.patch(proposed, {"status": "rejected", "reason": "Not mine", **seen(proposed)})
    assert (answer.data["status"], answer.data["reason"], answer.data["actionability"]) == (
        "rejected",
        "Not mine",
        "closed",
    )


def test_the_human_accepts_for_a_session_and_the_proposer_withdraws(
    proposed: str, human: Caller, alice: Caller
) -> None:
    answer = human.patch(proposed, {"status": "accepted", "node": "alice", **seen(proposed)})
    assert answer.data["acceptedBy"] == ["alice"]
    assert alice.patch(proposed, {"status": "withdrawn", **seen(proposed)}).status in (403, 422)
    answer = human.patch(proposed, {"status": "withdrawn", "reason": "Changed plans", **seen(proposed)})
    assert (answer.status, answer.data["status"]) == (200, "withdrawn")


def test_a_new_text_lapses_every_acceptance(proposed: str, human: Caller, alice: Caller) -> None:
    alice.patch(proposed, {"status": "accepted", **seen(proposed)})
    answer = human.patch(proposed, {"objective": "Record twice", "stopConditions": ["disk full"], "key": "e"})
    assert (answer.status, answer.data["objective"], answer.data["textRevision"]) == (200, "Record twice", 2)
    assert "alice" not in answer.data["acceptedBy"]
    check_problem(
        alice.patch(proposed, {"status": "accepted", "textRevision": 1, **seen(proposed)}), 409, "text_changed"
    )


@pytest.mark.parametrize(
    "body",
    [
        {"status": "accepted", "objective": "Another"},
        {"status": "accepted", "owners": {}},
        {"status": "accepted", "reason": "because"},
        {"status": "withdrawn", "node": "alice"},
        {"status": "done"},
        {"status": None},
        {"status": 1},
        {"reason": "because"},
        {"contractId": "other"},
        {"boardId": "other"},
        {"objective": ""},
        {"objective": 1},
    ],
)
def test_a_change_that_is_two_things_or_none_is_malformed(proposed: str, human: Caller, body: Json) -> None:
    before = Contract.objects.values().get()
    check_problem(human.patch(proposed, {**body, **seen(proposed)}), 400, "malformed")
    assert Contract.objects.values().get() == before


def test_a_change_of_what_is_not_there_or_not_yours(proposed: str, human: Caller, mallory: Caller) -> None:
    check_problem(mallory.patch(proposed, {"objective": "Mine"}), 403, "not_a_member")
    answer = human.patch(proposed[:-1] + "x", {"objective": "Mine"})
    check_problem(answer, 404, "unknown_contract")
    assert answer.data["nearest"] == ["record"]
    check_problem(human.patch("/boards/nope/contracts/record", {"objective": "Mine"}), 404, "unknown_board")


def test_patch_is_held_to_json_and_size_like_post(proposed: str, human: Caller) -> None:
    check_problem(human.send(proposed, b"{}", kind="text/plain", method="PATCH"), 415, "not_json")
    check_problem(human.patch(proposed, b"[]"), 400, "malformed")
    check_problem(human.patch(proposed, b'{"objective": "' + b"x" * 1_050_000 + b'"}'), 413, "too_large")


# --- rights


def test_what_only_the_person_does_is_403_from_a_program(who: People, human: Caller, alice: Caller) -> None:
    board_id = people.board(who)
    event = human.get(f"/boards/{board_id}/events").data["events"][0]["eventId"]
    for caller in (human, alice):
        wish = {"boardId": board_id, "eventIds": [event], "reason": "It leaked"}
        check_problem(caller.give("erase_payload", **wish), 403, "panel_only")
    panel = Caller({"node_id": None, "surface": "panel", "human": True})
    assert panel.give("erase_payload", boardId=board_id, eventIds=[event], reason="It leaked").status == 200


def test_ids_that_people_choose_get_near_names_and_random_ones_do_not(who: People, alice: Caller) -> None:
    board_id = people.board(who)
    people.contract(who, board_id, objective="Calibrate sensor")
    send(who, board_id, "Do it")
    for kind in ("contracts", "tasks"):
        assert alice.get(f"/{kind}/calibrate-sensors").data["nearest"] == ["calibrate-sensor"]
    message = Message.objects.values_list("message_id", flat=True).first()
    assert "nearest" not in alice.get(f"/messages/{message}0").data


def test_every_answer_says_when_it_was_made_and_the_human_is_named(who: People, human: Caller) -> None:
    for path in ("/status", "/peers", "/boards", "/needs", "/inbox", "/events"):
        assert human.get(path).data["generatedAt"].endswith("Z")
    assert human.get("/status").data["nodeId"] == human_node_id()
    assert words.SERVICE_NODE not in [peer["nodeId"] for peer in human.get("/peers").data["peers"]]
