"""Projections: what each event does to the rows. They read their event and their own row, nothing else.

No clock, no counts of other rows: that is what makes "replay equals state" true, and a test holds it after every test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from boards import events as e
from boards import words
from boards.events import EventData, Recorded
from boards.keys import name_key, pair
from boards.models import (
    Blocker,
    Board,
    Contract,
    Delivery,
    Discovery,
    Evidence,
    Member,
    Message,
    Node,
    Summary,
    Task,
)
from boards.rows import insert, update

Projector = Callable[[Recorded, Any], None]
P = TypeVar("P", bound=Projector)
PROJECTORS: dict[type[EventData], Projector] = {}


def on(*kinds: type[EventData]) -> Callable[[P], P]:
    """Registers a function as what an event of these kinds does."""

    def register(function: P) -> P:
        for kind in kinds:
            PROJECTORS[kind] = function
        return function

    return register


def apply(event: Recorded) -> None:
    """Writes what the event changes; on a board also moves the board's head."""
    PROJECTORS[type(event.data)](event, event.data)
    if event.board_id:
        update(Board, event.board_id, head=event.revision, updated_at=event.at)


# --- home ----------------------------------------------------------------------------------------------------------


@on(e.IdentityCreated)
def identity_created(event: Recorded, data: e.IdentityCreated) -> None:
    _insert_node(event, e.PeerRegistered(node_id=data.node_id, name=data.name, kind=data.kind, trust="self"))


@on(e.PeerDiscovered)
def peer_discovered(event: Recorded, data: e.PeerDiscovered) -> None:
    key = pair(data.source, data.session_id)
    insert(Discovery, key=key, source=data.source, session_id=data.session_id, title=data.title, at=event.at)


@on(e.PeerRegistered)
def peer_registered(event: Recorded, data: e.PeerRegistered) -> None:
    _insert_node(event, data)


def _insert_node(event: Recorded, data: e.PeerRegistered) -> None:
    insert(
        Node,
        node_id=data.node_id,
        name=data.name,
        name_key=name_key(data.name),
        kind=data.kind,
        session_id=data.session_id,
        source=data.source,
        role=data.role,
        capabilities=data.capabilities,
        constraints=data.constraints,
        trust=data.trust,
        project_name=data.project_name,
        project_key=data.project_key,
        created_at=event.at,
        revision=event.revision,
    )


@on(e.PeerUpdated)
def peer_updated(event: Recorded, data: e.PeerUpdated) -> None:
    update(
        Node,
        data.node_id,
        name=data.name,
        name_key=name_key(data.name),
        role=data.role,
        capabilities=data.capabilities,
        constraints=data.constraints,
        revision=event.revision,
    )


# --- boards --------------------------------------------------------------------------------------------------------


@on(e.BoardCreated)
def board_created(event: Recorded, data: e.BoardCreated) -> None:
    insert(
        Board,
        board_id=data.board_id,
        title=data.title,
        objective=data.objective,
        status="active",
        trust=data.trust,
        link_id=data.link_id,
        created_by=event.actor,
        created_at=event.at,
        updated_at=event.at,
        closed_at=None,
        final_status="",
        report=None,
        project_name=data.project_name,
        project_key=data.project_key,
        revision=event.revision,
        head=event.revision,
    )
    _insert_member(event, event.actor, data.creator_role, "joined")


@on(e.BoardUpdated)
def board_updated(event: Recorded, data: e.BoardUpdated) -> None:
    update(Board, data.board_id, title=data.title, objective=data.objective, revision=event.revision)


def _insert_member(event: Recorded, node_id: str, role: str, state: str) -> None:
    key = pair(event.board_id, node_id)
    insert(
        Member,
        key=key,
        board_id=event.board_id,
        node_id=node_id,
        role=role,
        state=state,
        invited_by=event.actor,
        revision=event.revision,
    )


