from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from evidence.artifacts import SessionEvent
from evidence.checks.verdicts import Check, parse_time, shown_time

FAILED_TYPES = frozenset({"tool.failed", "tool.blocked", "session.failed"})
"""Event types that say failure by themselves; any other event fails by `ok: false` in its data."""


def check_event(
    session_id: str,
    event_type: str,
    timestamp: str,
    events: Iterable[SessionEvent] | None,
    *,
    claimed_at: datetime | None,
    failure_expected: bool = False,
) -> list[Check]:
    """Check that a session's log holds this event, that it has not failed, and that it is not older than the claim.

    `events` is None when the session's log is not on this machine. With `failure_expected` (a blocker's evidence) a
    failed event is what is wanted. A tool event with an exit code gives a further check `exit`.
    """
    named = f"The event {event_type} at {timestamp}"
    if events is None:
        return [
            Check(
                "event",
                "unavailable",
                f"The log of session {session_id} is not on this machine.",
            )
        ]
    wanted = parse_time(timestamp)
    same = [event for event in events if event.type == event_type and wanted and parse_time(event.timestamp) == wanted]
    if not same:
        return [
            Check(
                "event",
                "rejected",
                f"{named} is not in the log of session {session_id}.",
            )
        ]
    checks = [_outcome(named, same, failure_expected)]
    checks += [_exit(named, code, failure_expected) for code in _exit_codes(same)[:1]]
    if claimed_at is not None and wanted is not None:
        checks.append(_age(named, wanted, claimed_at))
    return checks


def _outcome(named: str, same: list[SessionEvent], failure_expected: bool) -> Check:
    # Two events may share type and millisecond; one that failed is enough not to prove success.
    failed = any(_failed(event) for event in same)
    if failed and not failure_expected:
        return Check("event", "rejected", f"{named} is in the session's log, but it failed.")
    return Check(
        "event",
        "verified",
        f"{named} is in the session's log{' and failed' if failed else ''}.",
    )


def _failed(event: SessionEvent) -> bool:
    return event.type in FAILED_TYPES or _data(event).get("ok") is False


def _data(event: SessionEvent) -> Mapping[str, object]:
    return event.data if isinstance(event.data, Mapping) else {}


def _exit_codes(same: list[SessionEvent]) -> list[int]:
    codes = (_data(event).get("exitCode") for event in same)
    whole = [code for code in codes if isinstance(code, int) and not isinstance(code, bool)]
    return sorted(whole, key=abs, reverse=True)


def _exit(named: str, code: int, failure_expected: bool) -> Check:
    if code == 0 or failure_expected:
        return Check(
            "exit",
            "verified",
            f"{named} is a command that ended with exit code {code}.",
        )
    return Check(
        "exit",
        "rejected",
        f"{named} is a command that ended with exit code {code}, not 0.",
    )


def _age(named: str, happened: datetime, claimed_at: datetime) -> Check:
    if happened < claimed_at:
        return Check(
            "newer",
            "stale",
            f"{named} is older than the claim at {shown_time(claimed_at)}.",
        )
    return Check("newer", "verified", f"{named} is not older than the claim.")
