"""A session whose log is as large as one wants, with what sessions write: commands, changes, canvas items."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from peers.times import iso
from tests.peers.stores import make_session

START = datetime(2026, 11, 1, tzinfo=UTC)
KINDS = ("tool.started", "tool.completed", "file.changed", "canvas.item", "completion.evidence_rejected")
BLOCK = 400
"""Events that are made at once; the file repeats them with other times."""


def write(home: Path, session_id: str, size: int) -> Path:
    """Makes the session; its log has at least ``size`` bytes. Returns the log."""
    log = make_session(home, session_id) / "events.jsonl"
    written, number = 0, 0
    with log.open("wb", buffering=1 << 20) as file:
        while written < size:
            block = b"".join(_lines(number))
            written += file.write(block)
            number += BLOCK
    return log


def _lines(number: int) -> Iterator[bytes]:
    for place in range(number, number + BLOCK):
        kind = KINDS[place % len(KINDS)]
        data = {
            "toolName": "run_command",
            "exitCode": 0,
            "path": f"src/part{place % 5000}.py",
            "diff": f"+ line {place}\n" * 60,
            "artifactId": f"item-{place}",
            "title": f"Item {place}",
            "content": f"measured {place} " * 40,
            "requiredEvidence": ["the file"],
            "output": "0123456789abcdef" * 40,
        }
        at = iso(START + timedelta(milliseconds=place))
        yield json.dumps({"timestamp": at, "type": kind, "data": data}, separators=(",", ":")).encode() + b"\n"
