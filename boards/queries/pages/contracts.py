"""Contract cards by state: owners with their resources, leases with time left, each proof with its verdict."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from boards.models import Blocker, Contract, Evidence, Task
from boards.queries.pages.actions import Action, Place, checks, minutes, select, words
from boards.queries.pages.paging import Shown, longest, shown
from boards.queries.pages.snapshot import STEP, Face, Snapshot
from boards.rules.contracts import unowned
from boards.texts import span
from boards.words import LEASE_WARNING

LANES: Final = (
    ("Proposed", ("proposed",)),
    ("In progress", ("accepted", "active")),
    ("Blocked and closed", ("blocked", "done", "rejected", "withdrawn")),
)
PER_LANE: Final = 12
"""Cards of a lane on one page."""
MARKS: Final[dict[str, tuple[str, str]]] = {
    "verified": ("ok", "✓"),
    "rejected": ("bad", "✕"),
    "stale": ("warn", "◷"),
    "unavailable": ("no", "–"),
    "unverified": ("no", "○"),
}
"""Class and sign of a verdict."""
BEST_FIRST: Final = ("verified", "rejected", "stale", "unverified", "unavailable")
"""Which of several bundles' verdicts speaks for a requirement."""


@dataclass(frozen=True, slots=True)
class Owner:
    """An owner, what it may touch, and whether it has agreed to this text."""

    face: Face
    resources: list[str]
    accepted: bool


