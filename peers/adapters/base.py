"""What every kind of agent session can be asked, whatever its store looks like (architecture, section 5).

An adapter only reads, except for `deliver`. Text in what it returns is the store's own, NOT redacted: `presence` cleans
it before anything is stored. Nothing that an agent wrote makes an adapter raise; it becomes a `Problem`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from peers.texts import Clean

Json = dict[str, Any]
StatusWord = Literal["running", "idle", "waiting", "stopped", "failed", "stale", "unknown"]
Step = Literal["queued", "claimed", "applied", "saved", "removed"]
Progress = Literal["queued", "claimed", "applied", "saved", "removed", "unknown"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something foreign that was skipped or not readable. `where` is a session id or a file's name, never a path."""

    code: str
    sentence: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    word: StatusWord
    reason: str


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """One session as its store tells it. Roots are absolute and private: they go to a local table only."""

    source: str
    session_id: str
    title: str = ""
    goal: str = ""
    project_root: str = ""
    command_cwd: str = ""
    session_dir: str = ""
    provider: str = ""
    model: str = ""
    status: StatusWord = "unknown"
    reason: str = ""
    result: str = ""
    error: str = ""
    created_at: str = ""
    last_activity_at: str = ""
    steps: int = 0
    goal_status: str = ""
    capabilities: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    details: Json = field(default_factory=dict)
    """What it last did, folded from its events: filesChanged, lastEvents, jobs, ...; each with its event's time."""
    life: Json = field(default_factory=dict)
    """What `status_at` needs to derive the status again later without reading the store."""


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """One line of a session's log. `offset` is the byte where the line starts, `end` the byte after its newline."""

    offset: int
    end: int
    timestamp: str
    type: str
    data: Json


@dataclass(frozen=True, slots=True)
class Mark:
    """One provable step of an inbox item of ours."""

    session_id: str
    item_id: str
    message_id: str
    step: Step
    at: str


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a growing file was read, and how to notice that it is another file now.

    `tail` is a digest of the last bytes before `offset`: a file rewritten in place keeps its inode but not these.
    """

    path: str
    inode: int
    size: int
    mtime_ns: int
    offset: int
    tail: str = ""


@dataclass(frozen=True, slots=True)
class Glance:
    """The store by stat alone: session id -> stamp. A stamp that did not change means: nothing to read again."""

    stamps: Mapping[str, str]
    problems: tuple[Problem, ...] = ()
    complete: bool = True
    """False when the store could not be listed: absence then means nothing."""


@dataclass(frozen=True, slots=True)
class Reading:
    facts: SessionFacts
    cursor: Cursor | None
    marks: tuple[Mark, ...]
    behind: bool
    """The log was longer than one scan reads; the next scan goes on where this one stopped."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A message on its way into one session. `content` is composed already, at most 8 kB of UTF-8."""

    message_id: str
    board_id: str
    kind: str
    from_node_id: str
    from_session_id: str
    to_node_id: str
    contract_id: str
    requires_ack: bool
    priority: Literal["asap", "normal"]
    content: str
    timestamp: str


@dataclass(frozen=True, slots=True)
class Handed:
    """Written and confirmed in the recipient's inbox: nothing more. `note` says what could not be done beside it."""

    at: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class NotNow:
    """Nothing was handed; the same call may succeed later."""

    reason: str


@dataclass(frozen=True, slots=True)
class Impossible:
    """Nothing was handed and nothing will be, until somebody changes something."""

    reason: str


@dataclass(frozen=True, slots=True)
class Reach:
    kind: Literal["push", "pull", "none"]
    wakes_idle: bool
    max_bytes: int
    sentence: str
    resume_command: str | None


class EventStream(Protocol):
    """Events of a log in order. After iteration `end` is where to go on and `problems` what was skipped."""

    end: int
    problems: list[Problem]

    def __iter__(self) -> Iterator[SessionEvent]: ...


class Adapter(Protocol):
    source: str

    def discover(self) -> Iterator[SessionFacts]:
        """Every session of the store, read in full. For incremental reading see `glance` and `read`."""

    def glance(self, watched: Collection[str] = ()) -> Glance:
        """What is there, without opening a session's file; newest first where it was not known before.

        Of very many sessions each call looks at some anew: at all that are ``watched`` or changed lately, and in turn
        at the others.
        """

    def read(
        self,
        session_id: str,
        *,
        cursor: Cursor | None = None,
        details: Json | None = None,
        open_items: Collection[str] = (),
        clean: Clean = ...,
    ) -> Reading | None:
        """One session, its log from `cursor` on, folded onto `details`. None when it is no session (any more).

        `clean` is applied to what goes into `details`. `open_items` are inbox items that were seen queued before and
        not seen leaving: those that are gone now without a trace come back as `removed`.
        """

    def status_at(self, life: Json, now: datetime) -> Status:
        """The status at `now` from a session's `life`: time passes and processes die without a file changing."""

    def events(self, session_id: str, after: int = 0) -> EventStream:
        """The session's events from byte offset `after` on, data as it was written."""

    def reach(self, facts: SessionFacts) -> Reach:
        """How a message gets to this session."""

    def deliver(self, session_id: str, envelope: Envelope) -> Handed | NotNow | Impossible:
        """Put the message in the session's inbox, once however often it is called. Never raises for foreign reasons."""

    def progress(self, session_id: str, message_id: str) -> Progress:
        """The furthest step that can be proved for a message handed before."""
