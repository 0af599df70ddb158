"""Commands on contracts and tasks."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from boards import words
from boards.schemas.base import BoardCommand, FullText, Id, Items, Ref, TaskItems, Text, Texts


class ProposeContract(BoardCommand, kind="propose_contract", entity=("contract", "contract_id")):
    """Says who owns what, and which proof closes it."""

    objective: FullText
    contract_id: Id | None = None
    owners: dict[Ref, Texts] = Field(default_factory=dict, max_length=words.LIST_LIMIT)
    allowed_actions: Items = Field(default_factory=list)
    stop_conditions: Items = Field(default_factory=list)
    required_evidence: Items = Field(default_factory=list)
    tasks: TaskItems = Field(default_factory=list)
    mutating: bool = False


class ContractCommand(BoardCommand):
    """A command on one contract; ``node`` is who it is done for (the actor when left out)."""

    contract_id: Id
    node: Ref | None = None


class AcceptContract(ContractCommand, kind="accept_contract", entity=("contract", "contract_id"), controlled=True):
    """An owner agrees to this very text."""

    text_revision: int | None = None


class RejectContract(ContractCommand, kind="reject_contract", entity=("contract", "contract_id"), controlled=True):
    """An owner refuses, with a reason."""

    reason: FullText


class EditContract(BoardCommand, kind="edit_contract", entity=("contract", "contract_id")):
    """A new text; what is left out stays. Every acceptance of the old text lapses."""

    contract_id: Id
    objective: FullText | None = None
    owners: Annotated[dict[Ref, Texts], Field(max_length=words.LIST_LIMIT)] | None = None
    allowed_actions: Items | None = None
    stop_conditions: Items | None = None
    required_evidence: Items | None = None
    tasks: TaskItems | None = None
    mutating: bool | None = None


class WithdrawContract(BoardCommand, kind="withdraw_contract", entity=("contract", "contract_id")):
    """Its proposer takes back what was not accepted yet."""

    contract_id: Id
    reason: Text = ""


class TaskCommand(BoardCommand):
    """A command on one task; ``node`` is who it is done for."""

    task_id: Id
    node: Ref | None = None


class ClaimTask(TaskCommand, kind="claim_task", entity=("task", "task_id"), controlled=True):
    """Takes an open task, with a lease. Exactly one claim wins."""

    lease_seconds: Annotated[int, Field(ge=-(10**9), le=10**9)] | None = None


class FencedCommand(TaskCommand):
    """A write by the holder: it names the fencing number that its claim returned."""

    fencing: int | None = None


class RenewTask(FencedCommand, kind="renew_task", entity=("task", "task_id"), controlled=True):
    """Starts the lease anew from now."""

    lease_seconds: Annotated[int, Field(ge=-(10**9), le=10**9)] | None = None


class ReleaseTask(FencedCommand, kind="release_task", entity=("task", "task_id"), controlled=True):
    """Gives the task back."""

    note: Text = ""


class HandOverTask(FencedCommand, kind="hand_over_task", entity=("task", "task_id"), controlled=True):
    """Offers the task to another node, which takes it by its own claim; without ``to`` the offer is taken back."""

    to: Ref | None = None
    summary: Text = ""


class CompleteTask(FencedCommand, kind="complete_task", entity=("task", "task_id"), controlled=True):
    """Finishes the task through the gate."""

    note: Text = ""


class ExpireTask(TaskCommand, kind="expire_task"):
    """The timer's finding that a lease has ended."""
