"""Commands, receipts and who acts: the shapes that every edge builds and gets back.

A command is a wish; only an accepted receipt says that something changed. Texts and lists are bounded here,
with sentences; what a command may do is decided in :mod:`boards.rules`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from boards import words

Outcome = Literal["applied", "already_applied", "conflict", "rejected", "failed"]


def _bounded(text: str) -> str:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > words.TEXT_LIMIT:
        raise ValueError(f"The text has {size:,} bytes; the limit is {words.TEXT_LIMIT:,}. Send a pointer to a file.")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("The text is empty; say something in it.")
    return text


def _short(text: str) -> str:
    text = " ".join(text.split())
    if len(text) > words.TITLE_LIMIT:
        raise ValueError(f"The title has {len(text)} characters; the limit is {words.TITLE_LIMIT}.")
    return text


def _safe_id(value: str) -> str:
    if not words.ID.match(value) or ".." in value:
        raise ValueError(f"{value[:80]!r} is not a valid id; use a-z, 0-9, '.', '_' and '-', at most 64 characters.")
    return value


def _item_texts(value: Any) -> Any:
    """Plain strings are accepted where listed things have an id and a text; ids are numbered later."""
    if isinstance(value, list):
        return [{"text": item} if isinstance(item, str) else item for item in value]
    return value


Id = Annotated[str, AfterValidator(_safe_id)]
Text = Annotated[str, AfterValidator(_bounded)]
FullText = Annotated[str, AfterValidator(_bounded), AfterValidator(_not_blank)]
Title = Annotated[str, AfterValidator(_short), AfterValidator(_not_blank)]
Ref = Annotated[str, Field(min_length=1, max_length=200)]
"""How somebody names a node: nodeId, sessionId or name; resolved in the transaction."""
Texts = Annotated[list[Text], Field(max_length=words.LIST_LIMIT)]


class Shape(BaseModel):
    """camelCase outside, snake_case inside; unknown keys are an error, so that a typo is never dropped."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)

    def body(self) -> dict[str, Any]:
        """The JSON form, camelCase, times as ISO text."""
        return self.model_dump(mode="json", by_alias=True)


class Item(Shape):
    """One allowed action, stop condition or required piece of evidence."""

    id: str = ""
    text: FullText


class TaskItem(Shape):
    """One listed task of a contract; without ``eligible`` every owner may claim it."""

    text: FullText
    eligible: list[Ref] = Field(default_factory=list, max_length=words.LIST_LIMIT)


Items = Annotated[list[Item], BeforeValidator(_item_texts), Field(max_length=words.LIST_LIMIT)]
TaskItems = Annotated[list[TaskItem], BeforeValidator(_item_texts), Field(max_length=words.LIST_LIMIT)]


class FilePointer(Shape):
    """A file by root and relative path; the absolute root stays in a local table (never shown)."""

    root: Literal["project", "session", "home", "artifacts"]
    path: str = Field(max_length=1024)
    session_id: str = Field(default="", max_length=200)
    size_bytes: int | None = Field(default=None, ge=0)
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")


class EventPointer(Shape):
    """One event of a session: the exact line that a bundle speaks of."""

    session_id: str = Field(max_length=200)
    event_type: str = Field(max_length=120)
    timestamp: str = Field(max_length=40)


class Check(Shape):
    """One line of a verification: what was looked at, and what was found."""

    name: str
    verdict: words.Verdict
    detail: str


class Command(Shape):
    """Base of all commands. ``kind`` is the command's name; ``entity`` says which row it speaks of."""

    kind: ClassVar[str]
    entity: ClassVar[tuple[str, str] | None] = None
    controlled: ClassVar[bool] = False
    """Controlled commands need a key and the revision that the caller saw (API and forms)."""

    def __init_subclass__(
        cls, kind: str = "", entity: tuple[str, str] | None = None, controlled: bool = False, **kwargs: Any
    ) -> None:
        super().__init_subclass__(**kwargs)
        if kind:
            cls.kind, cls.entity, cls.controlled = kind, entity, controlled
            COMMANDS[kind] = cls


COMMANDS: dict[str, type[Command]] = {}
"""Every command by its name."""


class BoardCommand(Command):
    """A command on one board."""

    board_id: Id


# --- home stream ---------------------------------------------------------------------------------------------------


class CreateIdentity(Command, kind="create_identity"):
    """First start only: makes the human node and the service node."""

    node_id: Id
    name: Title
    node_kind: Literal["human", "service"]


class DiscoverPeers(Command, kind="discover_peers"):
    """The scanner's finding: sessions seen for the first time."""

    sessions: list[dict[str, str]]


class RegisterNode(Command, kind="register_node", entity=("node", "node_id")):
    """Makes a durable mailbox with a name, bound to a session when one is named."""

    name: Title
    node_id: Id | None = None
    session_id: str = Field(default="", max_length=200)
    source: str = Field(default="", max_length=40)
    role: Text = ""
    capabilities: Texts = Field(default_factory=list)
    constraints: Texts = Field(default_factory=list)


