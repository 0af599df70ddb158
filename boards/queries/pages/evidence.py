"""Evidence with every check's line, blockers, and who owns what."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from boards.models import Blocker, Contract, Evidence, Summary
from boards.queries.pages.actions import Action, Place, words
from boards.queries.pages.contracts import MARKS, Lease, lease_of, task_line
from boards.queries.pages.snapshot import Face, Snapshot


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One look at one stated fact."""

    tone: str
    sign: str
    name: str
    word: str
    detail: str


@dataclass(frozen=True, slots=True)
class EvidenceCard:
    """A bundle, what it answers, what was checked, who judged it."""

    row: Evidence
    author: Face
    requirement: str
    checks: list[CheckLine]
    judge: Face | None
    tone: str
    actions: list[Action]
    receipt: str


def evidence_cards(shot: Snapshot) -> list[EvidenceCard]:
    """Every bundle of the board, newest first."""
    contracts = {row.contract_id: row for row in shot.contracts}
    return [_bundle(shot, row, contracts[row.contract_id]) for row in reversed(shot.bundles)]


def _bundle(shot: Snapshot, row: Evidence, contract: Contract) -> EvidenceCard:
    place = Place(shot.board, "evidence", row.evidence_id, row.revision)
    texts = {item["id"]: item["text"] for item in contract.required_evidence}
    return EvidenceCard(
        row=row,
        author=shot.faces(row.node_id),
        requirement=texts.get(row.requirement_id or "", ""),
        checks=check_lines(row),
        judge=shot.faces(row.judged_by) if row.judged_by else None,
        tone={"verified": "ok", "rejected": "bad", "stale": "warn"}.get(row.verdict, ""),
        actions=_judging(shot, row, contract, place) if shot.open else [],
        receipt=place.receipt,
    )


def check_lines(row: Evidence) -> list[CheckLine]:
    """The bundle's checks, with a sign for each."""
    return [CheckLine(*MARKS[line["verdict"]], line["name"], line["verdict"], line["detail"]) for line in row.checks]


def _judging(shot: Snapshot, row: Evidence, contract: Contract, place: Place) -> list[Action]:
    hidden: dict[str, object] = {"evidenceId": row.evidence_id}
    again = place.action("recheck", "Check again", hidden, tone="quiet")
    if contract.status == "done":
        return [again]
    failing = any(line["verdict"] == "rejected" for line in row.checks)
    actions = []
    if row.verdict != "verified" and row.node_id != shot.me and not failing:
        actions.append(place.action("verify_evidence", "Verify", hidden, words("note", "Note", required=False)))
    if row.verdict != "rejected":
        actions.append(place.action("reject_evidence", "Reject", hidden, words("reason", "Reason")))
    return [*actions, again]


# --- blockers --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BlockerCard:
    """What stands in the way, since when, with which proof."""

    row: Blocker
    by: Face
    resolver: Face | None
    proved: bool
    bundles: list[Evidence]
    actions: list[Action]
    receipt: str


def blocker_cards(shot: Snapshot) -> list[BlockerCard]:
    """Open ones first, then resolved ones; newest first in each."""
    newest = [_blocker(shot, row) for row in reversed(shot.blockers)]
    return sorted(newest, key=lambda card: card.row.status != "open")


def _blocker(shot: Snapshot, row: Blocker) -> BlockerCard:
    place = Place(shot.board, "blockers", row.blocker_id, row.revision)
    bundles = [bundle for bundle in shot.bundles if bundle.evidence_id in row.evidence_ids]
    return BlockerCard(
        row=row,
        by=shot.faces(row.opened_by),
        resolver=shot.faces(row.resolved_by) if row.resolved_by else None,
        proved=any(bundle.verdict == "verified" for bundle in bundles),
        bundles=bundles,
        actions=[resolving(place, row)] if shot.open and row.status == "open" else [],
        receipt=place.receipt,
    )


def resolving(place: Place, row: Blocker) -> Action:
    """Resolve by name, saying how."""
    return place.action(
        "resolve_blocker", "Resolve", {"blockerId": row.blocker_id}, words("resolution", "How it ended")
    )


# --- ownership -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Owned:
    """One resource, its owner, the contract that says so, and the lease."""

    resource: str
    owner: Face
    contract: Contract
    lease: Lease | None
    clash: list[Face]
    actions: list[Action]


@dataclass(frozen=True, slots=True)
class SummaryCard:
    """A session's summary for its peers."""

    row: Summary
    node: Face
    by: Face


@dataclass(frozen=True, slots=True)
class Ownership:
    """The table, and the summaries that sessions gave to their peers."""

    rows: list[Owned]
    summaries: list[SummaryCard]


def ownership(shot: Snapshot) -> Ownership:
    """Resource by resource, in running contracts; a resource that two nodes own is marked."""
    running = [row for row in shot.contracts if row.status in ("proposed", "accepted", "active", "blocked")]
    holders: dict[str, set[str]] = defaultdict(set)
    for contract in running:
        if contract.status != "proposed":
            for node, things in contract.owners.items():
                for thing in things:
                    holders[thing.casefold().strip()].add(node)
    rows = [row for contract in running for row in _owned(shot, contract, holders)]
    return Ownership(sorted(rows, key=lambda row: row.resource.casefold()), _summaries(shot))


def _owned(shot: Snapshot, contract: Contract, holders: dict[str, set[str]]) -> list[Owned]:
    tasks = shot.tasks_of(contract)
    held = {task.holder: task for task in tasks if task.status == "claimed"}
    claims = [action for task in tasks for action in task_line(shot, contract, task, "ownership").actions]
    found: list[Owned] = []
    for node, things in contract.owners.items():
        lease = lease_of(shot, held[node]) if node in held else None
        for thing in things or ["(no resource named)"]:
            others = holders[thing.casefold().strip()] - {node} if contract.status != "proposed" else set()
            clash = [shot.faces(other) for other in sorted(others)]
            found.append(Owned(thing, shot.faces(node), contract, lease, clash, claims if not found else []))
    return found


def _summaries(shot: Snapshot) -> list[SummaryCard]:
    rows = Summary.objects.filter(board_id=shot.board.board_id).order_by("node_id")
    return [SummaryCard(row, shot.faces(row.node_id), shot.faces(row.created_by)) for row in rows]
