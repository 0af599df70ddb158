"""One turn of one board's folder: take in what others wrote, write what is missing, remember how far it came.

The cursor is stored last, so a process that dies anywhere in between does the same turn again: lines of ours that stand
in a file already are found there (each has the id and revision of its event), foreign ones were taken in under the key
of their own id. Nothing is written or taken in twice, and nothing is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import structlog

from boards import log
from boards.folder import intake, places, rendering
from boards.folder.jsonl import FOREIGN_LIMIT, Mark, Opened, Piece, batches, open_at
from boards.folder.rendering import Json
from boards.models import Board, Event, FolderCursor, Task
from boards.times import iso, now

logger = structlog.get_logger(__name__)

FOREIGN_PER_TURN: Final = 200
"""Foreign lines of one file that one turn takes in; the next goes on there."""
FOREIGN_PER_BOARD: Final = 10_000
"""Foreign things that one board takes in; more stay in their files and are reported."""
PROBLEMS: Final = 50
"""Problems kept for each board; every one of them is in the log besides."""
WRITE_BYTES: Final = 1 << 20
ERASED: Final = "agentlink.payload.erased"
FOLDERS: Final = (places.CONTRACTS, places.SUMMARIES)
WHOLE: Final = -1
"""The place of a problem that is not one of a line."""


@dataclass(slots=True)
class File:
    """One JSONL file during a turn."""

    name: str
    opened: Opened
    seen: bytearray
    """By revision: whether the event's line was found in what this turn read."""
    held: int | None = None
    """Where the first foreign line stands that waits."""
    waits: bool = False
    """Whether its end is being written by somebody this moment."""


