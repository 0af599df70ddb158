from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from evidence.artifacts import SessionEvent
from evidence.checks.events import check_event
from evidence.checks.files import check_file
from evidence.checks.urls import check_url
from evidence.checks.verdicts import Check
from evidence.files import Pointer, Roots


@dataclass(frozen=True, slots=True)
class EventFact:
    """A session event as stated: `timestamp` in ISO 8601."""

    session_id: str
    event_type: str
    timestamp: str


@dataclass(frozen=True, slots=True)
class ArtifactFact:
    """A file as stated: where it lies, and its size in bytes and sha256 (hex) when they were stated."""

    root: str
    path: str
    size_bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class BundleFacts:
    """Everything that an evidence bundle states. `failure_expected` marks the evidence of a blocker."""

    events: tuple[EventFact, ...] = ()
    artifacts: tuple[ArtifactFact, ...] = ()
    url: str | None = None
    failure_expected: bool = False


def run(
    bundle: BundleFacts,
    roots: Roots,
    events: Mapping[str, Iterable[SessionEvent]],
    claimed_at: datetime | None,
    now: datetime,
    *,
    own_ports: Collection[int] = (),
) -> list[Check]:
    """Check every fact of a bundle, in the order: events, files, URL. An empty list means that it states none.

    `events` maps session ids to their logs (a missing id is `unavailable`); `own_ports` are our own servers' ports,
    which never count as proof. Both times are aware. Reads files and makes at most one request; takes seconds at
    worst, so it must run outside of any lock.
    """
    checks: list[Check] = []
    logs = {name: list(events[name]) for name in {fact.session_id for fact in bundle.events} if name in events}
    for fact in bundle.events:
        log = logs.get(fact.session_id)
        checks += check_event(
            fact.session_id,
            fact.event_type,
            fact.timestamp,
            log,
            claimed_at=claimed_at,
            failure_expected=bundle.failure_expected,
        )
    for artifact in bundle.artifacts:
        checks += check_file(
            Pointer(artifact.root, artifact.path),
            roots,
            size_bytes=artifact.size_bytes,
            sha256=artifact.sha256,
            claimed_at=claimed_at,
            now=now,
        )
    if bundle.url:
        checks.append(check_url(bundle.url, own_ports=own_ports))
    return checks
