"""A session's events.jsonl: whole events in order, whatever else is in the file.

AgInTiFlow's own reader gives up on the whole file at one torn line; this one skips the line and says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from peers.adapters.agintiflow.files import cursor_at, opened, resume_at
from peers.adapters.agintiflow.lines import MAX_LINE, Line, Lines
from peers.adapters.base import Cursor, Json, Problem, SessionEvent

PROBLEMS_SHOWN = 20
# Every event starts with these bytes. They cannot occur inside a JSON string, where the quotes would be escaped.
_START = b'{"timestamp":"'


class _Envelope(msgspec.Struct):
    type: str
    timestamp: Any = ""
    data: msgspec.Raw = msgspec.Raw(b"{}")


_decode = msgspec.json.Decoder(_Envelope).decode


@dataclass(frozen=True, slots=True)
class RawEvent:
    """An event whose data is not decoded yet: a scan looks into a third of them only."""

    offset: int
    end: int
    timestamp: str
    type: str
    raw: bytes

    def data(self) -> Json | None:
        """The data, or None when it is not a JSON object after all."""
        return decoded_object(self.raw)


def decoded_object(raw: bytes) -> Json | None:
    """A JSON object from foreign bytes. What is no UTF-8 and lone surrogates become U+FFFD, as Node reads them."""
    try:
        value = msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        value = _decoded_leniently(raw)
    return value if isinstance(value, dict) else None


def _decoded_leniently(raw: bytes) -> object:
    try:
        value = json.loads(raw.decode("utf-8", "replace"), strict=False)
        text = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


class Events:
    """Events from a byte offset on; iterate once, then read `end`, `problems`, `behind` and `cursor`.

    With `containing` only lines with these bytes are looked at: finding one message in a gigabyte takes a second.
    With `cursor` reading starts where it stopped, or at 0 when that file is gone (`restarted`).
    """

    def __init__(
        self,
        path: Path,
        after: int = 0,
        *,
        cursor: Cursor | None = None,
        budget: int | None = None,
        containing: bytes = b"",
        where: str = "",
    ) -> None:
        self.end, self.problems, self.behind, self.restarted = after, list[Problem](), False, False
        self.cursor: Cursor | None = None
        self._path, self._known, self._budget, self._where = path, cursor, budget, where
        self._containing = containing
        self._skipped = 0

    def __iter__(self) -> Iterator[SessionEvent]:
        for event in self.raw():
            data = event.data()
            if data is None:
                self._skip("event_unreadable", event.offset, "its data is not a JSON object")
            else:
                yield SessionEvent(event.offset, event.end, event.timestamp, event.type, data)

    def raw(self) -> Iterator[RawEvent]:
        try:
            with opened(self._path) as fd:
                if self._known is not None:
                    self.end = resume_at(fd, self._known)
                    self.restarted = self.end == 0
                yield from self._read(fd)
                self.cursor = cursor_at(fd, self._path, self.end)
        except FileNotFoundError:
            self.end, self.restarted = 0, True
        except OSError as error:
            self.cursor = self._known
            self.problems.append(Problem("log_unreadable", f"The log cannot be read: {reason(error)}.", self._where))
        if self._skipped > PROBLEMS_SHOWN:
            more = self._skipped - PROBLEMS_SHOWN
            self.problems.append(Problem("more_skipped", f"{more} more lines were skipped.", self._where))

    def _read(self, fd: int) -> Iterator[RawEvent]:
        if self.end > os.fstat(fd).st_size:
            self.end = 0
        lines = Lines(fd, self.end, budget=self._budget)
        for line in lines:
            event = self._event(line)
            if not line.whole and event is None and line.body is not None:
                break  # somebody is writing it, or died writing it: it is read when its newline is there
            self.end = line.end
            if event:
                yield event
        self.behind = lines.behind

    def _event(self, line: Line) -> RawEvent | None:
        if line.blank or (line.body is not None and self._containing not in line.body):
            return None
        if line.body is None:
            self._skip("line_too_long", line.offset, f"it is longer than {MAX_LINE} bytes")
            return None
        event = _parsed(line, 0) or self._glued(line)
        if event is None and line.whole:
            self._skip("line_torn", line.offset, "it is not a JSON event")
        return event

    def _glued(self, line: Line) -> RawEvent | None:
        """A whole event that was appended to a torn line: the torn part is skipped, the event is not lost."""
        start = (line.body or b"").rfind(_START)
        event = _parsed(line, start) if start > 0 else None
        if event:
            self._skip("line_torn", line.offset, "a torn event stands before a whole one in the same line")
        return event

    def _skip(self, code: str, offset: int, why: str) -> None:
        self._skipped += 1
        if self._skipped <= PROBLEMS_SHOWN:
            sentence = f"The line at byte {offset} of the log was skipped: {why}."
            self.problems.append(Problem(code, sentence, self._where))


def _parsed(line: Line, start: int) -> RawEvent | None:
    body = (line.body or b"")[start:]
    try:
        found = _decode(body)
    except (ValueError, RecursionError):
        return _parsed_leniently(line, start, body)
    stamp = found.timestamp if isinstance(found.timestamp, str) else ""
    return RawEvent(line.offset + start, line.end, stamp, found.type, bytes(found.data))


def _parsed_leniently(line: Line, start: int, body: bytes) -> RawEvent | None:
    value = decoded_object(body)
    if value is None or not isinstance(value.get("type"), str):
        return None
    data = json.dumps(value.get("data", {})).encode()
    stamp = value.get("timestamp")
    return RawEvent(line.offset + start, line.end, stamp if isinstance(stamp, str) else "", value["type"], data)


def reason(error: OSError) -> str:
    """Why, without the path that the system's own sentence would name."""
    return error.strerror or str(error)
