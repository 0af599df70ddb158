"""The scripted agents of the demo: they stand where a model would be, and write what AgInTiFlow would write.

They reach the board as any agent does, through commands in their own name.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from agentlink_site.demo.example import Example
from boards import words
from boards.commands import execute
from boards.schemas import AcknowledgeMessage, Actor
from boards.times import iso, now
from peers.adapters.agintiflow.lock import inbox_lock

Json = dict[str, Any]


class ScriptedAgent:
    """One session of the example, with its log, its inbox and its project."""

    def __init__(self, session_id: str, project: str, example: Example) -> None:
        self.session_id, self.folder = session_id, example.session(session_id)
        self.project = example.projects / project
        self.actor = Actor(session_id, "cli", session_id=session_id)
        self.step = 100

    # --- its log ---------------------------------------------------------------------------------------------------

    def log(self, event_type: str, **data: Any) -> str:
        """Appends one event to the session's log, as one write; returns its time."""
        at = iso(now())
        self._append("events.jsonl", {"timestamp": at, "type": event_type, "data": data})
        return at

    def resume(self) -> None:
        """The session runs again, as after `aginti resume`."""
        self.log("session.resumed", sessionId=self.session_id)

    def think(self, content: str) -> None:
        """A sign of life: one step of a model that is none."""
        self.step += 1
        named = {"step": self.step, "provider": "scripted", "model": "demo"}
        self.log("model.requested", **named)
        self.log("model.responded", step=self.step, content=content, toolCalls=[])

    def command(self, command: str, stdout: str, exit_code: int = 0, stderr: str = "") -> str:
        """A command that is said to have run; returns the time of its end."""
        self.log("tool.started", toolName="run_command", args={"command": command})
        result = {"ok": exit_code == 0, "exitCode": exit_code, "stdout": stdout, "stderr": stderr}
        return self.log("tool.completed", toolName="run_command", args={"command": command}, sandbox="host", **result)

    def write(self, path: str, content: str) -> None:
        """Writes a file of its project and says so in the log."""
        target = self.project / path
        before = target.read_bytes() if target.exists() else b""
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
        self.log("file.changed", **_change(path, before, content.encode()), commandCwd=str(self.project))

    def _append(self, name: str, record: Json) -> None:
        with open(self.folder / name, "ab") as file:
            file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    # --- its inbox -------------------------------------------------------------------------------------------------

    def waiting(self) -> list[Json]:
        """The items of its inbox that it has not taken in."""
        done = {record["key"] for record in self._records("inbox-acknowledgements.jsonl")}
        return [item for item in self._records("inbox.jsonl") if f"id:{item['id']}" not in done]

    def take_in(self) -> list[Json]:
        """Takes every waiting item into its conversation, as AgInTiFlow does: first the log, then the inbox's note."""
        items = self.waiting()
        for item in items:
            given = {"id": item["id"], "prompt": item["content"]}
            self.log("conversation.queued_input_applied", **given, source=item["source"], priority=item["priority"])
        if items:
            with inbox_lock(self.folder):
                for item in items:
                    record = {"key": f"id:{item['id']}", "acknowledgedAt": iso(now())}
                    self._append("inbox-acknowledgements.jsonl", record)
        return items

    def answer(self, board_id: str, message_id: str, answer: words.Answer, note: str = "") -> None:
        """Its own answer to a message; an answer given before is left as it is."""
        wish = AcknowledgeMessage(board_id=board_id, message_id=message_id, answer=answer, note=note)
        execute(wish, self.actor, key=f"demo-{message_id}-{answer}")

    def _records(self, name: str) -> list[Json]:
        """The whole lines; one that is being written right now comes next time."""
        path = self.folder / name
        whole = path.read_text().rpartition("\n")[0] if path.exists() else ""
        return [json.loads(line) for line in whole.splitlines() if line]


def _change(path: str, before: bytes, after: bytes) -> Json:
    """The facts of a changed file, in AgInTiFlow's fields."""
    old, new = (text.decode().splitlines() for text in (before, after))
    removed = [f"-{line}" for line in old if line not in new]
    added = [f"+{line}" for line in new if line not in old]
    return {
        "ok": True,
        "action": "apply_patch_update" if before else "create_file",
        "path": path,
        "beforeHash": hashlib.sha256(before).hexdigest() if before else None,
        "afterHash": hashlib.sha256(after).hexdigest(),
        "beforeBytes": len(before),
        "afterBytes": len(after),
        "created": not before,
        "diff": "\n".join([f"--- a/{path}", f"+++ b/{path}", "@@ line 1 @@", *removed, *added]),
        "toolName": "apply_patch" if before else "write_file",
    }
