"""A board's folder as a package: out of this home whole, and back into one whose database was lost.

A restored board has its events with their ids, times and texts; position and digests are this log's own. What was
verified counts again only after it was checked again, running leases do not come back, and nodes that this machine
does not know may not write. The digests prove that the file is whole, not who wrote it: whoever can write the folder
can make a chain that fits, so importing is an act of the person at this machine.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, get_args

from django.db import IntegrityError
from pydantic import ValidationError

from boards import log, words
from boards.commands.cleaning import clean_data
from boards.digests import KEPT, canonical, sha256
from boards.events import (
    EVENTS,
    BoardAdopted,
    EventData,
    EvidenceChecked,
    PayloadErased,
    PeerRegistered,
    TaskExpired,
)
from boards.folder import passing, places
from boards.folder.jsonl import Mark, Opened
from boards.folder.turns import parsed
from boards.keys import name_key
from boards.models import Board, Evidence, FolderCursor, Node, Task
from boards.schemas import Receipt
from boards.times import parse
from peers import queries as peers
from peers import trust
from peers.adapters.agintiflow.files import opened

EVENT_LIMIT: Final = 1_000_000
COMMAND: Final = "import_board"
UNTRUSTED: Final = "untrusted-imported-summary"
EVENT_ID: Final = re.compile(r"evt-[0-9a-f-]{36}\Z")
PLAIN: Final = re.compile(r"[A-Za-z0-9._:+-]{0,255}\Z")
"""What an id, a time, a digest or a word of a list may be: nothing of it could name another file."""
CHECK_AGAIN: Final = "Restored from a folder: check it again, or verify it by name."

Json = dict[str, Any]


class Broken(Exception):
    """The chain ends here: the sentence says where and why."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of an import; ``receipt.outcome`` tells, the counts say how much came back."""

    receipt: Receipt
    board_id: str = ""
    events: int = 0
    nodes: int = 0
    foreign: int = 0
    problems: list[str] = field(default_factory=list)

    def body(self) -> Json:
        """The JSON form."""
        counts = {"events": self.events, "nodes": self.nodes, "foreign": self.foreign}
        return {
            "receipt": self.receipt.body(),
            "boardId": self.board_id,
            "counts": counts,
            "problems": self.problems,
        }


# --- out -------------------------------------------------------------------------------------------------------------


