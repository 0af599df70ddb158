"""A JSONL file that others append to while we do: reading by offset, mending in place, appending whole lines.

AgInTiFlow's reader takes a whole file for empty when one line of it is torn, so nothing of ours may stay torn. A piece
of ours is blanked where it stands (spaces in front of a line are no part of it): unlike a rewrite by rename this loses
no line that somebody appends meanwhile, and the file is valid at once. What others left torn is theirs: it is waited
for, then reported, never changed.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from boards.folder.rendering import BEGINNING
from peers.adapters.agintiflow.files import cursor_at, opened, resume_at, sync_folder
from peers.adapters.agintiflow.lines import Lines
from peers.adapters.base import Cursor

FOREIGN_LIMIT: Final = 256 << 10
"""Bytes of a foreign line that are taken in; AgInTiFlow's own limits keep it below half of this."""
QUIET_SECONDS: Final = 2.0
"""A torn end that nobody has touched for this long was left by a writer that died."""
GLUED_TRIES: Final = 64

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mark:
    """How far one file is read and written; kept in the cursor."""

    inode: int = 0
    size: int = 0
    offset: int = 0
    tail: str = ""
    revision: int = 0
    """Every event up to this one has its line in the file."""

    def cursor(self) -> Cursor | None:
        """The same as the readers of session logs keep it."""
        return Cursor("", self.inode, self.size, 0, self.offset, self.tail) if self.inode else None


@dataclass(frozen=True, slots=True)
class Piece:
    """A record, or what is torn: which bytes of the file it is."""

    start: int
    end: int
    record: Json | None
    raw: bytes
    line_start: int
    whole: bool = True
    fault: str = ""

    @property
    def ours(self) -> bool:
        """Whether this calls itself a line of ours, whole or torn."""
        if self.record is not None:
            return isinstance(self.record.get("eventId"), str) and isinstance(self.record.get("revision"), int)
        text = self.raw.lstrip(b" ")
        blanked = len(text) < len(self.raw)  # nobody else writes spaces in front of a line
        return blanked or text.startswith(BEGINNING) or (len(text) > 2 and BEGINNING.startswith(text))

    @property
    def scrap(self) -> bool:
        """One or two bytes that tell nothing, and with which a line of ours begins."""
        return self.record is None and BEGINNING.startswith(self.raw)


class Opened:
    """One file, open for a turn."""

    def __init__(self, fd: int, path: Path, mark: Mark, *, fresh: bool) -> None:
        self.fd, self.path = fd, path
        self.start = resume_at(fd, mark.cursor())
        found = os.fstat(fd)
        same = found.st_ino == mark.inode and found.st_size >= mark.size
        anew = fresh or not same or self.start != mark.offset
        self.revision = 0 if anew else mark.revision
        self.end = self.start
        """Where the last scan stopped."""
        self._open_end = False
        """Whether the last line still wants its newline."""
        self._wrote, self._fresh = False, fresh

    # --- reading -----------------------------------------------------------------------------------------------------

    def pieces(self) -> Iterator[Piece]:
        """Every record and every torn piece after the start."""
        self.end, self._open_end = self.start, False
        for line in Lines(self.fd, self.start):
            self.end = line.end
            if line.body is None:
                yield Piece(line.offset, line.end, None, b"", line.offset, fault="is too long to be read")
            elif not line.blank:
                yield from self._split(line.offset, line.body, line.whole)
            self._open_end = not line.whole and bool(line.body)

    def _split(self, start: int, body: bytes, whole: bool) -> Iterator[Piece]:
        end = start + len(body)
        record = _record(body)
        if record is not None:
            yield Piece(start, end, record, body.strip(), start, whole)
            return
        place = _glued(body) if whole else None
        torn_end = start + place if place is not None else end
        yield Piece(start, torn_end, None, body[: torn_end - start], start, whole, "is torn or no JSON object")
        if place is not None:
            yield Piece(torn_end, end, _record(body[place:]), body[place:].strip(), start, whole)

    def quiet(self) -> bool:
        """Whether nobody has written for a while."""
        return time.time() - os.fstat(self.fd).st_mtime > QUIET_SECONDS

    # --- writing -----------------------------------------------------------------------------------------------------

    def put(self, piece: Piece, content: bytes = b"") -> None:
        """Overwrites a piece of ours where it stands; spaces fill what is left of it."""
        room = piece.end - piece.start
        with opened(self.path, os.O_WRONLY) as descriptor:
            if os.fstat(descriptor).st_ino == os.fstat(self.fd).st_ino:
                _pwrite(descriptor, content.ljust(room), piece.start)
        self._wrote = True

    def append(self, lines: list[bytes]) -> None:
        """Adds whole lines by one write. What fits only in part is blanked, and ``OSError`` raised."""
        data = (b"\n" if self._open_end else b"") + b"".join(line + b"\n" for line in lines)
        written = os.write(self.fd, data)
        end = os.lseek(self.fd, 0, os.SEEK_CUR)
        self._wrote = True
        if written < len(data):
            cut = data.rfind(b"\n", 0, written) + 1
            with opened(self.path, os.O_WRONLY) as descriptor:
                _pwrite(descriptor, b" " * (written - cut), end - written + cut)
            raise OSError(f"{self.path.name}: only {written:,} of {len(data):,} bytes could be written")
        if end - len(data) == self.end:
            self.end, self._open_end = end, False

    def settle(self) -> None:
        """What was written is on disk."""
        if self._wrote:
            os.fsync(self.fd)
        if self._fresh:
            sync_folder(self.path.parent)

    def mark(self, offset: int, revision: int) -> Mark:
        """How far this turn came."""
        cursor = cursor_at(self.fd, self.path, offset)
        return Mark(cursor.inode, cursor.size, offset, cursor.tail, revision)


def _pwrite(descriptor: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, at)
        view, at = view[written:], at + written


@contextmanager
def open_at(path: Path, mark: Mark) -> Iterator[Opened]:
    """The file, made when it is missing. Raises ``OSError``, also for a link or a pipe in its place."""
    flags = os.O_RDWR | os.O_APPEND
    try:
        with opened(path, flags | os.O_CREAT | os.O_EXCL, 0o600) as descriptor:
            yield Opened(descriptor, path, mark, fresh=True)
    except FileExistsError:
        with opened(path, flags) as descriptor:
            if stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o077:
                os.fchmod(descriptor, 0o600)
            yield Opened(descriptor, path, mark, fresh=False)


def _record(body: bytes) -> Json | None:
    """The JSON object in a line; none for anything else."""
    try:
        value = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _glued(body: bytes) -> int | None:
    """Where a whole object begins that somebody appended to a torn line."""
    place = body.find(b'{"', 1)
    for _ in range(GLUED_TRIES):
        if place < 0:
            return None
        found = _record(body[place:])
        if found is not None and ("timestamp" in found or "eventId" in found):
            return place
        place = body.find(b'{"', place + 1)
    return None


def batches(pieces: Iterable[Piece], size: int = 500) -> Iterator[list[Piece]]:
    """Pieces in groups that one query can look up."""
    group: list[Piece] = []
    for piece in pieces:
        group.append(piece)
        if len(group) >= size:
            yield group
            group = []
    if group:
        yield group
