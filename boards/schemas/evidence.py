"""Commands on evidence, blockers and summaries."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from boards import words
from boards.schemas.base import BoardCommand, Check, EventPointer, FilePointer, FullText, Id, Ref, Text


class AttachEvidence(BoardCommand, kind="attach_evidence"):
    """Adds a bundle. Attaching proves nothing: the checks and the people do."""

    contract_id: Id
    requirement_id: Id | None = None
    kind_of: str = Field(default="file", max_length=40, alias="evidenceKind")
    stands_for: Literal["proof", "blocker"] = "proof"
    """A proof answers a requirement; what proves a blocker answers none, and may show a failure."""
    summary: FullText
    events: list[EventPointer] = Field(default_factory=list, max_length=words.LIST_LIMIT)
    artifacts: list[FilePointer] = Field(default_factory=list, max_length=words.LIST_LIMIT)
    url: str = Field(default="", max_length=2000)


class EvidenceCommand(BoardCommand):
    """A command on one bundle."""

    evidence_id: Id


class RecordChecks(EvidenceCommand, kind="record_checks"):
    """What the checks found, read outside the writer's lock."""

    checks: list[Check]
    verdict: words.Verdict
    only_changes: bool = False
    """For checks that nobody asked for: what was found before is not recorded again."""


class VerifyEvidence(EvidenceCommand, kind="verify_evidence", entity=("evidence", "evidence_id"), controlled=True):
    """Somebody other than the author vouches for the bundle by name."""

    note: Text = ""


class RejectEvidence(EvidenceCommand, kind="reject_evidence", entity=("evidence", "evidence_id"), controlled=True):
    """Somebody refuses the bundle, with a reason."""

    reason: FullText


class OpenBlocker(BoardCommand, kind="open_blocker"):
    """Says what stands in the way; with evidence it can stand in for a missing proof."""

    summary: FullText
    contract_id: Id | None = None
    task_id: Id | None = None
    stop_condition_id: Id | None = None
    evidence_ids: list[Id] = Field(default_factory=list, max_length=words.LIST_LIMIT)


class ResolveBlocker(BoardCommand, kind="resolve_blocker", entity=("blocker", "blocker_id"), controlled=True):
    """Says by name how the blocker ended."""

    blocker_id: Id
    resolution: FullText


class SummarizeSession(BoardCommand, kind="summarize_session"):
    """Stores a summary of fixed shape for the peers; never raw messages."""

    node: Ref
    summary: dict[str, Any]
    text: Text
