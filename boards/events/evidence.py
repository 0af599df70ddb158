"""Events of evidence, blockers and summaries."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from boards.events.base import Check, EventData, EventPointer, FilePointer


class EvidenceAttached(EventData, name="evidence.attached", entity=("evidence", "evidence_id"), version=2):
    """A bundle, unverified. Since version 2 with where it came from."""

    evidence_id: str
    contract_id: str
    requirement_id: str | None
    node_id: str
    kind: str
    stands_for: Literal["proof", "blocker"] = "proof"
    summary: str
    events: list[EventPointer]
    artifacts: list[FilePointer]
    url: str = ""
    trust: str = ""
    stated_sender: str = ""


class EvidenceJudged(EventData):
    """What all verdicts share."""

    evidence_id: str
    node_id: str
    checks: list[Check] | None = None
    note: str = ""


class EvidenceChecked(EvidenceJudged, name="evidence.checked", entity=("evidence", "evidence_id")):
    """The checks could prove nothing either way."""

    verdict: Literal["unverified", "unavailable"]


class EvidenceVerified(EvidenceJudged, name="evidence.verified", entity=("evidence", "evidence_id")):
    """By the checks, or by name."""


class EvidenceRejected(EvidenceJudged, name="evidence.rejected", entity=("evidence", "evidence_id")):
    """By the checks, or by name."""


class EvidenceStale(EvidenceJudged, name="evidence.stale", entity=("evidence", "evidence_id")):
    """Older than the claim, or the file changed later."""


class BlockerOpened(EventData, name="blocker.opened", entity=("blocker", "blocker_id")):
    """Something stands in the way."""

    blocker_id: str
    cause: str
    summary: str
    node_id: str
    contract_id: str | None = None
    task_id: str | None = None
    stop_condition_id: str | None = None
    evidence_ids: list[str] = Field(default_factory=list)


class BlockerResolved(EventData, name="blocker.resolved", entity=("blocker", "blocker_id")):
    """Resolved by name."""

    blocker_id: str
    node_id: str
    resolution: str


class SummaryCreated(EventData, name="summary.created"):
    """A session's summary for its peers."""

    node_id: str
    session_id: str
    summary: dict[str, Any]
    text: str
