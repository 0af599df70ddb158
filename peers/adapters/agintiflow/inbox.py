"""Handing a message to an AgInTiFlow session: one item in inbox.jsonl and one line in events.jsonl, each exactly once.

Order and crash safety. Under the inbox lock the item's deterministic id is looked for in inbox.jsonl, in the
acknowledgements, and in the log (an item that was applied is compacted away); only when it is nowhere it is appended.
Then the log line follows, unless it is there. A process killed between the two leaves the item without its line; the
retry finds the item and adds the line.

The log's tail. Other programs append to events.jsonl without any lock, so a tail without a newline is either being
written this moment or the rest of a write that died. A whole JSON tail gets a newline before our line. A torn one is
given `TAIL_SECONDS` to become whole; if it stays torn, our line is left out and the answer says so: after our line
the damage would stand in the middle of the file, and the message itself is in the inbox already.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from peers.adapters.agintiflow.events import Events, reason
from peers.adapters.agintiflow.files import (
    NotRegular,
    opened,
    sync_folder,
    temporary,
    whole_or_nothing,
    write_all,
)
from peers.adapters.agintiflow.lines import CHUNK, MAX_LINE, Lines
from peers.adapters.agintiflow.lock import PATIENCE_SECONDS, RETRY_SECONDS, InboxLock, LockBusy, inbox_lock
from peers.adapters.agintiflow.marks import item_id
from peers.adapters.base import Envelope, Handed, Impossible, Json, NotNow
from peers.ids import is_message_id
from peers.times import iso_now

CONTENT_LIMIT = 8 << 10
LINE_LIMIT = 64 << 10
TAIL_SECONDS = 0.1
# Free bytes wanted before anything is appended: a write that only half fits is what tears a line.
ROOM = 1 << 20


class InboxBroken(Exception):
    """inbox.jsonl has a malformed line in its middle: AgInTiFlow's next run of this session fails on it."""


def inbox_item(envelope: Envelope) -> Json:
    """The item in AgInTiFlow's own fields plus ours at the top level, which it keeps through every rewrite."""
    origin = {
        "boardId": envelope.board_id,
        "messageId": envelope.message_id,
        "kind": envelope.kind,
        "fromNodeId": envelope.from_node_id,
        "fromSessionId": envelope.from_session_id,
    }
    return {
        "id": item_id(envelope.message_id),
        "timestamp": envelope.timestamp,
        "content": envelope.content,
        "priority": envelope.priority,
        "source": "agentlink",
        "agentlink": origin,
        "kind": "agentlink",
        "boardId": envelope.board_id,
        "fromNodeId": envelope.from_node_id,
        "toNodeId": envelope.to_node_id,
        "messageType": envelope.kind,
        "contractId": envelope.contract_id,
        "requiresAck": envelope.requires_ack,
    }


def received_event(envelope: Envelope) -> Json:
    data = {
        "boardId": envelope.board_id,
        "messageId": envelope.message_id,
        "fromNodeId": envelope.from_node_id,
        "fromSessionId": envelope.from_session_id,
        "priority": envelope.priority,
    }
    return {"timestamp": iso_now(), "type": "agentlink.message.received", "data": data}


def _line(record: Json) -> bytes:
    """One line of pure ASCII: no reader can find another line end in it."""
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"


def refusal(envelope: Envelope) -> str:
    """Why this envelope can never be handed to any session, or ""."""
    size = len(envelope.content.encode("utf-8", "replace"))
    if not is_message_id(envelope.message_id):
        return "The message id may only have letters, digits and . _ : -, at most 120, and no '..'."
    if not envelope.content.strip():
        return "The content is blank; AgInTiFlow never applies a blank item."
    if size > CONTENT_LIMIT:
        return (
            f"The content has {size} bytes; at most {CONTENT_LIMIT} go into a session. Send a preview with a pointer."
        )
    if len(_line(inbox_item(envelope))) > LINE_LIMIT:
        return f"The item would be longer than {LINE_LIMIT} bytes."
    return ""


def hand_over(folder: Path, envelope: Envelope, *, patience: float = PATIENCE_SECONDS) -> Handed | NotNow | Impossible:
    """Hand `envelope` to the session in `folder`, which must have a state.json. Idempotent by message id."""
    why = refusal(envelope)
    if why:
        return Impossible(why)
    try:
        if not stat.S_ISREG(os.lstat(folder / "state.json").st_mode):
            return Impossible("The session's state.json is not a plain file.")
        trace = LogTrace(folder / "events.jsonl", envelope.message_id)
        trace.advance()
        with inbox_lock(folder, patience=patience) as lock:
            return _hand_over(lock, envelope, trace)
    except FileNotFoundError:
        return Impossible("There is no such session any more: its folder or its state.json is gone.")
    except NotRegular as error:
        return Impossible(f"Nothing was handed: {error}.")
    except (LockBusy, InboxBroken) as error:
        return NotNow(f"Nothing was handed: {error}.")
    except OSError as error:
        return NotNow(f"Nothing was handed: {reason(error)}.")


def _hand_over(lock: InboxLock, envelope: Envelope, trace: LogTrace) -> Handed:
    item = item_id(envelope.message_id)
    trace.advance()
    inbox = read_inbox(lock.folder, item)
    if not (inbox.has_item or trace.applied or _is_saved(lock.folder, item)):
        if inbox.broken_at is not None:
            sentence = f"inbox.jsonl has a malformed line at byte {inbox.broken_at}, which AgInTiFlow cannot get past"
            raise InboxBroken(f"{sentence}; it has to be removed by hand first")
        append_item(lock, inbox, _line(inbox_item(envelope)))
    note = "" if trace.received else _append_received(lock, envelope)
    return Handed(iso_now(), note)


