"""The adapter: AgInTiFlow's files behind the protocol of `peers.adapters.base`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path

from peers.adapters.agintiflow import discovery, fold, inbox, marks, status
from peers.adapters.agintiflow.events import Events
from peers.adapters.agintiflow.index import Index, IndexRow
from peers.adapters.agintiflow.state import State, read_state
from peers.adapters.base import (
    Cursor,
    Envelope,
    Glance,
    Handed,
    Impossible,
    Json,
    Mark,
    NotNow,
    Problem,
    Progress,
    Reach,
    Reading,
    SessionFacts,
    Status,
)
from peers.texts import Clean, as_is

# One scan reads at most this much of one log; the next goes on there. Other sessions must not wait for a giant.
SCAN_BYTES = 16 << 20

_HOW: dict[str, str] = {
    "running": "It reads its inbox before its next model step, after a long tool call at the latest.",
    "idle": "It waits in the session's inbox until somebody resumes the session.",
    "waiting": "It waits in the session's inbox until somebody decides the approval and resumes the session.",
    "stopped": "The session stopped; it waits in the inbox until somebody resumes the session.",
    "failed": "The session failed; it waits in the inbox until somebody resumes the session.",
    "stale": "Nobody can tell whether the session still runs; it waits in the inbox until the session reads it.",
    "unknown": "The session's state is unknown; it waits in the inbox until the session reads it.",
}


def _no_memory(session_id: str, item: str) -> set[str]:
    return set()


class AgInTiFlow:
    """Sessions under one AgInTiFlow home. `remembered` tells the steps that earlier scans recorded for an item."""

    source = "agintiflow"

    def __init__(self, home: Path, remembered: Callable[[str, str], set[str]] = _no_memory) -> None:
        self._sessions = home / "sessions"
        self._index = Index(self._sessions)
        self._glances = discovery.Glances(self._sessions, self._index)
        self._remembered = remembered

    def discover(self) -> Iterator[SessionFacts]:
        for session_id in self.glance().stamps:
            reading = self.read(session_id)
            if reading:
                yield reading.facts

    def glance(self, watched: Collection[str] = ()) -> Glance:
        return self._glances.glance(watched)

    def read(
        self,
        session_id: str,
        *,
        cursor: Cursor | None = None,
        details: Json | None = None,
        open_items: Collection[str] = (),
        clean: Clean = as_is,
    ) -> Reading | None:
        folder = self._folder(session_id)
        if folder is None:
            return None
        # The inbox before the log: what is compacted away left its applied event before it went.
        boxes = marks.look(folder, session_id)
        state = read_state(folder, session_id)
        row = self._index.rows().get(session_id, IndexRow())
        cwd = row.command_cwd or state.command_cwd
        root = discovery.project_root(session_id, row.project_root, cwd)
        log = Events(folder / "events.jsonl", cursor=cursor, budget=SCAN_BYTES, where=session_id)
        folded, proved = _follow(log, details if cursor else None, fold.Scribe(clean, root), session_id)
        proved += marks.of_boxes(boxes, session_id)
        # What could not be read is not gone.
        if not log.behind and not boxes.problems:
            proved += marks.vanished(open_items, boxes, proved, session_id)
        fold.note_problems(folded, log.problems)
        problems = (*state.problems, *boxes.problems, *fold.noted_problems(folded, session_id))
        places = {"project_root": root, "command_cwd": cwd, "session_dir": str(folder)}
        facts = _facts(session_id, state, row, folded, boxes, problems, log.behind, places)
        return Reading(facts, log.cursor, tuple(proved), log.behind)

    def status_at(self, life: Json, now: datetime) -> Status:
        return status.derive(life, now)

    def events(self, session_id: str, after: int = 0) -> Events:
        folder = self._folder(session_id)
        return Events((folder or self._sessions / "none") / "events.jsonl", after, where=session_id)

    def reach(self, facts: SessionFacts) -> Reach:
        command = None if facts.status == "running" else f"aginti resume {shlex.quote(facts.session_id)}"
        return Reach("push", False, inbox.CONTENT_LIMIT, _HOW[facts.status], command)

    def deliver(self, session_id: str, envelope: Envelope) -> Handed | NotNow | Impossible:
        try:
            folder = discovery.locate(self._sessions, session_id)
        except discovery.Refused as refused:
            return Impossible(refused.problem.sentence)
        except OSError as error:
            return NotNow(f"Nothing was handed: {error.strerror}.")
        if folder is None:
            return Impossible(f"There is no session {session_id} in AgInTiFlow's home: it has no state.json.")
        return inbox.hand_over(folder, envelope)

    def progress(self, session_id: str, message_id: str) -> Progress:
        item = marks.item_id(message_id)
        folder = self._folder(session_id)
        boxes = marks.look(folder, session_id) if folder else marks.Boxes()
        known = self._remembered(session_id, item)
        proofs: tuple[tuple[Progress, bool], ...] = (
            ("saved", "saved" in known or item in boxes.saved),
            ("applied", "applied" in known),
            ("claimed", item in boxes.claimed),
            ("queued", item in boxes.present),
            ("removed", "removed" in known),
        )
        return next((step for step, proved in proofs if proved), "unknown")

    def _folder(self, session_id: str) -> Path | None:
        try:
            return discovery.locate(self._sessions, session_id)
        except (discovery.Refused, OSError):
            return None


def _follow(log: Events, details: Json | None, scribe: fold.Scribe, session_id: str) -> tuple[Json, list[Mark]]:
    """Fold the log's new events onto `details`, and collect what they prove about our items."""
    folded: Json = dict(details or {})
    proved: list[Mark] = []
    for event in log.raw():
        if log.restarted:  # known only once the file is open: what was folded from the file before is void
            folded, log.restarted = {}, False
        fold.take(folded, event, scribe)
        mark = marks.of_event(event, session_id)
        if mark:
            proved.append(mark)
    if log.restarted:
        folded = {}
    return folded, proved


def _facts(
    session_id: str,
    state: State,
    row: IndexRow,
    folded: Json,
    boxes: marks.Boxes,
    problems: tuple[Problem, ...],
    behind: bool,
    places: dict[str, str],
) -> SessionFacts:
    last = folded.get("lifecycle", {})
    life = {
        "type": last.get("type", ""),
        "reason": last.get("reason", ""),
        "approval": folded.get("approval", ""),
        "lastAt": max(folded.get("lastAt", ""), state.updated_at),
        "goalStatus": state.goal_status,
        "pid": boxes.pid,
        "claimedAt": boxes.pid_since,
        "behind": behind,
    }
    derived = status.derive(life, datetime.now(UTC))
    return SessionFacts(
        source=AgInTiFlow.source,
        session_id=session_id,
        title=state.title or row.title,
        goal=state.goal or row.goal,
        provider=state.provider,
        model=state.model,
        status=derived.word,
        reason=derived.reason,
        result=last.get("result", ""),
        error=last.get("error", ""),
        created_at=state.created_at,
        last_activity_at=life["lastAt"],
        steps=state.steps,
        goal_status=state.goal_status,
        capabilities=state.capabilities,
        constraints=state.constraints,
        problems=problems,
        details=folded,
        life=life,
        **places,
    )