@dataclass(frozen=True, slots=True)
class Proof:
    """One required piece of evidence and how far it is proved."""

    text: str
    tone: str
    sign: str
    word: str


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds a task and how much of its lease is left, in seconds."""

    holder: Face
    until: datetime
    left: int
    whole: int
    text: str
    soon: bool
    fencing: int


@dataclass(frozen=True, slots=True)
class TaskLine:
    """One task of a contract with what can be done about it now."""

    row: Task
    shown: bool
    lease: Lease | None
    by: Face | None
    actions: list[Action]
    offered_to: Face | None = None

    @property
    def says_something(self) -> bool:
        """A contract's only task is shown as far as it adds to the contract's card."""
        return bool(self.shown or self.lease or self.by or self.actions or self.row.last_holder)


@dataclass(frozen=True, slots=True)
class ContractCard:
    """Everything that one card shows."""

    row: Contract
    owners: list[Owner]
    note: str
    reason: str
    proofs: list[Proof]
    tasks: list[TaskLine]
    blockers: list[Blocker]
    rules: list[tuple[str, str]]
    counted: str
    actions: list[Action]
    attach: bool
    receipt: str

    @property
    def tone(self) -> str:
        return {"blocked": "blocked", "done": "done", "rejected": "over", "withdrawn": "over"}.get(self.row.status, "")


@dataclass(frozen=True, slots=True)
class Lane:
    """Cards of one state."""

    title: str
    total: int
    cards: list[ContractCard]


@dataclass(frozen=True, slots=True)
class Lanes:
    """A page of each lane, and the longest list of them: the lanes are turned over together."""

    lanes: list[Lane]
    turned: Shown[Contract]


def contract_lanes(shot: Snapshot, page: int = 1) -> Lanes:
    """The contracts of a board, in three lanes, a page of each."""
    every = Contract.objects.filter(board_id=shot.board.board_id).order_by("created_at", "contract_id")
    counts = Counter(every.order_by().values_list("status", flat=True))
    totals = [sum(counts[state] for state in states) for _, states in LANES]
    page = min(page, max(1, -(-max(totals) // PER_LANE)))
    parts = [
        shown(every.filter(status__in=states), total, page, PER_LANE)
        for (_, states), total in zip(LANES, totals, strict=True)
    ]
    part = shot.part([row for one in parts if one.page == page for row in one.rows])
    lanes = [
        Lane(title, one.total, [contract_card(part, row) for row in one.rows] if one.page == page else [])
        for (title, _), one in zip(LANES, parts, strict=True)
    ]
    return Lanes(lanes, longest(parts))


def contract_card(shot: Snapshot, row: Contract) -> ContractCard:
    """One contract as its card shows it."""
    place = Place(shot.board, "contracts", row.contract_id, row.revision)
    rules = [("may", item["text"]) for item in row.allowed_actions]
    rules += [("stop when", item["text"]) for item in row.stop_conditions]
    return ContractCard(
        row=row,
        owners=[Owner(shot.faces(n), things, n in row.accepted_by) for n, things in row.owners.items()],
        note=_note(shot, row),
        reason=row.reason,
        proofs=proofs(row, shot.bundles_of(row)),
        tasks=[line for task in shot.tasks_of(row) if (line := task_line(shot, row, task)).says_something],
        blockers=shot.open_blockers_of(row),
        rules=rules,
        counted=_counted(row),
        actions=_actions(shot, row, place) if shot.open else [],
        attach=shot.open and row.status in ("accepted", "active", "blocked"),
        receipt=place.receipt,
    )


def _counted(row: Contract) -> str:
    allowed, stops = len(row.allowed_actions), len(row.stop_conditions)
    return f"{allowed} allowed action{_s(allowed)} · {stops} stop condition{_s(stops)}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _note(shot: Snapshot, row: Contract) -> str:
    """One line that says where the contract stands."""
    owners = len(row.owners)
    if row.status == "proposed":
        return f"Accepted by {len(set(row.owners) & set(row.accepted_by))} of {owners} owner{_s(owners)}"
    if row.status == "accepted":
        return "Accepted by every owner, not claimed yet" if owners else "Open to every worker, not claimed yet"
    if row.status == "rejected":
        return f"Rejected by {shot.faces(row.rejected_by).name}"
    if row.status == "done":
        return _closed(row, shot.bundles_of(row))
    return "Withdrawn" if row.status == "withdrawn" else ""


def _closed(row: Contract, bundles: list[Evidence]) -> str:
    verified = {bundle.requirement_id for bundle in bundles if bundle.verdict == "verified"}
    wanted = [item["id"] for item in row.required_evidence]
    met = len([item for item in wanted if item in verified]) if wanted else min(1, len(verified))
    how = "Finished, blocked," if row.outcome == "finished_blocked" else "Closed"
    return f"{how} with {met} verified of {len(wanted) or 1} required"


def proofs(row: Contract, bundles: list[Evidence]) -> list[Proof]:
    """Each requirement with the verdict that speaks for it; one line when none was listed."""
    if not row.required_evidence:
        return [_proof("one verified bundle of evidence", bundles)]
    return [
        _proof(item["text"], [bundle for bundle in bundles if bundle.requirement_id == item["id"]])
        for item in row.required_evidence
    ]


def _proof(text: str, bundles: list[Evidence]) -> Proof:
    verdicts = {bundle.verdict for bundle in bundles}
    best = next((verdict for verdict in BEST_FIRST if verdict in verdicts), None)
    tone, sign = MARKS[best] if best else ("no", "○")
    return Proof(text, tone, sign, best or "missing")


# --- tasks -----------------------------------------------------------------------------------------------------------


def task_line(shot: Snapshot, contract: Contract, task: Task, region: str = "contracts") -> TaskLine:
    """A task, its lease, and its buttons."""
    alone = len(shot.tasks_of(contract)) == 1
    by = shot.faces(task.last_holder) if task.status == "done" and task.last_holder else None
    actions = _task_actions(shot, contract, task, region) if shot.open else []
    offered_to = shot.faces(task.offered_to) if task.offered_to else None
    return TaskLine(task, not alone, lease_of(shot, task), by, actions, offered_to)


def lease_of(shot: Snapshot, task: Task) -> Lease | None:
    """The lease of a claimed task. A page stands for a step: it tells what is left at its end, never more."""
    if task.status != "claimed" or task.lease_until is None:
        return None
    remains = task.lease_until - (shot.at + STEP)
    left = max(0, int(remains.total_seconds()))
    soon = left < LEASE_WARNING.total_seconds()
    whole = max(task.lease_seconds, left, 1)
    return Lease(shot.faces(task.holder), task.lease_until, left, whole, span(remains), soon, task.fencing)


def eligible(shot: Snapshot, contract: Contract, task: Task) -> list[str]:
    """Who may claim the task: those it names, else the owners, else every worker of the board."""
    able = [row.node_id for row in shot.members if row.role in ("worker", "supervisor", "human")]
    named = task.eligible or list(contract.owners)
    return [node for node in named if node in able or node == shot.me] if named else able


def _task_actions(shot: Snapshot, contract: Contract, task: Task, region: str) -> list[Action]:
    place = Place(shot.board, region, contract.contract_id, task.revision)
    if task.status == "open" and contract.status in ("accepted", "active"):
        return _claim(shot, contract, task, place)
    if task.status == "claimed":
        return _holding(shot, contract, task, place)
    return []


def _claim(shot: Snapshot, contract: Contract, task: Task, place: Place) -> list[Action]:
    nodes = eligible(shot, contract, task)
    if not nodes:
        return []
    names = [(node, shot.faces(node).name) for node in nodes]
    who = select("node", "Claim for", names)
    hidden: dict[str, object] = {"taskId": task.task_id}
    return [place.action("claim_task", "Claim", hidden, who, minutes(), tone="primary", suffix=task.task_id)]


def _holding(shot: Snapshot, contract: Contract, task: Task, place: Place) -> list[Action]:
    hidden: dict[str, object] = {"taskId": task.task_id, "node": task.holder, "fencing": task.fencing}
    actions = []
    if task.offered_to:
        taking: dict[str, object] = {"taskId": task.task_id, "node": task.offered_to}
        actions.append(place.action("claim_task", "Take over", taking, minutes(), suffix=task.task_id))
    if contract.status in ("accepted", "active", "blocked") and shot.gate_of(contract).ready:
        note = words("note", "Note", required=False)
        actions.append(place.action("complete_task", "Complete", hidden, note, tone="primary", suffix=task.task_id))
    actions.append(place.action("renew_task", "Renew", hidden, minutes(), suffix=task.task_id))
    note = words("note", "Why", required=False)
    actions.append(place.action("release_task", "Release", hidden, note, tone="quiet", suffix=task.task_id))
    return actions


# --- contracts -------------------------------------------------------------------------------------------------------


def _actions(shot: Snapshot, row: Contract, place: Place) -> list[Action]:
    if row.status == "proposed":
        return [*accepting(shot, row, place), *_rejecting(shot, row, place)]
    if row.status in ("accepted", "active", "blocked"):
        return [*(_taking_away(row, place) if unowned(row) else []), _blocker(shot, row, place)]
    return []


def accepting(shot: Snapshot, row: Contract, place: Place) -> list[Action]:
    """Accept for one of the owners that have not yet; the human may do so for a session of the same user."""
    waiting = [node for node in row.owners if node not in row.accepted_by]
    hidden: dict[str, object] = {"contractId": row.contract_id, "textRevision": row.text_revision}
    if row.trust and not row.owners:  # nobody was asked: the person decides, and it is then open to every worker
        return [place.action("accept_contract", "Accept", hidden, tone="primary"), *_taking_away(row, place)]
    if len(waiting) == 1:
        label = "Accept" if waiting[0] == shot.me else f"Accept for {shot.faces(waiting[0]).name}"
        return [place.action("accept_contract", label, {**hidden, "node": waiting[0]}, tone="primary")]
    who = select("node", "Accept for", [(node, shot.faces(node).name) for node in waiting])
    return [place.action("accept_contract", "Accept", hidden, who, tone="primary")] if waiting else []


def _rejecting(shot: Snapshot, row: Contract, place: Place) -> list[Action]:
    if not row.owners:
        return []
    who = select("node", "Reject for", [(node, shot.faces(node).name) for node in row.owners])
    return [place.action("reject_contract", "Reject", {"contractId": row.contract_id}, who, words("reason", "Reason"))]


def _taking_away(row: Contract, place: Place) -> list[Action]:
    """A contract without owners is open at once; until somebody claims it, it can still be taken away."""
    return [place.action("reject_contract", "Reject", {"contractId": row.contract_id}, words("reason", "Reason"))]


def _blocker(shot: Snapshot, row: Contract, place: Place) -> Action:
    stops = [("", "none of them"), *((item["id"], item["text"]) for item in row.stop_conditions)]
    fields = [words("summary", "What stands in the way")]
    if row.stop_conditions:
        fields.append(select("stopConditionId", "Stop condition that is met", stops))
    bundles = [(item.evidence_id, f"{item.verdict}: {item.summary[:80]}") for item in shot.bundles_of(row)]
    if bundles:
        fields.append(checks("evidenceIds", "Evidence for it", bundles))
    return place.action("open_blocker", "Open blocker", {"contractId": row.contract_id}, *fields, tone="quiet")