@dataclass(slots=True)
class Turn:
    """One board's turn. ``left`` afterwards: another one is worth while at once."""

    board_id: str
    cursor: FolderCursor
    sessions: rendering.Sessions
    folder: Path = field(init=False)
    marks: dict[str, Mark] = field(init=False)
    before: Json = field(init=False)
    abroad: set[str] = field(default_factory=set)
    """Contract files that others have written over."""
    left: bool = False

    def __post_init__(self) -> None:
        self.folder = places.of_board(self.board_id)
        self.marks = {name: Mark(**self.cursor.files.get(name, {})) for name in places.JSONL}
        self.before = _columns(self.cursor)

    def run(self) -> bool:
        """The whole turn; whether another one is worth while at once. Raises ``OSError`` and ``DatabaseError``."""
        places.make(places.boards())
        places.make(self.folder)
        if self._erased():
            self.marks, self.cursor.stamps = dict.fromkeys(places.JSONL, Mark()), {}
        open_board = Board.objects.get(board_id=self.board_id).status == "active"
        stamps = {name: places.mark(self.folder / name) for name in FOLDERS}
        with ExitStack() as stack:
            if open_board:
                self._take_contracts(stamps)
            files = [file for name in places.JSONL if (file := self._opened(stack, name))]
            for file in files:
                self._read(file, open_board)
            head = log.head(self.board_id)[0]
            for file in files:
                self._write(file, head)
        self._write_whole(head, stamps)
        self._store()
        return self.left

    def _erased(self) -> bool:
        """Whether the texts of an event were erased after the files were written."""
        written = min(self.cursor.exported, *(mark.revision for mark in self.marks.values()))
        return Event.objects.filter(stream=self.board_id, revision__gt=written, type=ERASED).exists()

    # --- problems ----------------------------------------------------------------------------------------------------

    def _problem(self, name: str, place: int, sentence: str) -> None:
        """Reported once, shown until the file is read anew."""
        if any(one["file"] == name and one["offset"] == place for one in self.cursor.problems):
            return
        logger.warning("folder_problem", board=self.board_id, file=name, offset=place, problem=sentence)
        one = {"file": name, "offset": place, "sentence": sentence, "at": iso(now())}
        self.cursor.problems = [*self.cursor.problems, one][-PROBLEMS:]

    def _solved(self, name: str, *, all_of_it: bool = False) -> None:
        kept = [one for one in self.cursor.problems if one["file"] != name or not (all_of_it or one["offset"] == WHOLE)]
        self.cursor.problems = kept

    # --- reading -----------------------------------------------------------------------------------------------------

    def _opened(self, stack: ExitStack, name: str) -> File | None:
        try:
            opened = stack.enter_context(open_at(self.folder / name, self.marks[name]))
        except OSError as error:
            self._problem(name, WHOLE, f"{name} cannot be used: {error.strerror or error}.")
            return None
        self._solved(name, all_of_it=opened.revision == 0 and opened.start == 0)
        return File(name, opened, bytearray(log.head(self.board_id)[0] + 1))

    def _read(self, file: File, open_board: bool) -> None:
        budget = FOREIGN_PER_TURN
        for group in batches(file.opened.pieces()):
            rows = self._rows(group)
            for piece in group:
                if piece.ours:
                    self._own(file, piece, rows.get(_revision(piece)))
                elif piece.scrap and not piece.whole and file.opened.quiet():
                    file.opened.put(piece)
                elif file.held is None:
                    budget -= self._foreign(file, piece, open_board, budget)

    def _rows(self, group: list[Piece]) -> dict[int, Event]:
        revisions = {_revision(piece) for piece in group if piece.ours and piece.record}
        rows = Event.objects.filter(stream=self.board_id, revision__in=revisions) if revisions else ()
        return {row.revision: row for row in rows}

    def _own(self, file: File, piece: Piece, row: Event | None) -> None:
        """A line of ours: found, put right when it is not as it should be, blanked when it is torn or twice there."""
        if piece.record is None:
            file.opened.put(piece)
            return
        if row is None or row.event_id != piece.record["eventId"]:
            sentence = "speaks of an event that the store does not have; it was left as it is"
            self._problem(file.name, piece.start, f"{file.name}: the line at byte {piece.start} {sentence}.")
            return
        wanted = rendering.line(file.name, row, self.sessions)
        if wanted is None or file.seen[row.revision] or len(wanted) > piece.end - piece.start:
            file.opened.put(piece)
            return
        if wanted != piece.raw:
            file.opened.put(piece, wanted)
        file.seen[row.revision] = 1

    def _foreign(self, file: File, piece: Piece, open_board: bool, budget: int) -> int:
        """Takes in one foreign line; how much of the budget that took."""
        if piece.record is None and not piece.whole:
            file.held, file.waits = piece.line_start, not file.opened.quiet()
        elif piece.record is None:
            self._problem(file.name, piece.start, f"{file.name}: the line at byte {piece.start} {piece.fault}.")
        elif len(piece.raw) > FOREIGN_LIMIT:
            sentence = f"has {len(piece.raw):,} bytes; at most {FOREIGN_LIMIT:,} are taken in"
            self._problem(file.name, piece.start, f"{file.name}: the line at byte {piece.start} {sentence}.")
        elif not open_board:
            file.held = piece.line_start
            self._problem(file.name, WHOLE, f"{file.name} has lines that wait: the board is closed.")
        elif budget <= 0:
            file.held, self.left = piece.line_start, True
        else:
            return self._take(file, piece, piece.record)
        return 0

    def _take(self, file: File, piece: Piece, record: Json) -> int:
        if self.cursor.taken >= FOREIGN_PER_BOARD:
            file.held = piece.line_start
            sentence = f"{FOREIGN_PER_BOARD:,} foreign lines were taken in, which is the limit of a board"
            self._problem(file.name, WHOLE, f"{file.name} has more lines that wait: {sentence}.")
            return 0
        try:
            taken = intake.take_line(self.board_id, file.name, record)
        except intake.NotNow as wait:
            file.held = piece.line_start
            self._waiting(file.name, wait)
            return 0
        if taken.problem:
            self._problem(file.name, piece.start, f"{file.name}: the line at byte {piece.start} {taken.problem}.")
        self.cursor.taken += taken.new
        return 1

    def _waiting(self, name: str, wait: intake.NotNow) -> None:
        if wait.sentence:
            self._problem(name, WHOLE, f"{name} has lines that wait: {wait.sentence}")

    def _take_contracts(self, stamps: dict[str, str]) -> None:
        """Files of contracts/ that are not as we left them: whoever wrote them claims something."""
        if stamps[places.CONTRACTS] in ("-", self.cursor.stamps.get(places.CONTRACTS)):
            return
        for path in sorted((self.folder / places.CONTRACTS).glob("[!.]*.json"))[: FOREIGN_PER_BOARD + 1]:
            name = f"{places.CONTRACTS}/{path.name}"
            if places.mark(path) != self.cursor.stamps.get(name) and not self._take_contract(name, path):
                stamps[places.CONTRACTS] = ""
                return

    def _take_contract(self, name: str, path: Path) -> bool:
        """Whether the next file may be looked at."""
        stamp = places.mark(path)
        try:
            record = parsed(places.read_whole(path))
            if record is None:
                self._problem(name, WHOLE, f"{name} is no JSON object.")
            elif record.get("writtenBy") != rendering.WRITER:
                self.abroad.add(name)
                taken = intake.take_contract(self.board_id, record)
                self.cursor.taken += taken.new
                if taken.problem:
                    self._problem(name, WHOLE, f"{name} {taken.problem}.")
        except intake.NotNow as wait:
            self._waiting(name, wait)
            return False
        except (OSError, ValueError) as error:
            self._problem(name, WHOLE, f"{name} cannot be read: {error}.")
        self.cursor.stamps[name] = stamp
        return True

    # --- writing -----------------------------------------------------------------------------------------------------

    def _write(self, file: File, head: int) -> None:
        """Appends what is missing, durably, and remembers how far the file is read."""
        if file.waits and file.opened.revision < head:
            return
        try:
            for lines in self._missing(file, head):
                file.opened.append(lines)
            file.opened.settle()
        except OSError as error:
            self._problem(file.name, WHOLE, f"{file.name} cannot be written: {error.strerror or error}.")
            return
        offset = file.opened.end if file.held is None else file.held
        self.marks[file.name] = file.opened.mark(offset, head)
        self.left |= file.held is None and offset < self.marks[file.name].size

    def _missing(self, file: File, head: int) -> Iterator[list[bytes]]:
        """The lines of events that are not in the file, in parts that one write takes."""
        part: list[bytes] = []
        size = 0
        rows = Event.objects.filter(stream=self.board_id, revision__gt=file.opened.revision, revision__lte=head)
        for row in rows.order_by("revision").iterator(chunk_size=500):
            if row.revision < len(file.seen) and file.seen[row.revision]:
                continue
            line = rendering.line(file.name, row, self.sessions)
            if line is None:
                continue
            part.append(line)
            size += len(line)
            if size >= WRITE_BYTES:
                yield part
                part, size = [], 0
        if part:
            yield part

    def _write_whole(self, head: int, stamps: dict[str, str]) -> None:
        """board.json, contracts and summaries: those that changed here, and those that somebody else changed."""
        changed = self._changed(head) | self.abroad
        try:
            for name in FOLDERS:
                places.make(self.folder / name)
            for name in rendering.names(self.board_id):
                path = self.folder / name
                if name in changed or places.mark(path) != self.cursor.stamps.get(name):
                    self._write_one(path, name)
        except OSError as error:
            self._problem("files", WHOLE, f"The folder's files cannot be written: {error.strerror or error}.")
            return
        self._solved("files")
        self.cursor.stamps |= {name: self._stamp_of(name, before) for name, before in stamps.items()}
        self.cursor.exported = head

    def _stamp_of(self, name: str, before: str) -> str:
        """The folder as it was looked at, or as it is now when all that changed since is what was just written."""
        now_, stamps = places.mark(self.folder / name), self.cursor.stamps
        if before in ("", now_):  # something waits in it, or nothing was written
            return before
        files = list((self.folder / name).glob("[!.]*"))
        ours = all(places.mark(path) == stamps.get(f"{name}/{path.name}") for path in files)
        return now_ if ours else before

    def _write_one(self, path: Path, name: str) -> None:
        content = rendering.whole(self.board_id, name, self.sessions)
        if name != places.BOARD or not _touched(path, content):
            places.write_whole(path, content)
        self.cursor.stamps[name] = places.mark(path)

    def _changed(self, head: int) -> set[str]:
        """The whole files that events since the last export may have changed."""
        if head == self.cursor.exported:
            return set()
        changed = {places.BOARD}
        rows = Event.objects.filter(stream=self.board_id, revision__gt=self.cursor.exported).values_list("type", "data")
        for kind, text in rows.iterator(chunk_size=500):
            data = json.loads(text)
            if kind == ERASED:
                changed.update(rendering.names(self.board_id))  # whichever of them had the text
            elif kind == "agentlink.summary.created":
                changed.add(f"{places.SUMMARIES}/{data['nodeId']}.md")
            elif kind.startswith(("agentlink.contract.", "agentlink.task.")):
                changed.add(rendering.contract_file(data.get("contractId") or _contract_of(data.get("taskId", ""))))
        return changed

    def _store(self) -> None:
        self.cursor.files = {name: asdict(mark) for name, mark in self.marks.items()}
        if _columns(self.cursor) != self.before:
            with log.writer():
                self.cursor.save()


def _columns(cursor: FolderCursor) -> Json:
    names = ("exported", "files", "stamps", "problems", "taken")
    copied: Json = json.loads(json.dumps({name: getattr(cursor, name) for name in names}))
    return copied


def _revision(piece: Piece) -> int:
    """The revision that a line of ours states; -1 for what is none."""
    stated: Any = piece.record.get("revision") if piece.record else None
    return stated if isinstance(stated, int) and 0 < stated < 1 << 62 else -1


def _contract_of(task_id: str) -> str:
    return Task.objects.filter(task_id=task_id).values_list("contract_id", flat=True).first() or ""


def parsed(text: bytes | None) -> Json | None:
    """The JSON object in a file; none for anything else, also when it is gone."""
    try:
        value = json.loads(text or b"null")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _touched(path: Path, content: bytes) -> bool:
    """Whether the file is ours but for the time that AgInTiFlow sets with each of its sends."""
    try:
        there = parsed(places.read_whole(path))
    except (OSError, ValueError):
        return False
    wanted = parsed(content) or {}
    ours = {name: value for name, value in wanted.items() if name != "updatedAt"}
    return there is not None and ours == {name: value for name, value in there.items() if name != "updatedAt"}
