"""Alice (owner), Bob (member), Mallory (outsider) and the human at home; builders that call commands only.

Test data is therefore always a legal history.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from boards.commands import ensure_identity, execute
from boards.people import human_node_id
from boards.schemas import COMMANDS, Actor, Receipt

_numbers = itertools.count(1)


@dataclass(frozen=True)
class People:
    """Who takes part in a test."""

    human: Actor
    alice: Actor
    bob: Actor
    mallory: Actor


def give(kind: str, actor: Actor, *, key: str | None = None, expect: int | None = None, **fields: Any) -> Receipt:
    """Gives a command by its name and plain fields."""
    command = COMMANDS[kind].model_validate(fields)
    return execute(command, actor, key=key, expected_revision=expect)


def done(kind: str, actor: Actor, *, key: str | None = None, expect: int | None = None, **fields: Any) -> Receipt:
    """The same, for steps that must work."""
    receipt = give(kind, actor, key=key, expect=expect, **fields)
    assert receipt.outcome == "applied", receipt
    return receipt


def people() -> People:
    """The human and three registered nodes without sessions."""
    ensure_identity()
    human = Actor(human_node_id(), "panel")
    for name in ("alice", "bob", "mallory"):
        done("register_node", human, name=name)
    return People(human, *(Actor(name, "cli") for name in ("alice", "bob", "mallory")))


def board(who: People, **fields: Any) -> str:
    """A board by the human with Alice and Bob as workers; its id."""
    wish = {"title": f"Board {next(_numbers)}", "members": {"alice": "worker", "bob": "worker"}, **fields}
    receipt = done("create_board", who.human, **wish)
    assert receipt.board_id
    return receipt.board_id


def contract(who: People, board_id: str, **fields: Any) -> str:
    """A contract that Alice owns and has accepted; its id (also the id of its one task)."""
    wish = {"objective": "Record one file", "owners": {"alice": ["/dev/video0"]}, **fields}
    receipt = done("propose_contract", who.human, board_id=board_id, **wish)
    assert receipt.entity
    contract_id = str(receipt.entity["id"])
    if "alice" in wish["owners"]:
        done("accept_contract", who.alice, board_id=board_id, contract_id=contract_id)
    return contract_id


def claim(who: People, board_id: str, task_id: str) -> int:
    """Alice claims; the fencing number."""
    return int(done("claim_task", who.alice, board_id=board_id, task_id=task_id).extra["fencing"])


def evidence(who: People, board_id: str, contract_id: str, *, verified: bool = True, **fields: Any) -> str:
    """Alice attaches a statement; the human verifies it by name unless told otherwise."""
    wish = {"summary": "It was recorded.", "evidenceKind": "statement", **fields}
    receipt = done("attach_evidence", who.alice, board_id=board_id, contract_id=contract_id, **wish)
    assert receipt.entity
    evidence_id = str(receipt.entity["id"])
    if verified:
        done("verify_evidence", who.human, board_id=board_id, evidence_id=evidence_id)
    return evidence_id
