"""The steps of our own inbox items, as far as files prove them. Items that others queued are not looked at.

queued: our line is in inbox.jsonl or our `agentlink.message.received` is in the log. claimed: a live claim. applied:
the log says that it entered the conversation. saved: an acknowledgement record (written after the conversation was
saved). removed: it was queued, is not any more, and left neither trace; or somebody's `queued_input_removed`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from peers.adapters.agintiflow.events import RawEvent, decoded_object, reason
from peers.adapters.agintiflow.files import opened
from peers.adapters.agintiflow.lines import Lines
from peers.adapters.agintiflow.status import claim_is_live
from peers.adapters.base import Json, Mark, Problem, Step
from peers.ids import is_message_id
from peers.times import canonical, iso_now

PREFIX = "inbox-agentlink-"
_EVENT_STEPS: dict[str, tuple[Step, str, str]] = {
    "conversation.queued_input_applied": ("applied", "id", ""),
    "conversation.queued_input_removed": ("removed", "itemId", ""),
    "agentlink.message.received": ("queued", "messageId", PREFIX),
}


def item_id(message_id: str) -> str:
    """The inbox item's id of a message: always the same, so that a retry can be recognised."""
    return PREFIX + message_id


def message_of(item: object) -> str:
    """The message id of an inbox item of ours, or "" when it is not ours."""
    if not isinstance(item, str) or not item.startswith(PREFIX):
        return ""
    message = item.removeprefix(PREFIX)
    return message if is_message_id(message) else ""


@dataclass(slots=True)
class Boxes:
    """The three inbox files at one moment, reduced to what concerns us."""

    present: dict[str, str] = field(default_factory=dict)
    """Our items in inbox.jsonl -> their timestamp."""
    saved: dict[str, str] = field(default_factory=dict)
    claimed: dict[str, str] = field(default_factory=dict)
    """Our items with a live claim -> claimedAt."""
    pid: int | None = None
    pid_since: str = ""
    """Of the newest claim that was not released, whose item ever it is: who reads this inbox."""
    problems: list[Problem] = field(default_factory=list)


def look(folder: Path, session_id: str) -> Boxes:
    """Read the inbox files, inbox.jsonl last: what is compacted away in between was acknowledged or applied."""
    boxes = Boxes()
    for record in _records(folder / "inbox-acknowledgements.jsonl", session_id, boxes.problems):
        if _own_key(record):
            boxes.saved[_own_key(record)] = canonical(record.get("acknowledgedAt"))
    _claims(boxes, _records(folder / "inbox-claims.jsonl", session_id, boxes.problems))
    for record in _records(folder / "inbox.jsonl", session_id, boxes.problems):
        if message_of(record.get("id")):
            boxes.present.setdefault(str(record["id"]), canonical(record.get("timestamp")))
    return boxes


def _claims(boxes: Boxes, records: Iterator[Json]) -> None:
    last = {str(record["key"]): record for record in records if isinstance(record.get("key"), str)}
    held = [record for record in last.values() if record.get("consumerId") and record.get("released") is not True]
    now = datetime.now(UTC)
    for record in held:
        at = canonical(record.get("claimedAt"))
        pid = record.get("pid")
        if isinstance(pid, int) and not isinstance(pid, bool) and at >= boxes.pid_since:
            boxes.pid, boxes.pid_since = pid, at
        if _own_key(record) and claim_is_live(pid, at, now):
            boxes.claimed[_own_key(record)] = at


def _own_key(record: Json) -> str:
    key = record.get("key")
    item = key.removeprefix("id:") if isinstance(key, str) else ""
    return item if message_of(item) else ""


def _records(path: Path, session_id: str, problems: list[Problem]) -> Iterator[Json]:
    try:
        with opened(path) as fd:
            for line in Lines(fd):
                record = decoded_object(line.body or b"")
                if record is not None:
                    yield record
                elif line.whole and not line.blank:
                    sentence = f"{path.name} has a line at byte {line.offset} that is no JSON object."
                    problems.append(Problem("inbox_line_malformed", sentence, session_id))
    except FileNotFoundError:
        return
    except OSError as error:
        sentence = f"{path.name} cannot be read: {reason(error)}."
        problems.append(Problem("inbox_unreadable", sentence, session_id))


def of_event(event: RawEvent, session_id: str) -> Mark | None:
    """The step that an event of the log proves for an item of ours."""
    step, key, prefix = _EVENT_STEPS.get(event.type, ("queued", "", ""))
    data = event.data() if key else None
    named = data.get(key) if data else None
    item = f"{prefix}{named}" if isinstance(named, str) else ""
    message = message_of(item)
    return Mark(session_id, item, message, step, canonical(event.timestamp)) if message else None


def of_boxes(boxes: Boxes, session_id: str) -> Iterator[Mark]:
    found: list[tuple[Step, dict[str, str]]] = [
        ("queued", boxes.present),
        ("claimed", boxes.claimed),
        ("saved", boxes.saved),
    ]
    for step, items in found:
        for item, at in items.items():
            yield Mark(session_id, item, message_of(item), step, at)


def vanished(open_items: Collection[str], boxes: Boxes, seen: Collection[Mark], session_id: str) -> Iterator[Mark]:
    """Items that an earlier scan saw queued and that are gone without having been applied or acknowledged."""
    settled = {mark.item_id for mark in seen if mark.step in ("applied", "saved", "removed")}
    for item in open_items:
        if item not in boxes.present and item not in boxes.claimed and item not in settled:
            yield Mark(session_id, item, message_of(item), "removed", iso_now())