def export_board(board_id: str, directory: Path) -> Path:
    """Copies the board's whole folder into ``directory`` and returns where it is.

    Raises ``LookupError`` for an unknown board, ``FileExistsError`` when something of its name is there already, and
    ``OSError``. What a disk does not take is not left there in part.
    """
    if not Board.objects.filter(board_id=board_id).exists():
        raise LookupError(f"There is no board {board_id[:80]!r}; `agentlink boards` lists them.")
    target = directory / board_id
    if os.path.lexists(target):
        raise FileExistsError(f"{target} exists already; name another folder.")
    with places.turn() as mine:
        if not mine:
            raise BlockingIOError("Another process writes the board folder right now; try again.")
        passing.turn_of(board_id)
        draft = directory / f".{board_id}.{uuid.uuid4().hex[:8]}.tmp"
        try:
            _copy(places.of_board(board_id), draft)
            draft.rename(target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return target


def _copy(source: Path, target: Path) -> None:
    """The files that belong to a board; links and whatever else lies there stay where they are."""
    target.mkdir(mode=0o700, parents=True)
    for path in _files(source):
        place = target / path.relative_to(source)
        place.parent.mkdir(mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        copied = os.open(place, flags, 0o600)
        with opened(path) as read, open(read, "rb", closefd=False) as file, open(copied, "wb") as copy:
            shutil.copyfileobj(file, copy)
            copy.flush()
            os.fsync(copy.fileno())


def _files(folder: Path) -> Iterator[Path]:
    named = [folder / name for name in (places.BOARD, *places.JSONL)]
    named += sorted((folder / places.CONTRACTS).glob("[!.]*.json"))
    named += sorted((folder / places.SUMMARIES).glob("[!.]*.md"))
    return (path for path in named if path.is_file() and not path.is_symlink())


# --- back ------------------------------------------------------------------------------------------------------------


def import_board(directory: Path, *, until_break: bool = False) -> Imported:
    """Restores what a board's folder holds. Never raises for what the folder or the store say.

    ``until_break``: with a chain that is broken somewhere, restore what stands before the break; without it such a
    folder is refused with the place of the break.
    """
    try:
        with places.turn() as mine:
            if not mine:
                return _no("busy", "Another process writes the board folder right now; try again.")
            return _import(directory, until_break)
    except OSError as error:
        return _no("unreadable", f"{directory.name} cannot be read: {error.strerror or error}.")


def _no(code: str, sentence: str, board_id: str = "") -> Imported:
    return Imported(Receipt("rejected", COMMAND, code, sentence, board_id=board_id or None), board_id)


def _import(directory: Path, until_break: bool) -> Imported:
    head = _head(directory)
    board_id = str((head or {}).get("boardId", ""))
    if head is None or not places.is_board_id(board_id):
        return _no("no_board", f"{directory.name} has no board.json that names a board.")
    if Board.objects.filter(board_id__iexact=board_id).exists():
        return _no("board_exists", f"A board {board_id!r} exists already; it is not restored over it.", board_id)
    home = places.of_board(board_id)
    elsewhere = directory.resolve() != home.resolve()
    if elsewhere and os.path.lexists(home):
        return _no(
            "folder_exists",
            f"This home has a folder for {board_id!r} too; import that one, or move it away first.",
            board_id,
        )
    lines, broken = _verified(directory / places.EVENTS, board_id)
    if broken and not until_break:
        return _no("broken_chain", f"{broken} What stands before it ({len(lines)} events) can be restored.", board_id)
    if not lines:
        return _no("no_history", f"{directory.name} holds no events of AgentLink; adopt it in the panel.", board_id)
    if elsewhere:
        places.make(places.boards())
        _copy(directory, home)
    try:
        imported = _restore(board_id, head, lines)
    except (IntegrityError, ValidationError) as error:
        if elsewhere:
            shutil.rmtree(home, ignore_errors=True)
        return _no("id_taken", f"Something of it is known here already: {_first_line(error)}.", board_id)
    passing.turn_of(board_id)
    return _told(imported, broken)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _told(imported: Imported, broken: str) -> Imported:
    cursor = FolderCursor.objects.filter(pk=imported.board_id).first()
    problems = [broken] if broken else []
    problems += [one["sentence"] for one in cursor.problems] if cursor else []
    foreign = cursor.taken if cursor else 0
    return Imported(imported.receipt, imported.board_id, imported.events, imported.nodes, foreign, problems)


def _head(directory: Path) -> Json | None:
    try:
        return parsed(places.read_whole(directory / places.BOARD))
    except ValueError:
        return None


def _verified(path: Path, board_id: str) -> tuple[list[Json], str]:
    """The events that form a chain from the first on, and where and why it ends early (empty when it does not)."""
    found = _own_lines(path)
    erased = {one["eventId"]: one["remainderDigest"] for line in found.values() for one in _erasures(line)}
    lines: list[Json] = []
    previous = ""
    try:
        for revision in range(1, max(found, default=0) + 1):
            if revision not in found:
                raise Broken(f"Event {revision} of {max(found)} is missing.")
            lines.append(_checked(found[revision], board_id, previous, erased))
            previous = lines[-1]["digest"]
    except Broken as error:
        return lines, str(error)
    return lines, ""


def _own_lines(path: Path) -> dict[int, Json]:
    """Every line that calls itself an event of ours, by revision; of two the first."""
    found: dict[int, Json] = {}
    if not os.path.lexists(path):
        return found
    with opened(path) as descriptor:
        for piece in Opened(descriptor, path, Mark(), fresh=True).pieces():
            if piece.record is not None and piece.ours and len(found) < EVENT_LIMIT:
                found.setdefault(int(piece.record["revision"]), piece.record)
    return found


def _erasures(line: Json) -> list[Json]:
    data = line.get("data")
    if line.get("type") != PayloadErased.type or not isinstance(data, dict):
        return []
    return [one for one in data.get("erased", []) if isinstance(one, dict) and "remainderDigest" in one]


def _checked(line: Json, board_id: str, previous: str, erased: dict[str, str]) -> Json:
    where = f"Event {line.get('revision')} ({str(line.get('eventId'))[:60]})"
    said = {name: line.get(name) for name in ("eventId", "position", "boardId", "revision", "type", "version")}
    rest = {name: line.get(name) for name in ("actor", "origin", "dataDigest", "previous")}
    if line.get("boardId") != board_id:
        raise Broken(f"{where} belongs to another board.")
    if line.get("previous") != previous:
        raise Broken(f"{where} does not follow the event before it.")
    if line.get("digest") != sha256(canonical({**said, "at": line.get("timestamp"), **rest})):
        raise Broken(f"{where} was changed: its digest does not match.")
    if sha256(canonical(line.get("data"))) != erased.get(str(line.get("eventId")), line.get("dataDigest")):
        raise Broken(f"{where} has a changed payload: its data digest does not match.")
    _check_shape(line, where)
    return line


def _check_shape(line: Json, where: str) -> None:
    """A chain that fits proves nothing about who made it: what is no event of ours, or no id, is not restored."""
    cls = EVENTS.get(str(line["type"]))
    if cls is None or cls.home or not isinstance(line["version"], int) or line["version"] > cls.version:
        raise Broken(f"{where} is of a type or version that this one does not know: {str(line['type'])[:60]!r}.")
    try:
        body = cls.model_validate(line["data"]).body()
        parse(line["timestamp"])
    except (ValidationError, ValueError, TypeError):
        raise Broken(f"{where} does not hold what an event of its type holds.") from None
    if not EVENT_ID.match(str(line["eventId"])) or not _is_plain(line["actor"]) or not _ids_hold("", body):
        raise Broken(f"{where} has an id that cannot be one.")


def _is_plain(value: object) -> bool:
    return isinstance(value, str) and bool(PLAIN.match(value)) and ".." not in value


def _ids_hold(name: str, value: Any) -> bool:
    if isinstance(value, dict):
        named = name not in ("owners",) or all(map(_is_plain, value))
        return named and all(_ids_hold(key, item) for key, item in value.items())
    if isinstance(value, list):
        return all(_ids_hold(name, item) for item in value)
    return name not in KEPT or not isinstance(value, str) or _is_plain(value)


def _restore(board_id: str, head: Json, lines: list[Json]) -> Imported:
    """All or nothing, in one transaction: nodes, events, and what makes the restored board honest."""
    with log.writer() as at:
        nodes = _nodes(head, lines)
        if nodes:
            log.append(words.HOME_STREAM, list(nodes), actor=words.SERVICE_NODE, origin=_origin(), at=at)
        for line in lines:
            _append(board_id, line)
        ending = [BoardAdopted(board_id=board_id, source="import", restored=len(lines)), *_unproven(board_id)]
        last = log.append(board_id, ending, actor=words.SERVICE_NODE, origin=_origin(), at=at)[-1]
    for node in nodes:
        if node.trust != UNTRUSTED and node.kind == "agent":
            trust.issue(node.node_id)
    entity = {"type": "board", "id": board_id, "revision": last.event.revision}
    receipt = Receipt("applied", COMMAND, board_id=board_id, revision=last.event.revision, entity=entity)
    return Imported(receipt, board_id, len(lines), len(nodes))


def _origin() -> Json:
    return {"surface": "folder", "host": "local"}


def _append(board_id: str, line: Json) -> None:
    log.restore(
        board_id,
        line["type"],
        clean_data(line["data"]),
        event_id=line["eventId"],
        version=line["version"],
        actor=line["actor"],
        origin={"surface": _surface(line["origin"]), "host": "local", "restored": True},
        at=parse(line["timestamp"]),
    )


def _surface(origin: object) -> str:
    """Through which edge it was said to come."""
    said = origin.get("surface") if isinstance(origin, dict) else ""
    return str(said) if said in get_args(words.Surface) else "folder"


def _unproven(board_id: str) -> list[EventData]:
    """Leases that ran do not come back, and what was verified has to be checked again before it counts."""
    tasks = Task.objects.filter(board_id=board_id, status="claimed").order_by("task_id")
    bundles = Evidence.objects.filter(board_id=board_id, verdict="verified").order_by("evidence_id")
    ended = [
        TaskExpired(task_id=row.task_id, node_id=row.holder, fencing=row.fencing, lease_until=row.lease_until)
        for row in tasks
        if row.lease_until
    ]
    unproven = [
        EvidenceChecked(evidence_id=row.evidence_id, node_id=words.SERVICE_NODE, verdict="unverified", note=CHECK_AGAIN)
        for row in bundles
    ]
    return [*ended, *unproven]


# --- nodes -----------------------------------------------------------------------------------------------------------


def _nodes(head: Json, lines: list[Json]) -> list[PeerRegistered]:
    """Whoever the events speak of and this home does not know, with what board.json says about them."""
    listed = head.get("nodes")
    facts = {str(one.get("nodeId")): one for one in listed if isinstance(one, dict)} if isinstance(listed, list) else {}
    named = {name for line in lines for name in _named(line)}
    known = set(Node.objects.filter(node_id__in=named).values_list("node_id", flat=True))
    taken = set(Node.objects.values_list("name_key", flat=True))
    return [_node(node_id, facts.get(node_id, {}), taken) for node_id in sorted(named - known)]


def _named(line: Json) -> Iterator[str]:
    """The nodes that an event names."""
    data = line["data"]
    single = [line["actor"], *(data.get(name) for name in ("nodeId", "sender", "proposedBy", "fromNode"))]
    several = [*data.get("to", []), *data.get("owners", {})]
    return (name for name in (*single, *several) if isinstance(name, str) and places.is_board_id(name))


def _node(node_id: str, facts: Json, taken: set[str]) -> PeerRegistered:
    """A session that lives on this machine works on; anybody else is remembered and may not write."""
    session_id = str(facts.get("sessionId", ""))[:200]
    row = peers.session(session_id) if session_id else None
    here = row is not None and row.present and not Node.objects.filter(session_id=session_id).exists()
    name = str(facts.get("name", node_id))[:200]
    key = name_key(name)
    if key in taken or not name.isascii() or not name.isprintable():
        name, key = node_id, name_key(node_id)
    taken.add(key)
    return PeerRegistered(
        node_id=node_id,
        name=name,
        kind="agent",
        session_id=session_id if here else "",
        source=row.source if row is not None and here else "",
        role=clean_data({"role": str(facts.get("role", ""))[:500]})["role"],
        trust="same-user-local" if here else UNTRUSTED,
        project_name=row.project_name if row is not None and here else "",
        project_key=row.project_key if row is not None and here else "",
    )
