"""What a board holds, page by page: bounded, in a fixed order, and nothing is hidden while pages are turned."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import people
from tests.people import People, done
from tests.site.callers import Caller, Json, check_problem, every

LISTS = ["members", "contracts", "tasks", "evidence", "blockers", "summaries", "messages", "needs", "events", "gate"]

# --- what a board holds, page by page


@pytest.fixture
def full(who: People) -> str:
    """A board with five of everything."""
    board_id = people.board(who)
    for number in range(5):
        contract_id = people.contract(who, board_id, objective=f"Work {number}", owners={"alice": [f"/dev/v{number}"]})
        evidence_id = people.evidence(who, board_id, contract_id, verified=number < 2)
        done("open_blocker", who.alice, board_id=board_id, contract_id=contract_id, summary=f"No disk {number}",
             evidence_ids=[evidence_id])  # fmt: skip
        done("send_message", who.bob, board_id=board_id, to=["alice"], content=f"text {number}", type="status_request")
    return board_id


@pytest.mark.parametrize(
    ("name", "key", "total"),
    [("members", "nodeId", 3), ("contracts", "contractId", 5), ("tasks", "taskId", 5), ("evidence", "evidenceId", 5),
     ("blockers", "blockerId", 5)],
)  # fmt: skip
def test_every_list_of_a_board_is_paged_and_the_board_shows_its_first_page(
    full: str, human: Caller, name: str, key: str, total: int
) -> None:
    whole = human.get(f"/boards/{full}/{name}").data
    assert [item[key] for item in every(human, f"/boards/{full}/{name}", name)] == [item[key] for item in whole[name]]
    assert len({item[key] for item in whole[name]}) == len(whole[name]) == total
    board = human.get(f"/boards/{full}?limit=2").data
    assert board[name] == whole[name][:2]
    assert board["older"][name] == total - 2
    rest = human.get(f"/boards/{full}/{name}?cursor={board['next'][name]}").data
    assert rest[name] == whole[name][2:]
    assert whole["sourceRevision"] == board["sourceRevision"]


def test_a_board_that_is_shown_whole_has_nothing_older(full: str, human: Caller) -> None:
    board = human.get(f"/boards/{full}").data
    assert set(board["older"].values()) == {0}
    assert set(board["next"].values()) == {None}
    assert set(board["older"]) == set(board["next"]) == set(LISTS[:7])


def test_open_things_come_first_then_the_newest(who: People, full: str, human: Caller) -> None:
    blockers = human.get(f"/boards/{full}/blockers").data["blockers"]
    assert [item["summary"] for item in blockers] == [f"No disk {n}" for n in (4, 3, 2, 1, 0)]
    done("resolve_blocker", who.human, board_id=full, blocker_id=blockers[0]["blockerId"], resolution="Bought one")
    done("propose_contract", who.human, board_id=full, objective="Last", owners={"bob": []})
    done("reject_contract", who.bob, board_id=full, contract_id="last", reason="Not mine")
    blockers = human.get(f"/boards/{full}/blockers").data["blockers"]
    assert [item["summary"] for item in blockers] == [f"No disk {n}" for n in (3, 2, 1, 0, 4)]
    contracts = human.get(f"/boards/{full}/contracts").data["contracts"]
    assert [item["objective"] for item in contracts] == [*(f"Work {n}" for n in (4, 3, 2, 1, 0)), "Last"]


def test_what_is_added_or_finished_between_two_pages_hides_nothing(who: People, full: str, human: Caller) -> None:
    first = human.get(f"/boards/{full}/blockers?limit=2").data
    done("resolve_blocker", who.human, board_id=full, blocker_id=first["blockers"][0]["blockerId"], resolution="Done")
    done("open_blocker", who.alice, board_id=full, summary="A new one")
    rest = human.get(f"/boards/{full}/blockers?cursor={first['nextCursor']}").data["blockers"]
    assert [item["summary"] for item in rest] == [f"No disk {n}" for n in (2, 1, 0, 4)]


def test_a_cursor_of_another_list_or_of_nobody_is_refused(full: str, human: Caller) -> None:
    cursor = human.get(f"/boards/{full}/tasks?limit=2").data["nextCursor"]
    for path in (f"/boards/{full}/contracts", f"/boards/{full}/gate", "/boards", "/peers", "/inbox", "/needs"):
        for wrong in (cursor, cursor[:-1] + "x", "x" * 500, "W10:x", "%00", "%ed%a0%80"):
            check_problem(human.get(f"{path}?cursor={wrong}"), 400, "bad_cursor")


def test_a_page_ends_before_it_is_too_large_and_goes_on(who: People, human: Caller) -> None:
    board_id = people.board(who)
    for number in range(12):
        text = f"{number} " + "x" * 199_000
        to = ("alice", "bob")[number % 2]
        done("send_message", who.human, board_id=board_id, to=[to], content=text, type="status_response")
    page = human.get(f"/boards/{board_id}/messages").data
    assert 0 < len(page["messages"]) < 12
    before = human.get(f"/boards/{board_id}/messages?before={page['nextBefore']}").data
    texts = [message["content"].split()[0] for message in (*before["messages"], *page["messages"])]
    assert texts == [str(number) for number in range(12)]
    assert before["nextBefore"] is None
    board = human.get(f"/boards/{board_id}").data
    assert (board["older"]["messages"], board["next"]["messages"]) == (len(before["messages"]), page["nextBefore"])


def test_messages_go_back_page_by_page_oldest_first_inside(full: str, human: Caller) -> None:
    newest = human.get(f"/boards/{full}/messages?limit=2").data
    own = [message for message in all_messages(human, full) if message["type"] == "status_request"]
    assert [message["content"] for message in own] == [f"text {n}" for n in range(5)]
    assert newest["messages"] == all_messages(human, full)[-2:]
    assert newest["nextBefore"] == newest["messages"][0]["messageId"]
    assert newest["messages"][0]["deliveries"]


def all_messages(caller: Caller, board_id: str) -> list[Json]:
    found: list[Json] = []
    path = f"/boards/{board_id}/messages?limit=2"
    while path:
        page = caller.get(path).data
        found = page["messages"] + found
        path = f"/boards/{board_id}/messages?limit=2&before={page['nextBefore']}" if page["nextBefore"] else ""
    return found


def test_a_message_of_another_board_is_no_place_to_go_on_from(who: People, full: str, human: Caller) -> None:
    other = people.board(who)
    message = human.get(f"/boards/{full}/messages").data["messages"][0]["messageId"]
    check_problem(human.get(f"/boards/{other}/messages?before={message}"), 404, "unknown_message")


@pytest.mark.parametrize("name", LISTS)
def test_no_list_of_a_board_is_for_outsiders(full: str, mallory: Caller, alice: Caller, name: str) -> None:
    assert alice.get(f"/boards/{full}/{name}").status == 200
    check_problem(mallory.get(f"/boards/{full}/{name}"), 403, "not_a_member")
    check_problem(mallory.get(f"/boards/nope/{name}"), 404, "unknown_board")


def test_the_gate_pages_what_is_missing_and_counts_all_of_it(who: People, full: str, human: Caller) -> None:
    whole = human.get(f"/boards/{full}/gate").data
    assert whole["state"] == "not_ready"
    assert whole["missingCount"] == len(whole["missing"]) > 2
    assert every(human, f"/boards/{full}/gate", "missing") == whole["missing"]
    assert whole["standingInCount"] == len(whole["standingIn"])


def test_pages_cost_the_same_number_of_queries_however_many_contracts(
    who: People, human: Caller, django_assert_max_num_queries: Any
) -> None:
    board_id = people.board(who)
    people.contract(who, board_id, owners={"alice": ["/dev/a"]})
    paths = [f"/boards/{board_id}", f"/boards/{board_id}/contracts", f"/boards/{board_id}/gate", "/boards", "/peers"]
    few = {path: queries(human, path) for path in paths}
    for number in range(9):
        contract_id = people.contract(who, board_id, owners={"alice": [f"/dev/{number}"]})
        people.evidence(who, board_id, contract_id)
        people.board(who)
    for path in paths:
        with django_assert_max_num_queries(few[path]):
            assert human.get(path).status == 200


def queries(caller: Caller, path: str) -> int:
    with CaptureQueriesContext(connection) as seen:
        caller.get(path)
    return len(seen) + 3  # what only a board with messages, evidence and more than one row asks besides
