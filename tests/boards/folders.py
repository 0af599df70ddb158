"""The board folder in tests: a home of its own, AgInTiFlow's own ways of reading and writing it, and its fixture."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from boards import folder
from boards.folder import places
from boards.models import Event, FolderCursor

Json = dict[str, Any]
NODE = "aginti-labhost-dev-8944b07f"
AT = "2026-11-30T20:00:00.000Z"


def settle() -> None:
    """Turns until nothing is left to do."""
    for _ in range(50):
        if not folder.attempt_once():
            return
    raise AssertionError("the folder never settles")


def place(board_id: str, name: str) -> Path:
    return places.of_board(board_id) / name


def read(board_id: str, name: str) -> list[Json]:
    """As AgInTiFlow's own reader does: one torn line makes the whole file an empty list."""
    try:
        text = place(board_id, name).read_text(encoding="utf-8", errors="replace")
        return [json.loads(line) for line in map(str.strip, text.split("\n")) if line]
    except (OSError, ValueError):
        return []


def record(board_id: str, name: str) -> Json:
    """As it reads a whole file."""
    found: Json = json.loads(place(board_id, name).read_text())
    return found


def write(board_id: str, name: str, *records: Json | bytes) -> None:
    """As it appends: whole lines, no lock."""
    place(board_id, name).parent.mkdir(parents=True, exist_ok=True)
    with place(board_id, name).open("ab") as file:
        for one in records:
            file.write(one if isinstance(one, bytes) else json.dumps(one, separators=(",", ":")).encode() + b"\n")


def message(board_id: str, content: str = "How far are you?", **fields: Any) -> Json:
    """A line of ``aginti agentlink send``."""
    return {
        "timestamp": AT,
        "messageId": f"msg-{uuid.uuid4()}",
        "boardId": board_id,
        "kind": "status_request",
        "fromNodeId": NODE,
        "fromSessionId": "",
        "toNodeId": "",
        "toSessionId": "",
        "priority": "normal",
        "content": content,
        **fields,
    }


def evidence(board_id: str, **fields: Any) -> Json:
    """A line of ``aginti agentlink evidence``."""
    return {
        "timestamp": AT,
        "evidenceId": f"ev-{uuid.uuid4()}",
        "boardId": board_id,
        "kind": "evidence",
        "fromNodeId": NODE,
        "sessionId": "",
        "contractId": "",
        "summary": "Recorded 5.0 s, API ok",
        "path": "",
        "url": "",
        **fields,
    }


def claim(board_id: str, contract_id: str, **fields: Any) -> Json:
    """What ``aginti agentlink claim`` makes of a contract's file; its event says the same. Keys of ours are dropped."""
    made = {
        "contractId": contract_id,
        "boardId": board_id,
        "title": contract_id,
        "ownerSessionId": "kv260-recorder",
        "ownerNodeId": NODE,
        "instructions": "",
        "status": "claimed",
        "createdAt": AT,
        "updatedAt": AT,
        **fields,
    }
    path = place(board_id, f"contracts/{contract_id}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.1.2.tmp")
    draft.write_text(json.dumps(made, indent=2) + "\n")
    draft.replace(path)
    write(board_id, "events.jsonl", {"timestamp": AT, "type": "contract.updated", "data": made})
    return made


def is_whole(board_id: str) -> None:
    """Every event has its line once, in order where nothing was torn, and every file can be read by AgInTiFlow."""
    events = list(Event.objects.filter(stream=board_id).order_by("revision"))
    lines = [line for line in read(board_id, "events.jsonl") if "eventId" in line]
    assert sorted(line["revision"] for line in lines) == [row.revision for row in events]
    assert {line["eventId"]: line["digest"] for line in lines} == {row.event_id: row.digest for row in events}
    for name, kind, key in (
        ("messages.jsonl", "agentlink.message.sent", "messageId"),
        ("evidence.jsonl", "agentlink.evidence.attached", "evidenceId"),
    ):
        wanted = [json.loads(row.data) for row in events if row.type == kind]
        ids = [line[key] for line in read(board_id, name) if "eventId" in line]
        assert sorted(ids) == sorted(data[key] for data in wanted if not data.get("trust"))


def problems(board_id: str) -> list[str]:
    return [one["sentence"] for one in FolderCursor.objects.get(pk=board_id).problems]