@on(e.BoardInvited)
def board_invited(event: Recorded, data: e.BoardInvited) -> None:
    key = pair(event.board_id, data.node_id)
    if Member.objects.filter(key=key).exists():
        update(Member, key, role=data.role, state="invited", invited_by=event.actor, revision=event.revision)
    else:
        _insert_member(event, data.node_id, data.role, "invited")


@on(e.BoardJoined)
def board_joined(event: Recorded, data: e.BoardJoined) -> None:
    update(Member, pair(event.board_id, data.node_id), state="joined", revision=event.revision)


@on(e.BoardLeft)
def board_left(event: Recorded, data: e.BoardLeft) -> None:
    update(Member, pair(event.board_id, data.node_id), state="left", revision=event.revision)


@on(e.BoardClosed)
def board_closed(event: Recorded, data: e.BoardClosed) -> None:
    update(
        Board,
        data.board_id,
        status="closed",
        closed_at=event.at,
        final_status=data.final_status,
        report=data.report,
        revision=event.revision,
    )


# --- contracts and tasks -------------------------------------------------------------------------------------------


@on(e.ContractProposed)
def contract_proposed(event: Recorded, data: e.ContractProposed) -> None:
    body = data.body()
    insert(
        Contract,
        contract_id=data.contract_id,
        board_id=event.board_id,
        objective=data.objective,
        owners=data.owners,
        allowed_actions=body["allowedActions"],
        stop_conditions=body["stopConditions"],
        required_evidence=body["requiredEvidence"],
        mutating=data.mutating,
        status=data.status,
        outcome="",
        proposed_by=data.proposed_by,
        accepted_by=data.accepted_by,
        rejected_by="",
        reason="",
        text_revision=1,
        resumes_as="",
        created_at=event.at,
        updated_at=event.at,
        revision=event.revision,
    )
    for task in data.tasks:
        insert(
            Task,
            task_id=task.task_id,
            board_id=event.board_id,
            contract_id=data.contract_id,
            title=task.title,
            eligible=task.eligible,
            status="open",
            holder="",
            fencing=0,
            lease_seconds=0,
            lease_until=None,
            claimed_at=None,
            last_holder="",
            revision=event.revision,
        )


def _contract(event: Recorded, contract_id: str, **columns: Any) -> None:
    update(Contract, contract_id, updated_at=event.at, revision=event.revision, **columns)


@on(e.ContractAccepted)
def contract_accepted(event: Recorded, data: e.ContractAccepted) -> None:
    _contract(event, data.contract_id, accepted_by=data.accepted_by, status=data.status)


@on(e.ContractRejected)
def contract_rejected(event: Recorded, data: e.ContractRejected) -> None:
    _contract(event, data.contract_id, status="rejected", rejected_by=data.node_id, reason=data.reason)


@on(e.ContractActivated)
def contract_activated(event: Recorded, data: e.ContractActivated) -> None:
    _contract(event, data.contract_id, status="active")


@on(e.ContractBlocked)
def contract_blocked(event: Recorded, data: e.ContractBlocked) -> None:
    _contract(event, data.contract_id, status="blocked", resumes_as=data.resumes_as)


@on(e.ContractUnblocked)
def contract_unblocked(event: Recorded, data: e.ContractUnblocked) -> None:
    _contract(event, data.contract_id, status=data.status, resumes_as="")


@on(e.ContractCompleted)
def contract_completed(event: Recorded, data: e.ContractCompleted) -> None:
    _contract(event, data.contract_id, status="done", outcome=data.outcome)


@on(e.TaskClaimed)
def task_claimed(event: Recorded, data: e.TaskClaimed) -> None:
    update(
        Task,
        data.task_id,
        status="claimed",
        holder=data.node_id,
        fencing=data.fencing,
        lease_seconds=data.lease_seconds,
        lease_until=data.lease_until,
        claimed_at=event.at,
        revision=event.revision,
    )


@on(e.TaskRenewed)
def task_renewed(event: Recorded, data: e.TaskRenewed) -> None:
    update(Task, data.task_id, lease_until=data.lease_until, lease_seconds=data.lease_seconds, revision=event.revision)


