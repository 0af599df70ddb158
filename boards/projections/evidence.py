"""Evidence, blockers and summaries."""

from __future__ import annotations

from boards import events as e
from boards.events import Recorded
from boards.keys import pair
from boards.models import Blocker, Evidence, Summary
from boards.projections.base import on
from boards.rows import insert, update


@on(e.EvidenceAttached)
def evidence_attached(event: Recorded, data: e.EvidenceAttached) -> None:
    body = data.body()
    insert(
        Evidence,
        evidence_id=data.evidence_id,
        board_id=event.board_id,
        contract_id=data.contract_id,
        requirement_id=data.requirement_id,
        node_id=data.node_id,
        kind=data.kind,
        stands_for=data.stands_for,
        summary=data.summary,
        events=body["events"],
        artifacts=body["artifacts"],
        url=data.url,
        verdict="unverified",
        checks=[],
        judged_by="",
        judged_at=None,
        note="",
        trust=data.trust,
        stated_sender=data.stated_sender,
        created_at=event.at,
        revision=event.revision,
    )


VERDICTS = {e.EvidenceVerified: "verified", e.EvidenceRejected: "rejected", e.EvidenceStale: "stale"}


@on(e.EvidenceChecked, e.EvidenceVerified, e.EvidenceRejected, e.EvidenceStale)
def evidence_judged(event: Recorded, data: e.EvidenceJudged) -> None:
    verdict = data.verdict if isinstance(data, e.EvidenceChecked) else VERDICTS[type(data)]
    columns = {} if data.checks is None else {"checks": data.body()["checks"]}
    update(
        Evidence,
        data.evidence_id,
        verdict=verdict,
        judged_by=data.node_id,
        judged_at=event.at,
        note=data.note,
        revision=event.revision,
        **columns,
    )


@on(e.BlockerOpened)
def blocker_opened(event: Recorded, data: e.BlockerOpened) -> None:
    insert(
        Blocker,
        blocker_id=data.blocker_id,
        board_id=event.board_id,
        contract_id=data.contract_id,
        task_id=data.task_id,
        stop_condition_id=data.stop_condition_id,
        cause=data.cause,
        summary=data.summary,
        evidence_ids=data.evidence_ids,
        status="open",
        opened_by=data.node_id,
        opened_at=event.at,
        resolved_by="",
        resolved_at=None,
        resolution="",
        revision=event.revision,
    )


@on(e.BlockerResolved)
def blocker_resolved(event: Recorded, data: e.BlockerResolved) -> None:
    update(
        Blocker,
        data.blocker_id,
        status="resolved",
        resolved_by=data.node_id,
        resolved_at=event.at,
        resolution=data.resolution,
        revision=event.revision,
    )


@on(e.PayloadErased)
def payload_erased(event: Recorded, data: e.PayloadErased) -> None:
    """The rows that the erased events made are rebuilt by the log; the event itself has no row."""


@on(e.SummaryCreated)
def summary_created(event: Recorded, data: e.SummaryCreated) -> None:
    key = pair(event.board_id, data.node_id)
    Summary.objects.filter(key=key).delete()
    insert(
        Summary,
        key=key,
        board_id=event.board_id,
        node_id=data.node_id,
        session_id=data.session_id,
        summary=data.summary,
        text=data.text,
        created_by=event.actor,
        created_at=event.at,
    )
