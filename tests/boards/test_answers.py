"""The JSON answers: who may read what, what the counts count, what can be done with a contract, what the gate says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from boards import log
from boards.models import Board
from boards.queries import answers
from boards.queries.answers import Page
from boards.rules import Refused
from boards.schemas import Actor
from boards.times import iso, now
from peers.models import Session
from tests import people
from tests.people import People, done

pytestmark = pytest.mark.django_db


@pytest.fixture
def who() -> People:
    return people.people()


def shown(board_id: str, actor: Actor, **more: Any) -> dict[str, Any]:
    return answers.board(board_id, actor, **more)


def state(board_id: str, contract_id: str, who: People) -> str:
    found = {item["contractId"]: item for item in shown(board_id, who.human)["contracts"]}
    return str(found[contract_id]["actionability"])


# --- who may read what


def test_the_human_reads_every_board(who: People) -> None:
    board_id = str(done("create_board", who.alice, title="Alice's own").board_id)
    assert shown(board_id, who.human)["boardId"] == board_id


def test_an_agent_reads_only_boards_that_it_is_a_member_of(who: People) -> None:
    board_id = people.board(who)
    assert shown(board_id, who.bob)["boardId"] == board_id
    with pytest.raises(Refused) as no:
        shown(board_id, who.mallory)
    assert no.value.code == "not_a_member"
    assert answers.boards(who.mallory, Page())["boards"] == []


def test_who_has_left_reads_no_more(who: People) -> None:
    board_id = people.board(who)
    done("leave_board", who.bob, board_id=board_id)
    with pytest.raises(Refused):
        answers.events(board_id, who.bob, after=0, limit=10)


@pytest.mark.parametrize("read", [
    lambda board_id, actor: shown(board_id, actor),
    lambda board_id, actor: answers.events(board_id, actor, after=0, limit=10),
    lambda board_id, actor: answers.gate(board_id, actor),
])  # fmt: skip
def test_every_read_of_a_board_asks_who_reads(who: People, read: Any) -> None:
    board_id = people.board(who)
    with pytest.raises(Refused) as no:
        read(board_id, who.mallory)
    assert no.value.code == "not_a_member"


def test_a_thing_of_a_foreign_board_is_not_shown_and_not_suggested(who: People) -> None:
    board_id = people.board(who)
    contract_id = people.contract(who, board_id, objective="Calibrate sensor")
    with pytest.raises(Refused) as no:
        answers.thing("contract", contract_id, who.mallory)
    assert no.value.code == "not_a_member"
    with pytest.raises(Refused) as no:
        answers.thing("contract", "calibrate-sensors", who.mallory)
    assert (no.value.code, no.value.nearest) == ("unknown_contract", [])
    with pytest.raises(Refused) as no:
        answers.thing("contract", "calibrate-sensors", who.human)
    assert no.value.nearest == [contract_id]


def test_an_unknown_board_suggests_only_readable_ones(who: People) -> None:
    people.board(who, title="Secret plans")
    with pytest.raises(Refused) as no:
        answers.readable_board("secret-plan", who.mallory)
    assert no.value.nearest == []
    with pytest.raises(Refused) as no:
        answers.readable_board("secret-plan", who.bob)
    assert no.value.nearest == ["secret-plans"]


# --- the board


BOARD_FIELDS = {
    "boardId", "title", "objective", "status", "finalStatus", "linkId", "authority", "trust", "createdBy", "createdAt",
    "sourceRevision", "generatedAt", "counts", "members", "contracts", "tasks", "blockers", "messages", "evidence",
}  # fmt: skip


def test_the_board_answer_has_every_agreed_field(who: People) -> None:
    board_id = people.board(who)
    data = shown(board_id, who.human)
    assert set(data) >= BOARD_FIELDS
    assert data["authority"] == "local"
    assert data["finalStatus"] is None
    assert set(data["counts"]) == {"unclaimed", "blocked", "needsYou", "unverified"}
    assert data["sourceRevision"] == Board.objects.get(board_id=board_id).head == log.head(board_id)[0]


def test_absolute_paths_and_hosts_are_in_no_answer(who: People) -> None:
    board_id = people.board(who)
    assert not {"projectRoot", "commandCwd", "host", "user"} & set(shown(board_id, who.human))


def test_counts_count_what_their_names_say(who: People) -> None:
    board_id = people.board(who)
    one = people.contract(who, board_id)
    people.contract(who, board_id, objective="Second", owners={})
    people.evidence(who, board_id, one, verified=False)
    done("open_blocker", who.alice, board_id=board_id, summary="No disk left")
    counts = shown(board_id, who.human)["counts"]
    assert counts == {"unclaimed": 2, "blocked": 1, "needsYou": counts["needsYou"], "unverified": 1}
    people.claim(who, board_id, one)
    assert shown(board_id, who.human)["counts"]["unclaimed"] == 1


def test_the_list_of_boards_counts_as_the_boards_do(who: People) -> None:
    first, second = people.board(who), people.board(who)
    people.contract(who, first)
    done("open_blocker", who.alice, board_id=second, summary="No disk left")
    listed = {item["boardId"]: item["counts"] for item in answers.boards(who.human, Page())["boards"]}
    assert listed == {board_id: shown(board_id, who.human)["counts"] for board_id in (first, second)}
    assert listed[first]["unclaimed"] == listed[second]["blocked"] == 1


def test_actionability_follows_a_contract_through_its_life(who: People) -> None:
    board_id = people.board(who)
    receipt = done("propose_contract", who.human, board_id=board_id, objective="Record", owners={"alice": []})
    contract_id = str((receipt.entity or {})["id"])
    assert state(board_id, contract_id, who) == "needs_acceptance"
    assert answers.thing("contract", contract_id, who.human)["waitingFor"] == ["alice"]
    done("accept_contract", who.alice, board_id=board_id, contract_id=contract_id)
    assert state(board_id, contract_id, who) == "unclaimed"
    fencing = people.claim(who, board_id, contract_id)
    assert state(board_id, contract_id, who) == "claimed"
    blocker = done("open_blocker", who.alice, board_id=board_id, contract_id=contract_id, summary="No disk")
    assert state(board_id, contract_id, who) == "blocked"
    blocker_id = (blocker.entity or {})["id"]
    done("resolve_blocker", who.human, board_id=board_id, blocker_id=blocker_id, resolution="Bought one")
    people.evidence(who, board_id, contract_id)
    assert state(board_id, contract_id, who) == "completable"
    done("complete_task", who.alice, board_id=board_id, task_id=contract_id, fencing=fencing)
    assert state(board_id, contract_id, who) == "done"


def test_a_rejected_contract_is_closed_to_everybody(who: People) -> None:
    board_id = people.board(who)
    receipt = done("propose_contract", who.human, board_id=board_id, objective="Record", owners={"alice": []})
    contract_id = str((receipt.entity or {})["id"])
    done("reject_contract", who.alice, board_id=board_id, contract_id=contract_id, reason="Not mine")
    assert state(board_id, contract_id, who) == "closed"


def test_the_last_messages_come_oldest_first_and_the_rest_is_counted(who: People) -> None:
    board_id = people.board(who)
    for number in range(5):
        done("send_message", who.human, board_id=board_id, to=["bob"], content=f"text {number}", type="status_response")
    data = shown(board_id, who.human, limit=3)
    assert [message["content"] for message in data["messages"]] == ["text 2", "text 3", "text 4"]
    assert data["older"]["messages"] == 2
    assert data["messages"][0]["deliveries"][0]["step"] == "queued"


# --- events and gate


def test_events_go_on_after_a_revision_without_a_gap(who: People) -> None:
    board_id = people.board(who)
    people.contract(who, board_id)
    whole = answers.events(board_id, who.human, after=0, limit=500)
    assert whole["nextAfter"] is None
    assert [event["revision"] for event in whole["events"]] == list(range(1, whole["sourceRevision"] + 1))
    pieces: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = answers.events(board_id, who.human, after=after, limit=2)
        pieces += page["events"]
        after = page["nextAfter"]
    assert pieces == whole["events"]


def test_the_gate_is_not_ready_then_ready_then_remembers_how_it_ended(who: People) -> None:
    board_id = people.board(who)
    contract_id = people.contract(who, board_id)
    assert answers.gate(board_id, who.human)["state"] == "not_ready"
    fencing = people.claim(who, board_id, contract_id)
    people.evidence(who, board_id, contract_id)
    done("complete_task", who.alice, board_id=board_id, task_id=contract_id, fencing=fencing)
    assert answers.gate(board_id, who.human)["state"] == "ready"
    done("close_board", who.human, board_id=board_id)
    closed = answers.gate(board_id, who.human)
    assert (closed["state"], closed["finalStatus"], closed["status"]) == ("ready", "completed", "closed")


# --- peers and pages


def session(number: int, **more: Any) -> Session:
    at = now() + timedelta(seconds=number)
    wish = {"session_id": f"s-{number}", "source": "agintiflow", "observed_at": at, "last_activity_at": at, **more}
    return Session.objects.create(key=f"agintiflow:s-{number}", **wish)


def test_peers_are_people_mailboxes_and_sessions_each_once(who: People) -> None:
    session(1, title="Camera work", status="running", reason="its process lives")
    session(2)
    done("invite", who.human, board_id=people.board(who), node="s-1")
    found = answers.peers(Page())
    items = found["peers"]
    assert found["nextCursor"] is None
    assert [item["nodeId"] or item["sessionId"] for item in items if item["sessionId"]] == ["s-2", "s-1"]
    assert sorted(item["nodeId"] for item in items if not item["sessionId"]) == sorted(
        [who.human.node_id, "alice", "bob", "mallory"]
    )
    bound = next(item for item in items if item["sessionId"] == "s-1")
    assert (bound["nodeId"], bound["status"], bound["reason"]) == ("s-1", "running", "its process lives")
    assert "agentlink" not in [item["nodeId"] for item in items]


def test_pages_of_peers_hold_everybody_once(who: People) -> None:
    for number in range(5):
        session(number)
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        found = answers.peers(Page(2, cursor))
        cursor = found["nextCursor"]
        assert len(found["peers"]) == 2 or cursor is None
        seen += [item["nodeId"] or item["sessionId"] for item in found["peers"]]
    assert len(seen) == len(set(seen)) == 9


def test_shared_boards_are_open_ones_where_all_are(who: People) -> None:
    both, closed = people.board(who), people.board(who)
    people.board(who, members={"alice": "worker"})
    done("close_board", who.human, board_id=closed)
    items = answers.boards(who.human, Page(), ["alice", "bob"])["boards"]
    assert [item["boardId"] for item in items] == [both]


def test_status_says_who_asks_and_how_old_the_sight_is(who: People) -> None:
    people.board(who)
    data = answers.status(who.mallory, "1.2.3")
    assert (data["nodeId"], data["version"], data["counts"]["boards"]) == ("mallory", "1.2.3", 0)
    assert data["scannedAt"] is None
    assert data["generatedAt"] <= iso(now())
