"""The packaged example, laid out in a scratch folder as if its sessions had been running up to this moment.

The files are AgInTiFlow's own forms. Their clock ends at noon of a fixed day, their folders lie below ``/demo``; here
times are moved to now and folders to the scratch folder; index and pointers are written as AgInTiFlow writes them.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from boards.times import iso

SOURCE: Final = Path(__file__).parent / "example"
LATEST: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""The example's newest event."""
FRESH: Final = timedelta(seconds=4)
"""How long ago the newest event shall have been."""
TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
RECORDS: Final = frozenset({".json", ".jsonl"})

INDEX: Final = """
CREATE TABLE sessions (
  session_id TEXT PRIMARY KEY,
  project_root TEXT NOT NULL DEFAULT '', command_cwd TEXT NOT NULL DEFAULT '',
  project_sessions_dir TEXT NOT NULL DEFAULT '', session_dir TEXT NOT NULL DEFAULT '',
  provider TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '',
  goal TEXT NOT NULL DEFAULT '', title TEXT NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL DEFAULT '', updated_at TEXT NOT NULL DEFAULT '', ended_at TEXT,
  result TEXT NOT NULL DEFAULT '', error TEXT NOT NULL DEFAULT ''
)"""
ROW: Final = "INSERT INTO sessions VALUES (:id, :root, :root, :pointers, :dir, :provider, :model, :goal, :title, 'saved', :created, :updated, NULL, '', '')"  # noqa: E501

Json = dict[str, Any]


class Example(NamedTuple):
    """Where the example lies."""

    agintiflow: Path
    projects: Path

    def session(self, session_id: str) -> Path:
        """The folder of a session."""
        return self.agintiflow / "sessions" / session_id


def lay_out(scratch: Path) -> Example:
    """Writes the example below ``scratch``, an empty folder; the newest event is a few seconds old afterwards."""
    example = Example(scratch / "agintiflow", scratch / "projects")
    shift = datetime.now(UTC) - FRESH - LATEST
    for source in sorted(path for path in SOURCE.rglob("*") if path.is_file()):
        _copy(source, example, shift)
    states = [json.loads(path.read_text()) for path in sorted(example.agintiflow.glob("sessions/*/state.json"))]
    _write_index(example, states)
    for state in states:
        _write_pointer(example, state)
        _set_times(example.session(state["sessionId"]))
    _set_times_of_projects(example, states)
    return example


def _copy(source: Path, example: Example, shift: timedelta) -> None:
    part = source.relative_to(SOURCE)
    target = (example.projects.parent if part.parts[0] == "projects" else example.agintiflow) / part
    target.parent.mkdir(parents=True, exist_ok=True)
    content = source.read_bytes()
    if part.parts[0] == "sessions" and source.suffix in RECORDS:
        content = _moved(content.decode(), example, shift).encode()
    target.write_bytes(content)


def _moved(text: str, example: Example, shift: timedelta) -> str:
    """The record with its times at the present and its folders in the scratch folder."""
    for name, folder in (("/demo/projects", example.projects), ("/demo/agintiflow", example.agintiflow)):
        text = text.replace(name, json.dumps(str(folder))[1:-1])
    return TIME.sub(lambda found: iso(datetime.fromisoformat(found[0]) + shift), text)


def _write_index(example: Example, states: list[Json]) -> None:
    """AgInTiFlow's index of sessions; it says "saved" whatever happened, as the program itself does."""
    with closing(sqlite3.connect(example.agintiflow / "sessions/index.sqlite")) as index, index:
        index.execute("PRAGMA journal_mode = WAL")
        index.execute(INDEX)
        index.executemany(ROW, [_row(example, state) for state in states])


def _row(example: Example, state: Json) -> Json:
    kept = {name: state[name] for name in ("provider", "model", "goal", "title")}
    root = state["commandCwd"]
    return kept | {
        "id": state["sessionId"],
        "root": root,
        "pointers": f"{root}/.aginti-sessions",
        "dir": str(example.session(state["sessionId"])),
        "created": state["createdAt"],
        "updated": state["updatedAt"],
    }


def _write_pointer(example: Example, state: Json) -> None:
    """The project's own note of a session."""
    folder = Path(state["commandCwd"]) / ".aginti-sessions" / state["sessionId"]
    folder.mkdir(parents=True)
    kept = {name: state[name] for name in ("sessionId", "commandCwd", "createdAt", "updatedAt", "title", "goal")}
    session = example.session(state["sessionId"])
    places = {
        "projectRoot": state["commandCwd"],
        "sessionDir": str(session),
        "artifactsDir": str(session / "artifacts"),
        "provider": state["provider"],
        "model": state["model"],
    }
    (folder / "session.json").write_text(json.dumps(kept | places, indent=2) + "\n")


def _set_times(session: Path) -> None:
    """Every file of a session is as old as its last event."""
    last = list(_events(session))[-1]
    for path in session.rglob("*"):
        _touch(path, last["timestamp"])


def _set_times_of_projects(example: Example, states: list[Json]) -> None:
    """A project's file is as old as the event that tells of its last change, else as the oldest session."""
    oldest = min(state["createdAt"] for state in states)
    for path in example.projects.rglob("*"):
        _touch(path, oldest)
    for state in states:
        for event in _events(example.session(state["sessionId"])):
            if event["type"] == "file.changed":
                _touch(Path(event["data"]["commandCwd"]) / event["data"]["path"], event["timestamp"])


def _events(session: Path) -> Iterator[Json]:
    return (json.loads(line) for line in (session / "events.jsonl").read_text().splitlines())


def _touch(path: Path, at: str) -> None:
    seconds = datetime.fromisoformat(at).timestamp()
    os.utime(path, (seconds, seconds))
