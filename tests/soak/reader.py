"""Follows one session's log in a process of its own: ``python -m tests.soak.reader HOME SESSION WHAT``.

Its answer is one JSON line: the peak of its memory in kilobytes, how much of it came before the reading, and what was
found. ``WHAT``: ``nothing`` (the baseline), ``follow`` (as the scans do, turn by turn), ``artifacts``, ``summary`` or
``check`` (as evidence does).
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evidence import artifacts, checks, summary
from peers.adapters.agintiflow import AgInTiFlow
from peers.texts import as_is
from peers.times import parse


def nothing(store: AgInTiFlow, session_id: str, folder: Path) -> dict[str, Any]:
    return {}


def follow(store: AgInTiFlow, session_id: str, folder: Path) -> dict[str, Any]:
    """Turn by turn from the stored cursor on, until nothing is left; the longest turn in seconds."""
    reading = store.read(session_id)
    turns, longest = 1, 0.0
    while reading is not None and reading.behind:
        began = time.monotonic()
        reading = store.read(session_id, cursor=reading.cursor, details=reading.facts.details)
        longest = max(longest, time.monotonic() - began)
        turns += 1
    assert reading is not None and reading.cursor is not None
    return {
        "events": reading.facts.details["eventCount"],
        "offset": reading.cursor.offset,
        "turns": turns,
        "longest": longest,
    }


def derive(store: AgInTiFlow, session_id: str, folder: Path) -> dict[str, Any]:
    found = artifacts.derive(
        session_id, store.events(session_id), session_dir=folder, project_root=None, command_cwd=None
    )
    return {"items": len(found.items), "older": found.older}


def summarize(store: AgInTiFlow, session_id: str, folder: Path) -> dict[str, Any]:
    facts = summary.SummaryFacts("big", "", "idle", session_id, store.events(session_id))
    made = summary.summarize(facts, as_is)
    return {"size": made.size(), "leftOut": made.left_out}


def check(store: AgInTiFlow, session_id: str, folder: Path) -> dict[str, Any]:
    last = max(store.events(session_id), key=lambda event: event.timestamp)
    wanted = (last.type, parse(last.timestamp))
    same = [one for one in store.events(session_id) if (one.type, parse(one.timestamp)) == wanted]
    lines = checks.check_event(session_id, last.type, last.timestamp, same, claimed_at=None)
    return {"verdict": lines[0].verdict}


WHAT: dict[str, Callable[[AgInTiFlow, str, Path], dict[str, Any]]] = {
    "nothing": nothing,
    "follow": follow,
    "artifacts": derive,
    "summary": summarize,
    "check": check,
}


def main(home: str, session_id: str, what: str) -> None:
    store, folder = AgInTiFlow(Path(home)), Path(home) / "sessions" / session_id
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = WHAT[what](store, session_id, folder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"peak": peak, "before": before, **found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