@on(e.TaskReleased, e.TaskExpired)
def task_reopened(event: Recorded, data: e.TaskReleased | e.TaskExpired) -> None:
    update(
        Task,
        data.task_id,
        status="open",
        holder="",
        last_holder=data.node_id,
        lease_until=None,
        claimed_at=None,
        revision=event.revision,
    )


@on(e.TaskCompleted)
def task_completed(event: Recorded, data: e.TaskCompleted) -> None:
    update(Task, data.task_id, status="done", last_holder=data.node_id, lease_until=None, revision=event.revision)


# --- messages ------------------------------------------------------------------------------------------------------


@on(e.MessageSent)
def message_sent(event: Recorded, data: e.MessageSent) -> None:
    insert(
        Message,
        message_id=data.message_id,
        board_id=event.board_id,
        sender=data.sender,
        recipients=data.to,
        message_type=data.message_type,
        priority=data.priority,
        content=data.content,
        contract_id=data.contract_id,
        task_id=data.task_id,
        reply_to=data.reply_to,
        thread_id=data.thread_id,
        refs=data.refs,
        requires_ack=data.requires_ack,
        expires_at=data.expires_at,
        chain_origin=data.chain_origin,
        hops=data.hops,
        created_at=event.at,
        position=event.position,
        revision=event.revision,
    )
    for node_id in data.to:
        _insert_delivery(event, data.message_id, node_id)


def _insert_delivery(event: Recorded, message_id: str, node_id: str) -> None:
    insert(
        Delivery,
        key=pair(message_id, node_id),
        message_id=message_id,
        board_id=event.board_id,
        node_id=node_id,
        step="queued",
        adapter="",
        answer="",
        note="",
        reason="",
        queued_at=event.at,
        handed_at=None,
        applied_at=None,
        acknowledged_at=None,
        ended_at=None,
    )


def _advance(event: Recorded, message_id: str, node_id: str, step: str, **columns: Any) -> None:
    """Sets the step unless a later one is already known; times are kept either way."""
    key = pair(message_id, node_id)
    known = Delivery.objects.values_list("step", flat=True).get(key=key)
    later = words.STEP_ORDER.get(known, 99) > words.STEP_ORDER.get(step, 98)
    update(Delivery, key, **({} if later else {"step": step}), **columns)


@on(e.MessageReceived)
def message_received(event: Recorded, data: e.MessageReceived) -> None:
    _advance(event, data.message_id, data.node_id, "handed", handed_at=event.at, adapter=data.adapter)


@on(e.MessageApplied)
def message_applied(event: Recorded, data: e.MessageApplied) -> None:
    _advance(event, data.message_id, data.node_id, "applied", applied_at=event.at)


@on(e.MessageAcknowledged)
def message_acknowledged(event: Recorded, data: e.MessageAcknowledged) -> None:
    columns = {"answer": data.answer, "note": data.note, "acknowledged_at": event.at}
    _advance(event, data.message_id, data.node_id, "acknowledged", **columns)
    update(Message, data.message_id, revision=event.revision)


@on(e.MessageExpired)
def message_expired(event: Recorded, data: e.MessageExpired) -> None:
    update(Delivery, pair(data.message_id, data.node_id), step="expired", ended_at=event.at)


@on(e.MessageUndeliverable)
def message_undeliverable(event: Recorded, data: e.MessageUndeliverable) -> None:
    key = pair(data.message_id, data.node_id)
    update(Delivery, key, step="undeliverable", ended_at=event.at, reason=data.reason)


@on(e.MessageWithdrawn)
def message_withdrawn(event: Recorded, data: e.MessageWithdrawn) -> None:
    for node_id in data.node_ids:
        update(Delivery, pair(data.message_id, node_id), step="withdrawn", ended_at=event.at)
    update(Message, data.message_id, revision=event.revision)


# --- evidence, blockers, summaries ---------------------------------------------------------------------------------


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
