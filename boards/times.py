"""One form of time: UTC, milliseconds, ``Z``. Only edges and the log ask what time it is."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """The present, cut to the millisecond that every stored form keeps."""
    present = datetime.now(UTC)
    return present.replace(microsecond=present.microsecond // 1000 * 1000)


def iso(moment: datetime) -> str:
    """``2026-11-30T19:27:57.514Z``."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def parse(text: str) -> datetime:
    """The reverse of :func:`iso`; raises ``ValueError`` for anything that is no time."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
