"""Durations as people type them: 90s, 10m, 2h, 1d."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from agentlink_site.cli.desk import Desk

UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def duration(text: str | None) -> timedelta | None:
    """The length of time that a text names; None when it names none."""
    found = re.fullmatch(r"(\d{1,6})([smhd])", text or "")
    return timedelta(**{UNITS[found[2]]: int(found[1])}) if found else None


def patience(desk: Desk, text: str) -> float:
    """Seconds of ``--timeout``; 0 only looks."""
    found = timedelta() if text == "0" else duration(text)
    if found is None:
        desk.refuse("bad_duration", f"--timeout is {text[:40]!r}; write it like 90s, 10m, 2h or 1d, or 0 to only look.")
    return found.total_seconds()
