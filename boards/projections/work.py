"""Contracts and tasks."""

from __future__ import annotations

from typing import Any, Final

from boards import events as e
from boards.events import Recorded
from boards.models import Contract, Task
from boards.projections.base import on
from boards.rows import insert, update

NO_OFFER: Final = {"offered_to": "", "offer_note": ""}
"""An offer to hand over ends with the claim that it was made from."""


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
        trust=data.trust,
        stated_sender=data.stated_sender,
        resumes_as="",
        created_at=event.at,
        updated_at=event.at,
        revision=event.revision,
    )
    for task in data.tasks:
        _insert_task(event, data.contract_id, task)


def _insert_task(event: Recorded, contract_id: str, task: e.TaskSpec) -> None:
    insert(
        Task,
        task_id=task.task_id,
        board_id=event.board_id,
        contract_id=contract_id,
        title=task.title,
        eligible=task.eligible,
        status="open",
        holder="",
        fencing=0,
        lease_seconds=0,
        lease_until=None,
        claimed_at=None,
        last_holder="",
        offered_to="",
        offer_note="",
        revision=event.revision,
    )


@on(e.ContractEdited)
def contract_edited(event: Recorded, data: e.ContractEdited) -> None:
    body = data.body()
    _contract(
        event,
        data.contract_id,
        objective=data.objective,
        owners=data.owners,
        allowed_actions=body["allowedActions"],
        stop_conditions=body["stopConditions"],
        required_evidence=body["requiredEvidence"],
        mutating=data.mutating,
        status=data.status,
        accepted_by=data.accepted_by,
        text_revision=data.text_revision,
    )
    _edit_tasks(event, data)


def _edit_tasks(event: Recorded, data: e.ContractEdited) -> None:
    known = set(Task.objects.filter(contract_id=data.contract_id).values_list("task_id", flat=True))
    Task.objects.filter(task_id__in=known - {task.task_id for task in data.tasks}).delete()
    for task in data.tasks:
        if task.task_id in known:
            update(Task, task.task_id, title=task.title, eligible=task.eligible, revision=event.revision)
        else:
            _insert_task(event, data.contract_id, task)


@on(e.ContractWithdrawn)
def contract_withdrawn(event: Recorded, data: e.ContractWithdrawn) -> None:
    _contract(event, data.contract_id, status="withdrawn", reason=data.reason)


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
        **NO_OFFER,
    )


@on(e.TaskUpdated)
def task_updated(event: Recorded, data: e.TaskUpdated) -> None:
    note = data.note if data.offered_to else ""
    update(Task, data.task_id, offered_to=data.offered_to, offer_note=note, revision=event.revision)


@on(e.TaskHandedOver)
def task_handed_over(event: Recorded, data: e.TaskHandedOver) -> None:
    update(
        Task,
        data.task_id,
        holder=data.node_id,
        last_holder=data.from_node,
        fencing=data.fencing,
        lease_seconds=data.lease_seconds,
        lease_until=data.lease_until,
        claimed_at=event.at,
        revision=event.revision,
        **NO_OFFER,
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
        **NO_OFFER,
    )


@on(e.TaskCompleted)
def task_completed(event: Recorded, data: e.TaskCompleted) -> None:
    columns = {"status": "done", "last_holder": data.node_id, "lease_until": None}
    update(Task, data.task_id, revision=event.revision, **columns, **NO_OFFER)
