"""AgInTiFlow's home with many sessions, in its own form on disk. Needs no Django."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

ENDS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("session.finished", {"result": "The take is recorded and checked.", "mode": "finish-tool"}),
    ("session.stopped", {"reason": "max_steps_reached", "maxSteps": 24}),
    ("session.failed", {"reason": "runtime_error", "error": "The device did not answer."}),
    ("session.resumed", {}),
)
INDEX: Final = ("session_id", "project_root", "command_cwd", "project_sessions_dir", "session_dir", "provider", "model",
                "goal", "title", "status", "created_at", "updated_at", "ended_at", "result", "error")  # fmt: skip


def sessions(folder: Path, count: int) -> list[str]:
    """Makes AgInTiFlow's home with so many sessions and its index; returns their ids, oldest first.

    Of four one each has finished, was stopped, has failed, and began without an end. Times are those of the last days.
    """
    store = folder / "agintiflow" / "sessions"
    store.mkdir(parents=True)
    first = datetime.now(UTC) - timedelta(minutes=count + 10)
    rows = [_session(folder, store, number, first + timedelta(minutes=number)) for number in range(count)]
    _index(store / "index.sqlite", rows)
    return [row["session_id"] for row in rows]


def _session(folder: Path, store: Path, number: int, at: datetime) -> dict[str, Any]:
    session_id, project = f"work-{number:05d}", folder / "projects" / f"project-{number % 40:02d}"
    goal = f"Record take {number} and write down what it shows"
    created, updated = _iso(at), _iso(at + timedelta(seconds=40))
    common = {"provider": "mock", "model": "mock-agent", "goal": goal}
    ended, how = ENDS[number % len(ENDS)]
    record = {"sessionId": session_id, "createdAt": created, "updatedAt": updated, **common, "baseDir": str(project),
              "commandCwd": str(project), "startUrl": "", "plan": "", "stepsCompleted": 2, "meta": _meta(goal, created),
              "chat": [{"role": "user", "content": goal, "at": created}], "messages": []}  # fmt: skip
    here = store / session_id
    (here / "artifacts").mkdir(parents=True)
    (here / "state.json").write_text(json.dumps(record, indent=2))
    lines = _events(session_id, common, project, number, at)
    lines.append({"timestamp": updated, "type": ended, "data": how or {"sessionId": session_id}})
    (here / "events.jsonl").write_text("".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines))
    return {"session_id": session_id, "project_root": str(project), "command_cwd": str(project),
            "project_sessions_dir": str(project / ".aginti-sessions"), "session_dir": str(here), **common,
            "title": f"Take {number}", "status": "saved", "created_at": created, "updated_at": updated,
            "ended_at": None, "result": "", "error": ""}  # fmt: skip


def _meta(goal: str, at: str) -> dict[str, Any]:
    config = {"schemaVersion": 1, "permissionMode": "normal", "sandboxMode": "docker-workspace", "allowShellTool": True,
              "packageInstallPolicy": "prompt", "workspaceWritePolicy": "allow", "allowFileTools": True}  # fmt: skip
    contract = {"version": 2, "revision": 1, "status": "active", "currentPreview": goal, "updatedAt": at}
    return {"goalContract": contract, "runtimeConfig": config}


def _events(session_id: str, common: dict[str, str], project: Path, number: int, at: datetime) -> list[dict[str, Any]]:
    digest = hashlib.sha256(session_id.encode()).hexdigest()
    notes = {"ok": True, "action": "create_file", "path": f"notes/take-{number}.md", "beforeHash": None,
             "afterHash": digest, "beforeBytes": 0, "afterBytes": 412, "created": True, "toolName": "write_file",
             "commandCwd": str(project)}  # fmt: skip
    told: list[tuple[str, dict[str, Any]]] = [
        ("session.created", {"sessionId": session_id, **common, "routingMode": "manual", "goalRevision": 1}),
        ("skills.selected", {"taskProfile": "auto", "skills": [], "goal": common["goal"]}),
        ("budget.initialized", {"mode": "auto", "enabled": False, "initialMaxSteps": 24, "hardCap": 48}),
        ("model.requested", {"step": 1, "provider": "mock", "model": "mock-agent"}),
        ("model.responded", {"step": 1, "content": "The notes are written next.", "toolCalls": []}),
        ("tool.started", {"toolName": "write_file", "args": {"path": notes["path"], "content": "[412 bytes]"}}),
        ("tool.completed", {"ok": True, "toolName": "write_file", "path": notes["path"]}),
        ("file.changed", notes),
    ]
    moments = (_iso(at + timedelta(seconds=4 * turn)) for turn in range(len(told)))
    return [
        {"timestamp": moment, "type": kind, "data": data} for moment, (kind, data) in zip(moments, told, strict=True)
    ]


def _index(path: Path, rows: list[dict[str, Any]]) -> None:
    """The table as AgInTiFlow makes it."""
    columns = ["session_id TEXT PRIMARY KEY"]
    columns += ["ended_at TEXT" if name == "ended_at" else f"{name} TEXT NOT NULL DEFAULT ''" for name in INDEX[1:]]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"CREATE TABLE sessions ({', '.join(columns)})")
        values = ", ".join(f":{name}" for name in INDEX)
        connection.executemany(f"INSERT INTO sessions VALUES ({values})", rows)


def _iso(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