@dataclass(slots=True)
class LogTrace:
    """Whether the log knows this message. The long part is read before the lock, only what is new under it."""

    path: Path
    message_id: str
    position: int = 0
    received: bool = False
    applied: bool = False

    def advance(self) -> None:
        item = item_id(self.message_id)
        events = Events(self.path, self.position, containing=self.message_id.encode())
        for event in events:
            self.received |= (
                event.type == "agentlink.message.received" and event.data.get("messageId") == self.message_id
            )
            self.applied |= event.type == "conversation.queued_input_applied" and event.data.get("id") == item
        self.position = events.end


@dataclass(frozen=True, slots=True)
class Inbox:
    """inbox.jsonl under the lock."""

    exists: bool = False
    has_item: bool = False
    broken_at: int | None = None
    torn_at: int | None = None
    """Where a final line starts that does not parse and has no newline."""
    open_end: bool = False
    """The final line parses but has no newline."""


def read_inbox(folder: Path, item: str) -> Inbox:
    has_item, broken_at, torn_at, open_end = False, None, None, False
    try:
        with opened(folder / "inbox.jsonl") as fd:
            for line in Lines(fd):
                parsed, value = _parsed(line.body)
                has_item = has_item or (isinstance(value, dict) and value.get("id") == item)
                if not parsed and line.whole and broken_at is None:
                    broken_at = line.offset
                if not line.whole:
                    torn_at, open_end = (None, True) if parsed else (line.offset, False)
    except FileNotFoundError:
        return Inbox()
    return Inbox(True, has_item, broken_at, torn_at, open_end)


def _parsed(body: bytes | None) -> tuple[bool, object]:
    if body is None:
        return False, None
    if not body.strip():
        return True, None
    try:
        return True, msgspec.json.decode(body)
    except (ValueError, RecursionError):
        pass
    try:
        return True, json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False, None


def _is_saved(folder: Path, item: str) -> bool:
    """True when an acknowledgement record of the item is there."""
    needle = item.encode()
    try:
        with opened(folder / "inbox-acknowledgements.jsonl") as fd:
            for line in Lines(fd):
                if line.body and needle in line.body:
                    value = _parsed(line.body)[1]
                    if isinstance(value, dict) and value.get("key") == f"id:{item}":
                        return True
    except FileNotFoundError:
        pass
    return False


def append_item(lock: InboxLock, inbox: Inbox, line: bytes) -> None:
    """Append under the lock as AgInTiFlow does: a torn end is dropped with a rewrite, all else stays as it is."""
    path = lock.folder / "inbox.jsonl"
    if inbox.torn_at is not None:
        _rewrite(lock, path, inbox.torn_at, line)
        return
    with opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as fd:
        _want_room(fd)
        before = os.fstat(fd).st_size
        lock.confirm()
        data = (b"\n" if inbox.open_end else b"") + line
        whole_or_nothing(fd, data)
        os.fsync(fd)
        if os.pread(fd, len(data), before) != data:
            raise OSError("the item could not be read back from inbox.jsonl")
    if not inbox.exists:
        sync_folder(lock.folder)


def _rewrite(lock: InboxLock, path: Path, good: int, line: bytes) -> None:
    draft = temporary(path)
    try:
        with opened(path) as old, opened(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600) as new:
            _want_room(new, good)
            os.fchmod(new, stat.S_IMODE(os.fstat(old).st_mode))
            for chunk in _chunks(old, good):
                write_all(new, chunk)
            write_all(new, line)
        lock.confirm()
        os.rename(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(lock.folder)


def _chunks(fd: int, size: int) -> Iterator[bytes]:
    position = 0
    while position < size and (chunk := os.pread(fd, min(CHUNK, size - position), position)):
        position += len(chunk)
        yield chunk


def _want_room(fd: int, size: int = 0) -> None:
    found = os.fstatvfs(fd)
    if found.f_bavail * found.f_frsize < size + ROOM:
        raise OSError("the disk is full")


def _append_received(lock: InboxLock, envelope: Envelope) -> str:
    """Tell the log, as AgInTiFlow's own sender does. A failure is told in the note: the message is in the inbox."""
    path = lock.folder / "events.jsonl"
    try:
        fresh = not path.exists()
        with opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as fd:
            _want_room(fd)
            ending = _settled_end(fd)
            if ending is None:
                return "The session's log ends in a torn line; no agentlink.message.received line was added to it."
            whole_or_nothing(fd, ending + _line(received_event(envelope)))
            os.fsync(fd)
        if fresh:
            sync_folder(lock.folder)
    except OSError as error:
        return f"No agentlink.message.received line could be added to the session's log: {reason(error)}."
    return ""


def _settled_end(fd: int) -> bytes | None:
    """What has to stand before our line: nothing, a newline, or None when the log stays torn."""
    deadline = time.monotonic() + TAIL_SECONDS
    while True:
        tail = _last_line(fd)
        if not tail:
            return b""
        if _parsed(tail)[0] and tail.strip():
            return b"\n"
        if time.monotonic() >= deadline:
            return None
        time.sleep(RETRY_SECONDS)


def _last_line(fd: int) -> bytes:
    """The bytes after the last newline, as far as they matter: one byte too many is as torn as a gigabyte."""
    size = os.fstat(fd).st_size
    tail, start = b"", size
    while start > 0 and len(tail) <= MAX_LINE:
        start = max(0, start - CHUNK // 16)
        block = os.pread(fd, min(CHUNK // 16, size - start), start)
        tail = block + tail
        if b"\n" in block:
            return tail.rpartition(b"\n")[2]
    return tail
