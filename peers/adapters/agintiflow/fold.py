"""What a session last did, folded from its events one after the other, small whatever the log's size.

The fold is JSON, so a scan can store it and go on from there. All text in it went through `clean` when it came in.
Every fact carries the time and type of its event: together with the session that is the reference to it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from peers.adapters.agintiflow.events import RawEvent
from peers.adapters.base import Json, Problem
from peers.texts import Clean, cleaned
from peers.times import canonical

LAST_EVENTS, FILES, JOBS, PROBLEMS = 12, 50, 20, 10
TOKEN, PATH, SENTENCE, TEXT = 80, 500, 500, 4000
OUTSIDE = "[outside the project]"
_TYPE = re.compile(r"[a-z][a-z0-9_.]{0,79}")

# Written into the session's log by others: no sign of life of the session itself.
BY_OTHERS = frozenset(
    {
        "agentlink.message.received",
        "conversation.queued_input",
        "conversation.queued_input_edited",
        "conversation.queued_input_removed",
        "conversation.piped_input",
        "session.stop_requested",
        "session.renamed",
        "permission.approval_granted",
        "permission.approval_declined",
    }
)


@dataclass(frozen=True, slots=True)
class Scribe:
    """Takes values from foreign data into the fold."""

    clean: Clean
    root: str

    def text(self, value: object, limit: int = TOKEN) -> str:
        return cleaned(value, self.clean, limit)

    def path(self, path: object, cwd: object) -> str:
        """Project-relative; `path` is relative to the session's `cwd`, unless that is outside (the project moved)."""
        if not isinstance(path, str) or not path or "\x00" in path:
            return ""
        inside = cwd if isinstance(cwd, str) and _relative(cwd, self.root) is not None else self.root
        relative = _relative(os.path.join(inside or "/", path), self.root or "/")
        return OUTSIDE if relative is None else self.text(relative, PATH)


def _relative(path: str, root: str) -> str | None:
    """`path` below `root`, by components and without looking at the disk; None when it is not below."""
    if not os.path.isabs(path) or not os.path.isabs(root):
        return None
    path, root = os.path.normpath(path), os.path.normpath(root)
    return os.path.relpath(path, root) if os.path.commonpath([path, root]) == root else None


def take(fold: Json, event: RawEvent, scribe: Scribe) -> None:
    """Take one event into the fold."""
    kind = event.type if _TYPE.fullmatch(event.type) else "unnamed"
    at = canonical(event.timestamp)
    fold["eventCount"] = fold.get("eventCount", 0) + 1
    if kind not in BY_OTHERS:
        fold["ownEventCount"] = fold.get("ownEventCount", 0) + 1
        # The last one written, not the greatest: one line from a wrong clock must not hold the time for ever.
        fold["lastAt"] = at or fold.get("lastAt", "")
    row: Json = {"type": kind, "at": at}
    folding = _FOLDING.get(kind)
    data = event.data() if folding else None
    if folding and data is not None:
        folding(fold, row, data, scribe)
    _keep(fold, "lastEvents", row, LAST_EVENTS)


def note_problems(fold: Json, problems: Sequence[Problem]) -> None:
    """Keep the last problems of the log: the lines that caused them are not read again."""
    rows = [{"code": problem.code, "sentence": problem.sentence} for problem in problems]
    if rows:
        fold["problems"] = [*fold.get("problems", ()), *rows][-PROBLEMS:]


def noted_problems(fold: Json, session_id: str) -> tuple[Problem, ...]:
    return tuple(Problem(row["code"], row["sentence"], session_id) for row in fold.get("problems", ()))


def _keep(fold: Json, key: str, row: Json, limit: int) -> None:
    fold[key] = [*fold.get(key, ()), row][-limit:]


def _started(fold: Json, row: Json, data: Json, scribe: Scribe) -> None:
    fold["lifecycle"] = dict(row)
    for key in ("blocked", "approval", "rejected"):
        fold.pop(key, None)


def _finished(fold: Json, row: Json, data: Json, scribe: Scribe) -> None:
    mode = scribe.text(data.get("mode"))
    result = scribe.text(data.get("result"), TEXT)
    fold["lifecycle"] = row | {"reason": f"finished: {mode}" if mode else "finished", "result": result}


def _ended(fold: Json, row: Json, data: Json, scribe: Scribe) -> None:
    detail = data.get("detail")
    error = data.get("error") or (detail.get("reason") if isinstance(detail, dict) else "")
    reason = scribe.text(data.get("reason"))
    fold["lifecycle"] = row | {"reason": reason, "error": scribe.text(error, SENTENCE)}


def _tool(fold: Json, row: Json, data: Json, scribe: Scribe) -> None:
    row["tool"] = scribe.text(data.get("toolName"))
    if isinstance(data.get("ok"), bool):
        row["ok"] = data["ok"]
    fold["lastTool"] = dict(row)


def _blocked(fold: Json, row: Json, data: Json, scribe: Scribe) -> None:
    _tool(fold, row, data, scribe)
    category = scribe.text(data.get("category"))
    fold["blocked"] = row | {"category": category, "reason": scribe.text(data.get("reason"), SENTENCE)}
    if data.get("needsApproval") is True:
        fold["approval"] = category or row["tool"] or "unnamed"


def _decided(fold: Json, row: Json, data: Json, scribe: Scribe) -> None:
    fold.pop("approval", None)


def _changed(fold: Json, row: Json, data: Json, scribe: Scribe) -> None:
    row["path"] = scribe.path(data.get("path"), data.get("commandCwd"))
    changed = row | {"action": scribe.text(data.get("action")), "sha256": _digest(data.get("afterHash"))}
    others = [known for known in fold.get("filesChanged", ()) if known["path"] != row["path"]]
    fold["filesChanged"] = [*others, changed][-FILES:]
    fold["changeCount"] = fold.get("changeCount", 0) + 1


def _digest(value: object) -> str:
    return value if isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) else ""


def _job(fold: Json, row: Json, data: Json, scribe: Scribe) -> None:
    output = scribe.path(data.get("expectedOutputPath"), data.get("cwd"))
    named = {key: scribe.text(data.get(key)) for key in ("jobId", "name", "target")}
    _keep(fold, "jobs", row | named | {"output": output}, JOBS)


def _canvas(fold: Json, row: Json, data: Json, scribe: Scribe) -> None:
    row["title"] = scribe.text(data.get("title"), PATH)


def _rejected(fold: Json, row: Json, data: Json, scribe: Scribe) -> None:
    fold["rejected"] = row | {"reason": scribe.text(data.get("reason"), SENTENCE)}


_FOLDING: dict[str, Callable[[Json, Json, Json, Scribe], None]] = {
    "session.created": _started,
    "session.resumed": _started,
    "session.finished": _finished,
    "session.stopped": _ended,
    "session.failed": _ended,
    "tool.started": _tool,
    "tool.completed": _tool,
    "tool.failed": _tool,
    "tool.blocked": _blocked,
    "permission.approval_granted": _decided,
    "permission.approval_declined": _decided,
    "file.changed": _changed,
    "long_job.started": _job,
    "canvas.item": _canvas,
    "completion.evidence_rejected": _rejected,
}
