"""Times as AgentLink writes them: UTC, ISO 8601, milliseconds, `Z`."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_FORM = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_now() -> str:
    return iso(datetime.now(UTC))


def parse(text: object) -> datetime | None:
    """The moment that a foreign timestamp names, or None when it names none (no zone, no time, not text)."""
    if not isinstance(text, str) or not _FORM.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def canonical(text: object) -> str:
    """The same moment in our form, or "" when the text names none. Safe to show and store whoever wrote it."""
    moment = parse(text)
    return iso(moment) if moment else ""
