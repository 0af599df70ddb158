"""The gate: what is still missing before a task, a contract or a board may be called finished.

"The peer says done" is not evidence, and neither is a claim. An open blocker that verified evidence backs stands in for
what is missing: "finished, blocked".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from boards.models import Blocker, Contract, Evidence, Member, Task
from boards.rules.world import World

SETTLED: Final[frozenset[str]] = frozenset({"rejected", "withdrawn"})
"""Contracts that ask nothing of anybody any more."""


@dataclass(slots=True)
class Missing:
    """One thing that is still to do, under its category for a session's own finish gate."""

    category: Literal["peer_status", "peer_evidence", "contract_status", "ownership_boundary", "blocker_from_peer"]
    contract_id: str
    sentence: str
    requirement_id: str | None = None

    def body(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "category": self.category,
            "contractId": self.contract_id,
            "requirementId": self.requirement_id,
            "detail": self.sentence,
        }


@dataclass(slots=True)
class Gate:
    """The answer of the gate."""

    missing: list[Missing] = field(default_factory=list)
    standing_in: list[str] = field(default_factory=list)
    finished: int = 0

    @property
    def ready(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing

    @property
    def final_status(self) -> Literal["completed", "finished_blocked", "empty"]:
        """How the board would end now."""
        if self.standing_in:
            return "finished_blocked"
        return "completed" if self.finished else "empty"

    def body(self) -> dict[str, Any]:
        """The JSON form."""
        state = "not_ready" if self.missing else ("blocked" if self.standing_in else "ready")
        return {
            "state": state,
            "finalStatus": None if self.missing else self.final_status,
            "missing": [item.body() for item in self.missing],
            "standingIn": self.standing_in,
        }


def sentence(gate: Gate) -> str:
    """What is missing, in one sentence for people."""
    return "Not finished yet: " + " ".join(item.sentence for item in gate.missing)


def contract_gate(world: World, contract: Contract, *, states: tuple[str, ...] = ("open",)) -> Gate:
    """Whether the proof that this contract asks for is there; blockers in these ``states`` may stand in for it."""
    bundles = world.fetch(Evidence, contract_id=contract.contract_id, board_id=contract.board_id)
    proofs = [bundle for bundle in bundles if bundle.stands_for == "proof"]
    blockers = world.fetch(Blocker, contract_id=contract.contract_id, board_id=contract.board_id)
    blockers = [row for row in blockers if row.status in states]
    verified = {bundle.evidence_id for bundle in bundles if bundle.verdict == "verified"}
    backed = [row.blocker_id for row in blockers if verified & set(row.evidence_ids)]
    bare = [row for row in blockers if row.blocker_id not in backed and row.status == "open"]
    lacking = _requirements(contract, proofs)
    gate = Gate(standing_in=backed if lacking or contract.status == "blocked" else [])
    if not backed:
        gate.missing += lacking
    gate.missing += [_open_blocker(contract, row) for row in bare]
    return gate


def _requirements(contract: Contract, bundles: list[Evidence]) -> list[Missing]:
    if not contract.required_evidence:
        if any(bundle.verdict == "verified" for bundle in bundles):
            return []
        text = f"{contract.contract_id} has no verified evidence; it needs at least one bundle."
        return [Missing("peer_evidence", contract.contract_id, text)]
    return [
        _lacking(contract, item, bundles)
        for item in contract.required_evidence
        if not any(bundle.requirement_id == item["id"] and bundle.verdict == "verified" for bundle in bundles)
    ]


def _lacking(contract: Contract, item: dict[str, str], bundles: list[Evidence]) -> Missing:
    have = sorted({bundle.verdict for bundle in bundles if bundle.requirement_id == item["id"]})
    state = f"its evidence is {', '.join(have)}" if have else "nothing is attached"
    text = f"{contract.contract_id} lacks “{item['text']}” ({state})."
    return Missing("peer_evidence", contract.contract_id, text, item["id"])


def _open_blocker(contract: Contract, row: Blocker) -> Missing:
    text = (
        f"{contract.contract_id} has the open blocker {row.blocker_id} without verified evidence; resolve or prove it."
    )
    return Missing("blocker_from_peer", contract.contract_id, text)


def board_gate(world: World, board_id: str) -> Gate:
    """Whether every contract of the board is finished, or blocked with proof."""
    total = Gate()
    for contract in world.fetch(Contract, board_id=board_id):
        if contract.status in SETTLED:
            continue
        part = _finished(world, contract) if contract.status == "done" else _unfinished(world, contract)
        total.finished += contract.status == "done"
        total.missing += part.missing
        total.standing_in += part.standing_in
    return total


def _finished(world: World, contract: Contract) -> Gate:
    """A contract that is done: its proof must still hold, and what was blocked then may have been resolved since."""
    if contract.outcome != "finished_blocked":
        return contract_gate(world, contract)
    part = contract_gate(world, contract, states=("open", "resolved"))
    return Gate(part.missing, part.standing_in or [contract.contract_id])


def _unfinished(world: World, contract: Contract) -> Gate:
    if contract.status == "proposed":
        text = f"{contract.contract_id} is only proposed; accept or reject it."
        return Gate([Missing("contract_status", contract.contract_id, text)])
    part = contract_gate(world, contract)
    if part.missing:
        return part
    tasks = [task for task in world.fetch(Task, contract_id=contract.contract_id) if task.status != "done"]
    if part.standing_in:
        tasks = [task for task in tasks if task.holder]
    return Gate([_open_task(contract, task) for task in tasks], part.standing_in)


def _open_task(contract: Contract, task: Task) -> Missing:
    if task.holder:
        text = f"{task.task_id} is held by {task.holder} and not completed."
        return Missing("peer_status", contract.contract_id, text)
    return Missing("ownership_boundary", contract.contract_id, f"{task.task_id} is not claimed by anybody.")


def report(world: World, board_id: str) -> dict[str, Any]:
    """The final report: per contract its owners, its evidence with verdicts, and its blockers."""
    contracts = world.fetch(Contract, board_id=board_id)
    members = world.fetch(Member, board_id=board_id)
    return {
        "members": [{"nodeId": row.node_id, "role": row.role, "state": row.state} for row in members],
        "contracts": [_report_contract(world, contract) for contract in contracts],
        "blockers": [_report_blocker(row) for row in world.fetch(Blocker, board_id=board_id)],
    }


def _report_contract(world: World, contract: Contract) -> dict[str, Any]:
    bundles = world.fetch(Evidence, contract_id=contract.contract_id, board_id=contract.board_id)
    tasks = world.fetch(Task, contract_id=contract.contract_id, board_id=contract.board_id)
    return {
        "contractId": contract.contract_id,
        "objective": contract.objective,
        "status": contract.status,
        "outcome": contract.outcome,
        "owners": contract.owners,
        "requiredEvidence": contract.required_evidence,
        "tasks": [{"taskId": t.task_id, "status": t.status, "by": t.holder or t.last_holder} for t in tasks],
        "evidence": [_report_bundle(bundle) for bundle in bundles],
    }


def _report_bundle(bundle: Evidence) -> dict[str, Any]:
    return {
        "evidenceId": bundle.evidence_id,
        "requirementId": bundle.requirement_id,
        "nodeId": bundle.node_id,
        "summary": bundle.summary,
        "verdict": bundle.verdict,
        "judgedBy": bundle.judged_by,
    }


def _report_blocker(row: Blocker) -> dict[str, Any]:
    return {
        "blockerId": row.blocker_id,
        "contractId": row.contract_id,
        "summary": row.summary,
        "status": row.status,
        "evidenceIds": row.evidence_ids,
        "resolution": row.resolution,
    }
