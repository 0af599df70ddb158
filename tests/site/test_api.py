"""Every kind of answer of the API, with Django's client."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from boards import log
from boards.api import bodies
from boards.api.reading import Malformed, parse
from boards.people import human_node_id
from boards.schemas import COMMANDS
from tests import people
from tests.people import People, done
from tests.site.callers import BASE, Caller, Json, check_problem, client

# --- reading


def test_status_tells_who_asks(human: Caller, alice: Caller) -> None:
    assert human.get("/status").data["nodeId"] == human_node_id()
    assert alice.get("/status").data["nodeId"] == "alice"


def test_the_board_events_gate_and_things_are_there_for_members(human: Caller, who: People, alice: Caller) -> None:
    board_id = people.board(who)
    contract_id = people.contract(who, board_id)
    evidence_id = people.evidence(who, board_id, contract_id)
    message = done("send_message", who.human, board_id=board_id, to=["alice"], content="hello").extra["messageId"]
    blocker = done("open_blocker", who.alice, board_id=board_id, summary="No disk").extra["blockerId"]
    for path in (
        f"/boards/{board_id}", f"/boards/{board_id}/events", f"/boards/{board_id}/gate", f"/contracts/{contract_id}",
        f"/tasks/{contract_id}", f"/evidence/{evidence_id}", f"/messages/{message}", f"/blockers/{blocker}",
    ):  # fmt: skip
        answer = alice.get(path)
        assert (answer.status, answer.data["boardId"]) == (200, board_id)
        assert answer.data["sourceRevision"] == human.get(f"/boards/{board_id}").data["sourceRevision"]


@pytest.mark.parametrize("path", ["", "/events", "/gate"])
def test_who_is_no_member_gets_403_and_an_unknown_board_404(who: People, mallory: Caller, path: str) -> None:
    board_id = people.board(who)
    check_problem(mallory.get(f"/boards/{board_id}{path}"), 403, "not_a_member")
    check_problem(mallory.get(f"/boards/nope{path}"), 404, "unknown_board")


def test_a_typo_gets_the_nearest_names_and_nothing_is_stored(who: People, human: Caller) -> None:
    board_id = people.board(who)
    before = human.get(f"/boards/{board_id}/events").data["events"]
    answer = human.send(f"/boards/{board_id}/messages", {"to": ["alise"], "content": "hello"})
    check_problem(answer, 404, "unknown_peer")
    assert answer.data["nearest"] == ["alice"]
    assert human.get(f"/boards/{board_id}/events").data["events"] == before
    answer = human.get("/boards/" + board_id[:-1] + "x")
    assert board_id in answer.data["nearest"]


def test_lists_are_paged_by_a_cursor(who: People, human: Caller) -> None:
    made = {people.board(who) for _ in range(5)}
    seen: list[str] = []
    path = "/boards?limit=2"
    while path:
        answer = human.get(path).data
        seen += [board["boardId"] for board in answer["boards"]]
        path = f"/boards?limit=2&cursor={answer['nextCursor']}" if answer["nextCursor"] else ""
    assert set(seen) == made
    assert len(seen) == 5


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/boards?limt=1", "unknown_parameter"),
        ("/status?x=1", "unknown_parameter"),
        ("/boards?limit=1&limit=2", "unknown_parameter"),
        ("/boards?limit=0", "malformed"),
        ("/boards?limit=501", "malformed"),
        ("/boards?limit=x", "malformed"),
        ("/peers?cursor=!!", "bad_cursor"),
        ("/peers?cursor=bzk5OTk5OTk5OTk5", "bad_cursor"),
    ],
)
def test_a_wrong_query_is_refused(human: Caller, path: str, code: str) -> None:
    check_problem(human.get(path), 400, code)


def test_boards_shared_with_somebody(who: People, human: Caller) -> None:
    board_id = people.board(who)
    assert [b["boardId"] for b in human.get("/boards?sharedWith=Alice,bob").data["boards"]] == [board_id]
    assert human.get("/boards?sharedWith=mallory").data["boards"] == []
    check_problem(human.get("/boards?sharedWith=malory"), 404, "unknown_peer")


def test_artifacts_of_an_unknown_session_are_404_and_of_a_foreign_one_403(human: Caller, mallory: Caller) -> None:
    check_problem(human.get("/sessions/nope/artifacts"), 404, "unknown_session")
    check_problem(mallory.get("/sessions/nope/artifacts"), 403, "not_yours")


# --- writing


def test_making_a_board_twice_with_one_key_makes_it_once(human: Caller) -> None:
    first = human.send("/boards", {"title": "Camera", "key": "k1"})
    again = human.send("/boards", {"title": "Camera"}, HTTP_IDEMPOTENCY_KEY="k1")
    assert (first.status, first.data["boardId"], first.data["receipt"]["outcome"]) == (201, "camera", "applied")
    assert (again.status, again.data["boardId"], again.data["receipt"]["outcome"]) == (200, "camera", "already_applied")
    assert len(human.get("/boards").data["boards"]) == 1


def test_one_key_for_two_wishes_is_refused(human: Caller) -> None:
    human.send("/boards", {"title": "Camera", "key": "k1"})
    check_problem(human.send("/boards", {"title": "Other", "key": "k1"}), 422, "key_reused")


def test_two_different_keys_in_one_request_are_refused(human: Caller) -> None:
    answer = human.send("/boards", {"title": "Camera", "key": "k1"}, HTTP_IDEMPOTENCY_KEY="k2")
    check_problem(answer, 400, "key_mismatch")


def test_messages_contracts_and_evidence_are_made_with_201(who: People, human: Caller) -> None:
    board_id = people.board(who)
    message = human.send(
        f"/boards/{board_id}/messages", {"to": ["alice"], "content": "hello", "type": "status_request"}
    )
    assert (message.status, message.data["from"], message.data["to"]) == (201, human_node_id(), ["alice"])
    wish = {"objective": "Record", "owners": {"alice": ["/dev/video0"]}, "requiredEvidence": ["one file"]}
    contract = human.send(f"/boards/{board_id}/contracts", wish)
    assert (contract.status, contract.data["actionability"]) == (201, "needs_acceptance")
    told = {"contractId": contract.data["contractId"], "requirementId": "proof-1", "summary": "It is there."}
    evidence = human.send(f"/boards/{board_id}/evidence", told)
    assert (evidence.status, evidence.data["verdict"]) == (201, "unverified")
    url = human.send(f"/boards/{board_id}/evidence", {**told, "url": "http://127.0.0.1:9/"})
    assert url.status == 201
    assert url.data["checks"][0]["name"] == "url"


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        ({"file": "/etc/passwd"}, 422, "path_not_allowed"),
        ({"file": "../../etc/passwd"}, 422, "path_not_allowed"),
        ({"artifact": {"artifactId": "a1", "sessionId": "nope"}}, 403, "not_a_member"),
        ({"artifact": {"artifactId": "a1"}}, 422, "no_session"),
        ({"file": "a", "url": "http://127.0.0.1:9000/"}, 400, "malformed"),
        ({"requirementId": "nope"}, 404, "unknown_requirement"),
        ({"contractId": "nope"}, 404, "unknown_contract"),
    ],
)
def test_evidence_that_cannot_be_attached(who: People, human: Caller, more: Json, status: int, code: str) -> None:
    board_id = people.board(who)
    contract_id = people.contract(who, board_id, requiredEvidence=["one file"])
    told = {"contractId": contract_id, "requirementId": "proof-1", "summary": "It is there.", **more}
    check_problem(human.send(f"/boards/{board_id}/evidence", told), status, code)


def revision(board_id: str) -> int:
    """What a card that was just fetched says."""
    return log.head(board_id)[0]


def test_a_stale_or_future_view_tells_an_outsider_nothing(who: People, mallory: Caller) -> None:
    board_id = people.board(who)
    task_id = people.contract(who, board_id)
    done("claim_task", who.alice, board_id=board_id, task_id=task_id)
    for seen in (0, 10**6):
        answer = mallory.give("claim_task", boardId=board_id, taskId=task_id, key=f"k{seen}", expectedRevision=seen)
        check_problem(answer, 403, "not_a_member")
        assert "alice" not in str(answer.data) and answer.data["receipt"]["current"] is None


def test_controlled_commands_need_a_key_and_the_revision_that_was_seen(who: People, alice: Caller) -> None:
    board_id = people.board(who)
    task_id = people.contract(who, board_id)
    wish = {"boardId": board_id, "taskId": task_id}
    check_problem(alice.give("claim_task", **wish), 400, "key_required")
    check_problem(alice.give("claim_task", **wish, key="k"), 400, "expected_revision_required")
    answer = alice.give("claim_task", **wish, key="k", expectedRevision=revision(board_id))
    assert (answer.status, answer.data["holder"], answer.data["receipt"]["fencing"]) == (200, "alice", 1)


def test_every_controlled_command_is_held_to_it(who: People, human: Caller) -> None:
    controlled = {kind for kind in bodies.PUBLIC if COMMANDS[kind].controlled}
    assert {"claim_task", "complete_task", "accept_contract", "close_board"} <= controlled
    board_id = people.board(who)
    ids = {"boardId": board_id, "taskId": "t", "contractId": "c", "evidenceId": "e", "blockerId": "b", "messageId": "m"}
    for kind in controlled:
        fields = bodies.NAMED[kind].model_json_schema()["properties"]
        wish = {name: value for name, value in ids.items() if name in fields}
        wish |= {name: "because" for name in ("reason", "resolution") if name in fields}
        check_problem(human.give(kind, **wish), 400, "key_required")


def test_the_second_claim_is_a_conflict_that_names_the_holder(who: People, alice: Caller, human: Caller) -> None:
    board_id = people.board(who)
    task_id = str((done("propose_contract", who.human, board_id=board_id, objective="Open").entity or {})["id"])
    wish = {"boardId": board_id, "taskId": task_id}
    alice.give("claim_task", **wish, key="a", expectedRevision=revision(board_id))
    answer = human.give("claim_task", **wish, key="h", expectedRevision=revision(board_id))
    check_problem(answer, 409, "already_claimed")
    assert answer.data["receipt"]["current"]["holder"] == "alice"
    again = alice.give("claim_task", **wish, key="b", expectedRevision=revision(board_id))
    assert (again.status, again.data["receipt"]["outcome"], again.data["holder"]) == (200, "already_applied", "alice")


def test_an_old_view_is_a_conflict_that_says_what_changed(who: People, human: Caller, alice: Caller) -> None:
    board_id = people.board(who)
    task_id = people.contract(who, board_id)
    seen = human.get(f"/boards/{board_id}").data["sourceRevision"]
    done("claim_task", who.alice, board_id=board_id, task_id=task_id)
    wish = {"boardId": board_id, "taskId": task_id, "node": "alice", "key": "k", "expectedRevision": seen}
    answer = human.give("claim_task", **wish)
    check_problem(answer, 409, "stale_view")
    assert answer.data["receipt"]["current"]["holder"] == "alice"


@pytest.mark.parametrize(
    ("command", "status", "code"),
    [
        ({"command": "record_checks"}, 403, "not_allowed"),
        ({"command": "expire_task"}, 403, "not_allowed"),
        ({"command": "nope"}, 400, "unknown_command"),
        ({"command": 7}, 400, "unknown_command"),
        ({}, 400, "unknown_command"),
        ({"command": "create_board"}, 400, "malformed"),
        ({"command": "create_board", "title": " "}, 400, "malformed"),
        ({"command": "create_board", "title": "x", "colour": "red"}, 400, "malformed"),
        ({"command": "create_board", "title": "x", "expectedRevision": "1"}, 400, "malformed"),
        ({"command": "create_board", "title": "x", "key": ""}, 400, "malformed"),
        ({"command": "create_board", "title": "x", "members": {"nobody": "worker"}}, 404, "unknown_peer"),
        ({"command": "invite", "boardId": "nope", "node": "alice"}, 404, "unknown_board"),
    ],
)
def test_commands_that_are_refused(human: Caller, command: Json, status: int, code: str) -> None:
    check_problem(human.send("/commands", command), status, code)


@pytest.mark.parametrize(
    ("command", "field", "value", "good"),
    [
        ("claim_task", "leaseSeconds", "600", False),
        ("claim_task", "leaseSeconds", True, False),
        ("claim_task", "leaseSeconds", 10**10, False),
        ("claim_task", "leaseSeconds", 600.5, False),
        ("claim_task", "leaseSeconds", 600.0, True),
        ("claim_task", "expectedRevision", 1.5, False),
        ("release_task", "fencing", "1", False),
        ("send_message", "requiresAck", 0, False),
        ("send_message", "requiresAck", "yes", False),
        ("propose_contract", "mutating", 1, False),
    ],
)
def test_nothing_is_converted_into_what_was_not_said(command: str, field: str, value: Any, good: bool) -> None:
    schema = bodies.NAMED[command].model_json_schema(by_alias=True)
    assert field in schema["properties"]
    wish = {
        "command": command,
        "boardId": "b",
        "taskId": "t",
        "objective": "o",
        "to": ["a"],
        "content": "c",
        field: value,
    }
    known = {name: value for name, value in wish.items() if name in schema["properties"]}
    if good:
        bodies.NAMED[command].model_validate(known)
        return
    with pytest.raises(ValidationError):
        bodies.NAMED[command].model_validate(known)


def test_a_worker_may_not_close_and_an_outsider_may_nothing(who: People, alice: Caller, mallory: Caller) -> None:
    board_id = people.board(who)
    wish = {"boardId": board_id, "key": "k", "expectedRevision": revision(board_id)}
    check_problem(alice.give("close_board", **wish), 403, "role_too_low")
    check_problem(mallory.give("close_board", **wish), 403, "not_a_member")
    check_problem(mallory.send(f"/boards/{board_id}/messages", {"to": ["alice"], "content": "x"}), 403, "not_a_member")


def test_the_gate_refuses_to_close_with_422(who: People, human: Caller) -> None:
    board_id = people.board(who)
    people.contract(who, board_id)
    answer = human.give("close_board", boardId=board_id, key="k", expectedRevision=revision(board_id))
    check_problem(answer, 422, "gate_not_ready")
    assert answer.data["receipt"]["current"]["missing"]


def test_who_has_no_session_is_not_summarized_and_an_outsider_asks_in_vain(
    who: People, human: Caller, mallory: Caller
) -> None:
    board_id = people.board(who)
    for node in ("alice", "nobody"):
        check_problem(human.send(f"/sessions/{node}/summarize", {"boardId": board_id}), 422, "no_session")
    check_problem(mallory.send("/sessions/alice/summarize", {"boardId": board_id}), 403, "not_a_member")


# --- what is no request


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"{", "not JSON"),
        (b"[]", "object"),
        (b'"x"', "object"),
        (b"\xff", "UTF-8"),
        (b'{"title": "a", "title": "b"}', "twice"),
        (b'{"title": NaN}', "NaN"),
        (b'{"title": 1e400}', "too large"),
        (b'{"title": ' + b"9" * 5000 + b"}", "too long"),
        (b"[" * 100_000, "deeper"),
        (b'{"a":' * 40 + b"1" + b"}" * 40, "deeper"),
        (b'{"title": "\\ud800"}', "surrogate"),
    ],
)
def test_a_body_that_is_no_proper_json_object(human: Caller, body: bytes, word: str) -> None:
    answer = human.send("/boards", body)
    check_problem(answer, 400, "malformed")
    assert word in answer.data["detail"]


def test_only_json_is_taken(human: Caller) -> None:
    for path in ("/boards", "/commands"):
        check_problem(human.send(path, b'{"title": "x"}', kind="text/plain"), 415, "not_json")


def test_a_body_over_one_mebibyte_is_413(human: Caller) -> None:
    for path in ("/boards", "/commands"):
        check_problem(human.send(path, b'{"title": "' + b"x" * 1_050_000 + b'"}'), 413, "too_large")


def test_a_text_over_its_limit_is_an_error_that_says_the_limit(who: People, human: Caller) -> None:
    board_id = people.board(who)
    answer = human.send(f"/boards/{board_id}/messages", {"to": ["alice"], "content": "x" * 200_001})
    check_problem(answer, 400, "malformed")
    assert "200,000" in answer.data["detail"]


def test_a_wrong_method_is_a_problem_that_names_the_right_ones(human: Caller) -> None:
    response = client(human.actor).delete(f"{BASE}/boards")
    assert response.status_code == 405
    assert response.headers["Allow"] == "GET, POST"
    assert json.loads(response.content)["code"] == "wrong_method"


SECRET = "sk-live-0123456789abcdefghijklmnopqrstuv"


@pytest.mark.parametrize(
    "body",
    [
        {"title": SECRET, "boardId": f"{SECRET}/"},
        {"title": "x", "members": {"alice": SECRET}},
        {"title": "x", "members": {SECRET: "nobody"}},
        {"title": "x", SECRET: 1},
        {"title": "x", "expectedRevision": SECRET},
        {"title": {"a": SECRET}},
    ],
)
def test_no_error_of_a_malformed_body_repeats_what_was_sent(human: Caller, body: Json) -> None:
    answer = human.send("/boards", body)
    check_problem(answer, 400, "malformed")
    assert SECRET not in json.dumps(answer.data)


def test_parsing_is_bounded_however_deep_the_nesting() -> None:
    deepest = b'{"a":' * 31 + b"{}" + b"}" * 31
    assert parse(deepest)
    with pytest.raises(Malformed):
        parse(b'{"a":' + deepest + b"}")
