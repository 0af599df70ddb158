"""Events of contracts and their tasks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from boards.events.base import EventData, Instant, Item, Shape


class TaskSpec(Shape):
    """A task as the contract lists it."""

    task_id: str
    title: str
    eligible: list[str] = Field(default_factory=list)


class ContractProposed(EventData, name="contract.proposed", entity=("contract", "contract_id"), version=2):
    """A contract's text, its owners and its tasks. Since version 2 with where it came from."""

    contract_id: str
    objective: str
    owners: dict[str, list[str]]
    allowed_actions: list[Item]
    stop_conditions: list[Item]
    required_evidence: list[Item]
    tasks: list[TaskSpec]
    mutating: bool
    proposed_by: str
    accepted_by: list[str]
    status: Literal["proposed", "accepted"]
    trust: str = ""
    stated_sender: str = ""


class ContractEdited(EventData, name="contract.edited", entity=("contract", "contract_id")):
    """A new text, whole; acceptances of the old one have lapsed. ``tasks`` are all its tasks from now on."""

    contract_id: str
    node_id: str
    text_revision: int
    objective: str
    owners: dict[str, list[str]]
    allowed_actions: list[Item]
    stop_conditions: list[Item]
    required_evidence: list[Item]
    tasks: list[TaskSpec]
    mutating: bool
    accepted_by: list[str]
    status: Literal["proposed", "accepted"]


class ContractWithdrawn(EventData, name="contract.withdrawn", entity=("contract", "contract_id")):
    """Its proposer took it back."""

    contract_id: str
    node_id: str
    reason: str = ""


class ContractAccepted(EventData, name="contract.accepted", entity=("contract", "contract_id")):
    """One owner agreed; ``accepted_by`` and ``status`` are what holds afterwards."""

    contract_id: str
    node_id: str
    text_revision: int
    accepted_by: list[str]
    status: Literal["proposed", "accepted"]


class ContractRejected(EventData, name="contract.rejected", entity=("contract", "contract_id")):
    """One owner refused."""

    contract_id: str
    node_id: str
    reason: str


class ContractActivated(EventData, name="contract.activated", entity=("contract", "contract_id")):
    """Its first task was claimed."""

    contract_id: str


class ContractBlocked(EventData, name="contract.blocked", entity=("contract", "contract_id")):
    """A stop condition was met."""

    contract_id: str
    blocker_id: str
    resumes_as: str


class ContractUnblocked(EventData, name="contract.unblocked", entity=("contract", "contract_id")):
    """Its last blocking blocker was resolved."""

    contract_id: str
    status: str


class ContractCompleted(EventData, name="contract.completed", entity=("contract", "contract_id")):
    """Every task is done and the gate let it through."""

    contract_id: str
    outcome: Literal["completed", "finished_blocked"]


class TaskClaimed(EventData, name="task.claimed", entity=("task", "task_id")):
    """The one claim that won."""

    task_id: str
    contract_id: str
    node_id: str
    fencing: int
    lease_seconds: int
    lease_until: Instant


class TaskRenewed(EventData, name="task.renewed", entity=("task", "task_id")):
    """The lease started anew."""

    task_id: str
    node_id: str
    fencing: int
    lease_seconds: int
    lease_until: Instant


class TaskUpdated(EventData, name="task.updated", entity=("task", "task_id")):
    """What its holder says of it. ``offered_to`` names who may take it over; empty when nobody may."""

    task_id: str
    node_id: str
    fencing: int
    note: str = ""
    offered_to: str = ""


class TaskHandedOver(EventData, name="task.handed_over", entity=("task", "task_id")):
    """The node that it was offered to took it: a new holder, a new lease, a new fencing number."""

    task_id: str
    contract_id: str
    from_node: str
    node_id: str
    fencing: int
    lease_seconds: int
    lease_until: Instant


class TaskReleased(EventData, name="task.released", entity=("task", "task_id")):
    """The holder gave it back."""

    task_id: str
    node_id: str
    fencing: int
    note: str = ""


class TaskExpired(EventData, name="task.expired", entity=("task", "task_id")):
    """The lease ended; the task is open again."""

    task_id: str
    node_id: str
    fencing: int
    lease_until: Instant


class TaskCompleted(EventData, name="task.completed", entity=("task", "task_id")):
    """Done, through the gate."""

    task_id: str
    contract_id: str
    node_id: str
    fencing: int
    evidence_ids: list[str]
    note: str = ""
