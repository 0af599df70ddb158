"""Every command that somebody may send in, through ``POST commands``, answered in its documented form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from boards import log
from boards.api import bodies
from tests import people
from tests.people import People, done
from tests.site.callers import Caller, Json


def mail(who: People, board_id: str) -> str:
    told: Json = {"to": ["alice"], "content": "Do it", "type": "task_request"}
    return str(done("send_message", who.human, board_id=board_id, **told).extra["messageId"])


def proposed(who: People, board_id: str) -> str:
    wish: Json = {"objective": "Proposed", "owners": {"alice": [], "bob": []}}
    return str((done("propose_contract", who.human, board_id=board_id, **wish).entity or {})["id"])


def task(who: People, board_id: str) -> Json:
    """A contract's task that Alice holds; Bob may take it too."""
    contract_id = people.contract(who, board_id, owners={"alice": [], "bob": []})
    done("accept_contract", who.bob, board_id=board_id, contract_id=contract_id)
    return {"taskId": contract_id, "fencing": people.claim(who, board_id, contract_id)}


def proven(who: People, board_id: str) -> Json:
    held = task(who, board_id)
    people.evidence(who, board_id, held["taskId"])
    return held


def bundle(who: People, board_id: str) -> str:
    return people.evidence(who, board_id, people.contract(who, board_id), verified=False)


def blocker(who: People, board_id: str) -> str:
    return str(done("open_blocker", who.alice, board_id=board_id, summary="No disk").extra["blockerId"])


def leak(who: People, board_id: str) -> str:
    """The event of a message."""
    mail(who, board_id)
    return next(row.event_id for row in log.after(0) if row.type == "agentlink.message.sent")


Fields = Callable[[People, str], Json]
CASES: dict[str, tuple[str, Fields]] = {
    "accept_contract": ("alice", lambda w, b: {"contractId": proposed(w, b)}),
    "acknowledge_message": ("alice", lambda w, b: {"messageId": mail(w, b), "answer": "accepted"}),
    "adopt_board": ("panel", lambda w, b: {"boardId": "Theirs:1", "title": "Theirs"}),
    "claim_task": ("alice", lambda w, b: {"taskId": people.contract(w, b)}),
    "close_board": ("human", lambda w, b: {}),
    "complete_task": ("alice", proven),
    "create_board": ("alice", lambda w, b: {"title": "Another", "boardId": None}),
    "edit_contract": ("human", lambda w, b: {"contractId": proposed(w, b), "objective": "Other"}),
    "erase_payload": ("panel", lambda w, b: {"eventIds": [leak(w, b)], "reason": "It leaked"}),
    "hand_over_task": ("alice", lambda w, b: {**task(w, b), "to": "bob", "summary": "Half is done"}),
    "invite": ("human", lambda w, b: {"node": "mallory"}),
    "join_board": ("alice", lambda w, b: {}),
    "leave_board": ("bob", lambda w, b: {}),
    "open_blocker": ("alice", lambda w, b: {"summary": "No disk"}),
    "propose_contract": ("alice", lambda w, b: {"objective": "Record"}),
    "register_node": ("human", lambda w, b: {"name": "Carol"}),
    "reject_contract": ("alice", lambda w, b: {"contractId": proposed(w, b), "reason": "Not mine"}),
    "reject_evidence": ("human", lambda w, b: {"evidenceId": bundle(w, b), "reason": "Another file"}),
    "release_task": ("alice", task),
    "renew_task": ("alice", task),
    "resolve_blocker": ("human", lambda w, b: {"blockerId": blocker(w, b), "resolution": "Bought one"}),
    "send_message": ("alice", lambda w, b: {"to": ["bob"], "content": "Hello"}),
    "update_board": ("human", lambda w, b: {"title": "Renamed"}),
    "update_node": ("alice", lambda w, b: {"nodeId": "alice", "role": "recorder"}),
    "verify_evidence": ("human", lambda w, b: {"evidenceId": bundle(w, b)}),
    "withdraw_contract": ("human", lambda w, b: {"contractId": proposed(w, b)}),
    "withdraw_message": ("human", lambda w, b: {"messageId": mail(w, b)}),
}
"""Who gives it, and what it says besides the board, key and revision."""


def test_every_public_command_has_a_case() -> None:
    assert set(CASES) == set(bodies.PUBLIC)


@pytest.fixture
def board_id(who: People) -> str:
    return people.board(who)


@pytest.fixture
def panel(who: People) -> Caller:
    return Caller({"node_id": None, "surface": "panel", "human": True})


@pytest.mark.parametrize("kind", sorted(CASES))
def test_a_command_is_applied_and_its_repetition_too(
    who: People, board_id: str, kind: str, human: Caller, alice: Caller, bob: Caller, panel: Caller
) -> None:
    name, fields = CASES[kind]
    caller = {"human": human, "alice": alice, "bob": bob, "panel": panel}[name]
    wish: dict[str, Any] = fields(who, board_id)
    if "boardId" in bodies.NAMED[kind].model_json_schema()["properties"]:
        wish = {"boardId": board_id, **wish}
    wish |= {"key": "once", "expectedRevision": log.head(board_id)[0]}
    first, again = caller.give(kind, **wish), caller.give(kind, **wish)
    assert (first.status in (200, 201), first.data["receipt"]["outcome"]) == (True, "applied"), first.data
    if kind != "leave_board":
        assert (again.status, again.data["receipt"]["outcome"]) == (200, "already_applied"), again.data
    assert first.data["receipt"]["events"] == again.data["receipt"]["events"]
