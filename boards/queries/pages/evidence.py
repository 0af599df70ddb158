"""Evidence with every check's line, blockers, and who owns what."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from boards.models import Blocker, Contract, Evidence, Summary
from boards.queries.pages.actions import Action, Place, words
from boards.queries.pages.contracts import MARKS, Lease, lease_of, task_line
from boards.queries.pages.paging import Shown, shown
from boards.queries.pages.snapshot import Face, Snapshot

NOTHING_NAMED: Final = "(no resource named)"


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


PER_PAGE: Final = 40
"""Cards, or lines of the table of owners, on one page."""


def evidence_cards(shot: Snapshot, page: int = 1) -> Shown[EvidenceCard]:
    """The bundles of the board, newest first."""
    newest = Evidence.objects.filter(board_id=shot.board.board_id).order_by("-created_at", "-evidence_id")
    part = shown(newest, newest.count(), page, PER_PAGE)
    contracts = Contract.objects.in_bulk({row.contract_id for row in part.rows})
    return part.of(lambda row: _bundle(shot, row, contracts[row.contract_id]))


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


def blocker_cards(shot: Snapshot, page: int = 1) -> Shown[BlockerCard]:
    """Open ones first, then resolved ones; newest first in each."""
    found = Blocker.objects.filter(board_id=shot.board.board_id)
    part = shown(found.order_by("status", "-opened_at", "-blocker_id"), found.count(), page, PER_PAGE)
    named = {evidence_id for row in part.rows for evidence_id in row.evidence_ids}
    bundles = list(Evidence.objects.filter(evidence_id__in=named).order_by("created_at", "evidence_id"))
    return part.of(lambda row: _blocker(shot, row, [one for one in bundles if one.evidence_id in row.evidence_ids]))


def _blocker(shot: Snapshot, row: Blocker, bundles: list[Evidence]) -> BlockerCard:
    place = Place(shot.board, "blockers", row.blocker_id, row.revision)
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

    rows: Shown[Owned]
    summaries: list[SummaryCard]


@dataclass(frozen=True, slots=True)
class Claim:
    """That a contract gives a resource to a node; ``first``: the contract's actions stand in this line."""

    resource: str
    node_id: str
    contract_id: str
    proposed: bool
    first: bool


def ownership(shot: Snapshot, page: int = 1) -> Ownership:
    """Resource by resource, in running contracts; a resource that two nodes own is marked."""
    claims = _claims(shot)
    holders: dict[str, set[str]] = defaultdict(set)
    for claim in claims:
        if not claim.proposed:
            holders[claim.resource.casefold().strip()].add(claim.node_id)
    claims.sort(key=lambda claim: claim.resource.casefold())
    shown_ = shown(claims, len(claims), page, PER_PAGE)
    part = shot.part(list(Contract.objects.filter(contract_id__in={claim.contract_id for claim in shown_.rows})))
    contracts = {row.contract_id: row for row in part.contracts}
    lines = shown_.of(lambda claim: _owned(part, claim, contracts[claim.contract_id], holders))
    return Ownership(lines, _summaries(shot))


def _claims(shot: Snapshot) -> list[Claim]:
    """Every line of the table, as little of each contract as that takes."""
    running = Contract.objects.filter(
        board_id=shot.board.board_id, status__in=("proposed", "accepted", "active", "blocked")
    )
    found = []
    for contract_id, status, owners in running.order_by("created_at", "contract_id").values_list(
        "contract_id", "status", "owners"
    ):
        pairs = [(node, thing) for node, things in owners.items() for thing in things or [NOTHING_NAMED]]
        found += [
            Claim(thing, node, contract_id, status == "proposed", n == 0) for n, (node, thing) in enumerate(pairs)
        ]
    return found


def _owned(shot: Snapshot, claim: Claim, contract: Contract, holders: dict[str, set[str]]) -> Owned:
    tasks, node = shot.tasks_of(contract), claim.node_id
    lease = next((lease_of(shot, task) for task in tasks if task.status == "claimed" and task.holder == node), None)
    others = set() if claim.proposed or claim.resource == NOTHING_NAMED else holders[claim.resource.casefold().strip()]
    clash = [shot.faces(other) for other in sorted(others - {node})]
    lines = [task_line(shot, contract, task, "ownership") for task in tasks] if claim.first else []
    actions = [action for line in lines for action in line.actions]
    return Owned(claim.resource, shot.faces(node), contract, lease, clash, actions)


def _summaries(shot: Snapshot) -> list[SummaryCard]:
    """One a member at most, and members are bounded."""
    rows = Summary.objects.filter(board_id=shot.board.board_id).order_by("node_id")
    return [SummaryCard(row, shot.faces(row.node_id), shot.faces(row.created_by)) for row in rows]
