from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

Verdict = Literal["verified", "rejected", "stale", "unavailable", "unverified"]

_WORST_FIRST: tuple[Verdict, ...] = (
    "rejected",
    "stale",
    "unavailable",
    "unverified",
    "verified",
)


@dataclass(frozen=True, slots=True)
class Check:
    """One look at one stated fact: which, how it came out, and a sentence for people."""

    name: str
    verdict: Verdict
    detail: str


def bundle_verdict(checks: Iterable[Check]) -> Verdict:
    """The worst verdict of a bundle's checks; a bundle without any check proves nothing and is `unverified`."""
    found = {check.verdict for check in checks}
    return next((verdict for verdict in _WORST_FIRST if verdict in found), "unverified")


def parse_time(stamp: str) -> datetime | None:
    """An ISO 8601 time as an aware UTC datetime; None when it is none. A time without zone is taken as UTC."""
    try:
        parsed = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)


def shown_time(moment: datetime) -> str:
    """UTC ISO 8601 with milliseconds and `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
