"""Small AgInTiFlow homes made by hand, and envelopes to put into them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from peers.adapters.agintiflow.inbox import hand_over
from peers.adapters.base import Envelope, Handed
from peers.times import iso

ENVELOPE = Envelope(
    message_id="msg-1",
    board_id="light-sync",
    kind="task_request",
    from_node_id="alice",
    from_session_id="",
    to_node_id="bob",
    contract_id="record-run",
    requires_ack=True,
    priority="normal",
    content="[AgentLink light-sync] task_request from alice\n\nPlease rerun pattern A.",
    timestamp="2026-11-30T20:00:00.000Z",
)


def envelope(message_id: str = "msg-1", **changes: Any) -> Envelope:
    return replace(ENVELOPE, message_id=message_id, **changes)


def ago(seconds: float) -> str:
    return iso(datetime.now(UTC) - timedelta(seconds=seconds))


def event(kind: str, at: str = "2026-11-30T10:00:00.000Z", **data: Any) -> dict[str, Any]:
    return {"timestamp": at, "type": kind, "data": data}


def line(record: object) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def make_session(
    home: Path, session_id: str, events: Iterable[dict[str, Any]] = (), state: dict[str, Any] | None = None
) -> Path:
    """A session's folder with state.json and, when there are events, its log."""
    folder = home / "sessions" / session_id
    folder.mkdir(parents=True)
    facts = {"sessionId": session_id, "createdAt": ago(600), "updatedAt": ago(500), "goal": "Try it", "meta": {}}
    (folder / "state.json").write_text(json.dumps(facts | (state or {})))
    log = b"".join(line(record) for record in events)
    if log:
        (folder / "events.jsonl").write_bytes(log)
    return folder


def append(path: Path, *records: object) -> None:
    with path.open("ab") as file:
        for record in records:
            file.write(record if isinstance(record, bytes) else line(record))


def items(folder: Path) -> list[dict[str, Any]]:
    """inbox.jsonl, strictly: every line must be JSON and end with a newline."""
    return _strict(folder / "inbox.jsonl")


def log(folder: Path) -> list[dict[str, Any]]:
    """events.jsonl, as strictly as AgInTiFlow reads it."""
    return _strict(folder / "events.jsonl")


def received(folder: Path, message_id: str = "msg-1") -> list[dict[str, Any]]:
    kind = "agentlink.message.received"
    return [row for row in log(folder) if row["type"] == kind and row["data"]["messageId"] == message_id]


def _strict(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    assert raw == b"" or raw.endswith(b"\n")
    return [json.loads(piece) for piece in raw.split(b"\n") if piece]


def handed_note(folder: Path) -> str:
    """Hand over the standard envelope; the note of the answer, which must be `Handed`."""
    answer = hand_over(folder, ENVELOPE)
    assert isinstance(answer, Handed), answer
    return answer.note


def leftovers(folder: Path) -> list[str]:
    """Lock files and drafts that should be gone."""
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))
