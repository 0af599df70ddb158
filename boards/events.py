"""Every event: its name, its version and the shape of its data.

Events are the seed's names (and what the rules need besides), each prefixed ``agentlink.``. Their data carries all
that a projection needs, so that a projection reads its event and its own row and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel

from boards.schemas import Check, EventPointer, FilePointer, Item
from boards.times import iso

Instant = Annotated[datetime, PlainSerializer(iso, when_used="json")]


class EventData(BaseModel):
    """Base of all event data. A newer reader must still parse every older version (golden files hold that)."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)

    type: ClassVar[str] = ""
    version: ClassVar[int] = 1
    home: ClassVar[bool] = False
    entity: ClassVar[tuple[str, str] | None] = None
    """Kind and id field of the row whose own revision this event moves; none where it moves none."""

    def __init_subclass__(
        cls, name: str = "", home: bool = False, entity: tuple[str, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init_subclass__(**kwargs)
        if name:
            cls.type, cls.home, cls.entity = f"agentlink.{name}", home, entity
            EVENTS[cls.type] = cls

    def body(self) -> dict[str, Any]:
        """The JSON form that is stored and digested."""
        return self.model_dump(mode="json", by_alias=True)


EVENTS: dict[str, type[EventData]] = {}
"""Every event class by its type."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event as a projection sees it: the data, and where in the log it stands."""

    board_id: str
    revision: int
    position: int
    at: datetime
    actor: str
    data: EventData


class TaskSpec(BaseModel):
    """A task as the contract lists it."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    task_id: str
    title: str
    eligible: list[str] = Field(default_factory=list)


# --- home stream ---------------------------------------------------------------------------------------------------


class IdentityCreated(EventData, name="identity.created", home=True, entity=("node", "node_id")):
    """The human or the service node of this home."""

    node_id: str
    kind: Literal["human", "service"]
    name: str


class PeerDiscovered(EventData, name="peer.discovered", home=True):
    """A session was found in a store for the first time."""

    session_id: str
    source: str
    title: str
    project_name: str = ""


class PeerRegistered(EventData, name="peer.registered", home=True, entity=("node", "node_id")):
    """A node exists from now on."""

    node_id: str
    name: str
    kind: Literal["agent", "human", "service"] = "agent"
    session_id: str = ""
    source: str = ""
    role: str = ""
    capabilities: list[str] = Field(default_factory=list)
    constraints: list[str] = Field(default_factory=list)
    trust: str = "same-user-local"
    project_name: str = ""
    project_key: str = ""


class PeerUpdated(EventData, name="peer.updated", home=True, entity=("node", "node_id")):
    """What a node says of itself, whole."""

    node_id: str
    name: str
    role: str
    capabilities: list[str]
    constraints: list[str]


# --- boards --------------------------------------------------------------------------------------------------------


class BoardCreated(EventData, name="board.created", entity=("board", "board_id")):
    """A board for one objective."""

    board_id: str
    title: str
    objective: str
    link_id: str
    trust: str
    creator_role: str
    project_name: str = ""
    project_key: str = ""


class BoardUpdated(EventData, name="board.updated", entity=("board", "board_id")):
    """Title and objective, whole."""

    board_id: str
    title: str
    objective: str


class BoardInvited(EventData, name="board.invited"):
    """A node has a role from now on."""

    node_id: str
    role: str


class BoardJoined(EventData, name="board.joined"):
    """The node said that it is there."""

    node_id: str


class BoardLeft(EventData, name="board.left"):
    """The node is no member any more."""

    node_id: str


class BoardClosed(EventData, name="board.closed", entity=("board", "board_id")):
    """The gate let the board close; the report is part of the event."""

    board_id: str
    final_status: Literal["completed", "finished_blocked", "empty"]
    report: dict[str, Any]
    note: str = ""


# --- contracts -----------------------------------------------------------------------------------------------------


class ContractProposed(EventData, name="contract.proposed", entity=("contract", "contract_id")):
    """A contract's text, its owners and its tasks."""

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


# --- tasks ---------------------------------------------------------------------------------------------------------


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


# --- messages ------------------------------------------------------------------------------------------------------


class MessageSent(EventData, name="message.sent", entity=("message", "message_id")):
    """Queued for each recipient."""

    message_id: str
    sender: str
    to: list[str]
    message_type: str
    priority: str
    content: str
    contract_id: str | None = None
    task_id: str | None = None
    reply_to: str | None = None
    thread_id: str
    refs: list[dict[str, str]] = Field(default_factory=list)
    requires_ack: bool = False
    expires_at: Instant | None = None
    chain_origin: str
    hops: int = 0


class MessageReceived(EventData, name="message.received"):
    """Written and confirmed in the recipient's inbox: handed, not read."""

    message_id: str
    node_id: str
    adapter: str


class MessageApplied(EventData, name="message.applied"):
    """The store proves that it entered the conversation: not agreed."""

    message_id: str
    node_id: str


class MessageAcknowledged(EventData, name="message.acknowledged", entity=("message", "message_id")):
    """The recipient's own answer."""

    message_id: str
    node_id: str
    answer: str
    note: str = ""


class MessageExpired(EventData, name="message.expired"):
    """Its time ended before it was handed."""

    message_id: str
    node_id: str


class MessageUndeliverable(EventData, name="message.undeliverable"):
    """It cannot reach the recipient any more."""

    message_id: str
    node_id: str
    reason: str


class MessageWithdrawn(EventData, name="message.withdrawn", entity=("message", "message_id")):
    """The sender took it back from those whom it had not reached."""

    message_id: str
    node_ids: list[str]


# --- evidence, blockers, summaries ---------------------------------------------------------------------------------


class EvidenceAttached(EventData, name="evidence.attached", entity=("evidence", "evidence_id")):
    """A bundle, unverified."""

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
