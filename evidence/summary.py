"""The summary of a session: fixed fields from its events, never its raw messages, at most 4 kB.

Every line names the event that it was read from. What does not fit is left out whole lines at a time, and the summary
says how many.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evidence.artifacts import Clean, SessionEvent, project_relative

MAX_BYTES = 4_096
"""Of the summary as compact UTF-8 JSON."""

MOST_LINES = 400
"""Of each list, while the events are read: more than ever fits, however long the log is."""

LINE_CHARS = 240
OBJECTIVE_CHARS = 600


@dataclass(frozen=True, slots=True)
class Line:
    """One statement and the event that it was read from (`event_type`, `timestamp`)."""

    text: str
    event_type: str
    timestamp: str

    def as_json(self) -> dict[str, Any]:
        return {"text": self.text, "event": {"type": self.event_type, "timestamp": self.timestamp}}


@dataclass(frozen=True, slots=True)
class SummaryFacts:
    """What is known about a session. `status` is the derived one, `events` its log in order, `blockers` the board's
    open blockers of this node with the events that opened them, `evidence` the ids of its bundles."""

    node: str
    role: str
    status: str
    session_id: str
    events: Iterable[SessionEvent]
    project_root: Path | None = None
    command_cwd: Path | None = None
    evidence: tuple[str, ...] = ()
    blockers: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """The fixed schema; lists are newest first. `left_out` counts the lines that did not fit."""

    node: str
    role: str
    objective: Line | None
    status: str
    status_from: Line | None
    done: tuple[Line, ...]
    next: tuple[Line, ...]
    blockers: tuple[Line, ...]
    evidence: tuple[str, ...]
    files: tuple[Line, ...]
    left_out: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "node": self.node,
            "role": self.role,
            "objective": self.objective and self.objective.as_json(),
            "status": self.status,
            "statusFrom": self.status_from and self.status_from.as_json(),
            "done": [line.as_json() for line in self.done],
            "next": [line.as_json() for line in self.next],
            "blockers": [line.as_json() for line in self.blockers],
            "evidence": list(self.evidence),
            "filesChanged": [line.as_json() for line in self.files],
            "leftOut": self.left_out,
        }

    def size(self) -> int:
        """Bytes as compact UTF-8 JSON, the form that the limit speaks of."""
        return len(json.dumps(self.as_json(), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


@dataclass(slots=True)
class _Reading:
    """What has been read from the events so far; dictionaries keep the latest line per key."""

    facts: SummaryFacts
    clean: Clean
    objective: Line | None = None
    status_from: Line | None = None
    done: list[Line] = field(default_factory=list)
    next: list[Line] = field(default_factory=list)
    blockers: list[Line] = field(default_factory=list)
    files: dict[str, Line] = field(default_factory=dict)
    left_out: int = 0

    def keep(self) -> None:
        """Lets go of the oldest lines that cannot be shown any more."""
        for lines in (self.done, self.next, self.blockers):
            if len(lines) > MOST_LINES:
                del lines[0]
                self.left_out += 1
        if len(self.files) > MOST_LINES:
            del self.files[next(iter(self.files))]
            self.left_out += 1

    def line(self, event: SessionEvent, text: str, limit: int = LINE_CHARS) -> Line:
        return Line(_short(self.clean(text), limit), event.type, event.timestamp)


def summarize(facts: SummaryFacts, clean: Clean) -> Summary:
    """Summarise a session from its events; `clean` (the redactor) is applied to every text. Pure."""
    reading = _Reading(facts, clean)
    for event in facts.events:
        data = event.data if isinstance(event.data, Mapping) else {}
        if event.type in _READ:
            _READ[event.type](reading, event, data)
            reading.keep()
    blockers = [replace(line, text=_short(clean(line.text), LINE_CHARS)) for line in facts.blockers]
    return _fitted(
        Summary(
            node=facts.node,
            role=_short(clean(facts.role), LINE_CHARS),
            objective=reading.objective,
            status=facts.status,
            status_from=reading.status_from,
            done=_newest(reading.done),
            next=_newest(reading.next),
            blockers=(*blockers, *_newest(reading.blockers)),
            evidence=facts.evidence,
            files=_newest(list(reading.files.values())),
            left_out=reading.left_out,
        )
    )


def _created(reading: _Reading, event: SessionEvent, data: Mapping[str, Any]) -> None:
    if goal := _text(data, "goal"):
        reading.objective = reading.line(event, goal, OBJECTIVE_CHARS)
    reading.status_from = reading.line(event, "started")


def _resumed(reading: _Reading, event: SessionEvent, data: Mapping[str, Any]) -> None:
    reading.status_from = reading.line(event, "resumed")
    reading.next.clear()
    reading.blockers.clear()


def _finished(reading: _Reading, event: SessionEvent, data: Mapping[str, Any]) -> None:
    reading.status_from = reading.line(event, "finished")
    reading.next.clear()
    reading.blockers.clear()
    if _text(data, "result").strip():
        reading.done.append(reading.line(event, "Gave its final answer."))


def _stopped(reading: _Reading, event: SessionEvent, data: Mapping[str, Any]) -> None:
    reason = _text(data, "reason") or "no reason given"
    reading.status_from = reading.line(event, f"stopped: {reason}")
    reading.next.append(reading.line(event, f"Resume the session; it stopped before its end ({reason})."))


def _failed(reading: _Reading, event: SessionEvent, data: Mapping[str, Any]) -> None:
    reason = _text(data, "reason") or "no reason given"
    reading.status_from = reading.line(event, f"failed: {reason}")
    reading.blockers.append(reading.line(event, _joined("The session failed", reason, _text(data, "error"))))


def _changed(reading: _Reading, event: SessionEvent, data: Mapping[str, Any]) -> None:
    facts = reading.facts
    path = project_relative(
        _text(data, "path"), facts.project_root, (_text(data, "commandCwd"), str(facts.command_cwd or ""))
    )
    if path and data.get("ok") is not False:
        reading.files.pop(path, None)
        reading.files[path] = reading.line(event, path)


def _completed(reading: _Reading, event: SessionEvent, data: Mapping[str, Any]) -> None:
    tool, code = _text(data, "toolName"), data.get("exitCode")
    if tool == "run_command" and isinstance(code, int):
        reading.done.append(reading.line(event, f"Ran a command that ended with exit code {code}."))


def _blocked(reading: _Reading, event: SessionEvent, data: Mapping[str, Any]) -> None:
    tool = _text(data, "toolName") or "A tool"
    reason = _text(data, "reason") or _text(data, "error")
    reading.blockers.append(reading.line(event, _joined(f"{tool} was not possible", _text(data, "category"), reason)))


def _rejected(reading: _Reading, event: SessionEvent, data: Mapping[str, Any]) -> None:
    required = data.get("requiredEvidence")
    missing = [item for item in required if isinstance(item, str)] if isinstance(required, list) else []
    reading.next.append(reading.line(event, _joined("Bring the evidence that is missing", ", ".join(missing))))


def _canvas(reading: _Reading, event: SessionEvent, data: Mapping[str, Any]) -> None:
    reading.done.append(reading.line(event, _joined("Put on the canvas", _text(data, "title"))))


def _long_job(reading: _Reading, event: SessionEvent, data: Mapping[str, Any]) -> None:
    reading.next.append(reading.line(event, _joined("A long job runs", _text(data, "name"), _text(data, "jobId"))))


_READ: dict[str, Callable[[_Reading, SessionEvent, Mapping[str, Any]], None]] = {
    "session.created": _created,
    "session.resumed": _resumed,
    "session.finished": _finished,
    "session.stopped": _stopped,
    "session.failed": _failed,
    "file.changed": _changed,
    "tool.completed": _completed,
    "tool.blocked": _blocked,
    "tool.failed": _blocked,
    "completion.evidence_rejected": _rejected,
    "canvas.item": _canvas,
    "long_job.started": _long_job,
}

_SHORTENED = ("files", "done", "evidence", "next", "blockers")
"""Where lines are left out first: from the longest of these lists, the earlier name on a tie, its oldest line."""


def _fitted(summary: Summary) -> Summary:
    while summary.size() > MAX_BYTES:
        longest = max(_SHORTENED, key=lambda name: len(getattr(summary, name)))
        lines = getattr(summary, longest)
        if not lines:
            return _bare(summary)
        shorter: dict[str, Any] = {longest: lines[:-1], "left_out": summary.left_out + 1}
        summary = replace(summary, **shorter)
    return summary


def _bare(summary: Summary) -> Summary:
    """Everything that can be left out is; what remains is too long by itself, so the objective and role go too."""
    return replace(summary, objective=None, role="", left_out=summary.left_out + 2)


def _newest(lines: list[Line]) -> tuple[Line, ...]:
    return tuple(reversed(lines))


def _joined(*parts: str) -> str:
    return ": ".join(part for part in parts if part)


def _short(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[:limit]}... ({len(line) - limit} more characters)"


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""