class UpdateNode(Command, kind="update_node", entity=("node", "node_id")):
    """Changes what a node says of itself; what is left out stays."""

    node_id: Id
    name: Title | None = None
    role: Text | None = None
    capabilities: Texts | None = None
    constraints: Texts | None = None


# --- boards --------------------------------------------------------------------------------------------------------


class CreateBoard(Command, kind="create_board", entity=("board", "board_id")):
    """Makes a board; each member named is invited as a worker (or with the role given)."""

    title: Title
    objective: Text = ""
    board_id: Id | None = None
    members: dict[Ref, words.Role] = Field(default_factory=dict, max_length=words.LIST_LIMIT)


class UpdateBoard(BoardCommand, kind="update_board", entity=("board", "board_id")):
    """Changes title or objective."""

    title: Title | None = None
    objective: Text | None = None


class Invite(BoardCommand, kind="invite"):
    """Gives a node (or a discovered session) a role on the board."""

    node: Ref
    role: Literal["observer", "worker", "supervisor"] = "worker"


class JoinBoard(BoardCommand, kind="join_board"):
    """An invited node says that it is there."""


class LeaveBoard(BoardCommand, kind="leave_board"):
    """A member leaves; what it holds must be released first."""


class CloseBoard(BoardCommand, kind="close_board", entity=("board", "board_id"), controlled=True):
    """Asks the gate and, when nothing is missing, stores the final report."""

    note: Text = ""


# --- contracts and tasks -------------------------------------------------------------------------------------------


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


class TaskCommand(BoardCommand):
    """A command on one task; ``node`` is who it is done for."""

    task_id: Id
    node: Ref | None = None


class ClaimTask(TaskCommand, kind="claim_task", entity=("task", "task_id"), controlled=True):
    """Takes an open task, with a lease. Exactly one claim wins."""

    lease_seconds: int | None = None


class FencedCommand(TaskCommand):
    """A write by the holder: it names the fencing number that its claim returned."""

    fencing: int | None = None


class RenewTask(FencedCommand, kind="renew_task", entity=("task", "task_id"), controlled=True):
    """Starts the lease anew from now."""

    lease_seconds: int | None = None


class ReleaseTask(FencedCommand, kind="release_task", entity=("task", "task_id"), controlled=True):
    """Gives the task back."""

    note: Text = ""


class CompleteTask(FencedCommand, kind="complete_task", entity=("task", "task_id"), controlled=True):
    """Finishes the task through the gate."""

    note: Text = ""


class ExpireTask(TaskCommand, kind="expire_task"):
    """The timer's finding that a lease has ended."""


# --- messages ------------------------------------------------------------------------------------------------------


class SendMessage(BoardCommand, kind="send_message"):
    """A typed request or answer to members (``@board`` for all of them)."""

    to: list[Ref] = Field(min_length=1, max_length=words.LIST_LIMIT)
    type: words.MessageType = "task_request"
    content: FullText
    priority: words.Priority = "normal"
    contract_id: Id | None = None
    task_id: Id | None = None
    reply_to: Id | None = None
    refs: Annotated[list[dict[str, str]], Field(max_length=words.LIST_LIMIT)] = Field(default_factory=list)
    requires_ack: bool | None = None
    expires_at: datetime | None = None


class MessageCommand(BoardCommand):
    """A command on one message."""

    message_id: Id


class AcknowledgeMessage(MessageCommand, kind="acknowledge_message", entity=("message", "message_id")):
    """The recipient's own answer; nothing else ever counts as one."""

    answer: words.Answer
    note: Text = ""


class WithdrawMessage(MessageCommand, kind="withdraw_message", entity=("message", "message_id")):
    """Takes back what was not handed yet."""


class RecordStep(MessageCommand, kind="record_step"):
    """The delivery worker's proof of a step of one recipient's copy."""

    node_id: Id
    step: Literal["handed", "applied", "expired", "undeliverable"]
    adapter: str = ""
    reason: Text = ""


# --- evidence, blockers, summaries ---------------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, and through which edge.

    ``panel`` is true only for the person with the panel's cookie: human-only commands ask for it.
    """

    node_id: str
    surface: words.Surface = "api"
    panel: bool = False
    session_id: str = ""
    host: str = "local"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a command; only ``applied`` changed anything, and only it is stored."""

    outcome: Outcome
    command: str
    code: str = "ok"
    detail: str = ""
    key: str | None = None
    board_id: str | None = None
    revision: int | None = None
    entity: dict[str, Any] | None = None
    events: list[str] = field(default_factory=list)
    current: dict[str, Any] | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def accepted(self) -> bool:
        """Whether the wish holds now (by this call or by an earlier one with the same key)."""
        return self.outcome in ("applied", "already_applied")

    def body(self) -> dict[str, Any]:
        """The JSON form of interfaces.md."""
        return {
            "outcome": self.outcome,
            "code": self.code,
            "detail": self.detail,
            "command": self.command,
            "key": self.key,
            "boardId": self.board_id,
            "revision": self.revision,
            "entity": self.entity,
            "events": self.events,
            "current": self.current,
            **self.extra,
        }
