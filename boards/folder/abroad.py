"""Boards in the folder that the log does not know: shown as data, taken over only by the person's own act."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from boards.commands import execute
from boards.folder import passing, places
from boards.folder.rendering import BEGINNING
from boards.folder.turns import parsed
from boards.models import Board
from boards.schemas import Actor, AdoptBoard, Receipt
from boards.schemas.sentences import sentence_of
from evidence.redaction import redact
from peers.adapters.agintiflow.files import opened

LISTED: Final = 50
"""Foreign boards that are listed."""
COUNT_BYTES: Final = 4 << 20
"""Of a longer file the count is a least one."""
TITLE_LIMIT: Final = 200


@dataclass(frozen=True, slots=True)
class ForeignBoard:
    """A folder with a board.json that the log does not know. All texts are redacted; nothing of it was checked."""

    board_id: str
    title: str
    objective: str
    stated_creator: str
    updated_at: str
    messages: int
    evidence: int
    contracts: int
    more: bool
    """Whether there are more lines than were counted."""
    ours: bool
    """Whether it holds events of AgentLink: then it can be restored, see ``agentlink import-board``."""

    def body(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "boardId": self.board_id,
            "title": self.title,
            "objective": self.objective,
            "statedCreator": self.stated_creator,
            "updatedAt": self.updated_at,
            "counts": {"messages": self.messages, "evidence": self.evidence, "contracts": self.contracts},
            "atLeast": self.more,
            "restorable": self.ours,
            "trust": "untrusted-imported-summary",
        }


def foreign_boards() -> list[ForeignBoard]:
    """By id, at most :data:`LISTED`; whatever cannot be read as a board is left out."""
    return [board for board_id in _ids()[:LISTED] if (board := _board(board_id))]


def _ids() -> list[str]:
    """Folders that could be boards and that no board of ours has."""
    try:
        names = sorted(entry.name for entry in os.scandir(places.boards()) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    known = {board_id.casefold() for board_id in Board.objects.values_list("board_id", flat=True)}
    return [name for name in names if places.is_board_id(name) and name.casefold() not in known]


def foreign_stamp() -> str:
    """Changes whenever :func:`foreign_boards` may say something else."""
    found = [places.of_board(board_id) for board_id in _ids()[:LISTED]]
    names = (places.BOARD, places.MESSAGES, places.EVIDENCE, places.CONTRACTS)
    return " ".join(f"{folder.name} {' '.join(places.mark(folder / name) for name in names)}" for folder in found)


def foreign_board(board_id: str) -> ForeignBoard | None:
    """One of them."""
    known = not places.is_board_id(board_id) or Board.objects.filter(board_id__iexact=board_id).exists()
    return None if known else _board(board_id)


def _board(board_id: str) -> ForeignBoard | None:
    folder = places.of_board(board_id)
    head = _head(folder)
    if head is None or head.get("boardId") != board_id:
        return None
    messages, evidence = _lines(folder / places.MESSAGES), _lines(folder / places.EVIDENCE)
    return ForeignBoard(
        board_id=board_id,
        title=_said(head, "title")[:TITLE_LIMIT] or board_id,
        objective=_said(head, "objective"),
        stated_creator=_said(head, "createdBy")[:TITLE_LIMIT],
        updated_at=_said(head, "updatedAt")[:40],
        messages=messages[0],
        evidence=evidence[0],
        contracts=sum(1 for _ in (folder / places.CONTRACTS).glob("[!.]*.json")),
        more=messages[1] or evidence[1],
        ours=_is_ours(folder / places.EVENTS),
    )


def _head(folder: Path) -> dict[str, Any] | None:
    try:
        return parsed(places.read_whole(folder / places.BOARD))
    except (OSError, ValueError):
        return None


def _said(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    text = value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""
    return redact(text).text.replace("\x00", "\N{SYMBOL FOR NULL}")


def _beginning(path: Path, size: int) -> bytes:
    try:
        with opened(path) as descriptor:
            return os.pread(descriptor, size, 0)
    except OSError:
        return b""


def _lines(path: Path) -> tuple[int, bool]:
    """How many lines a file has, and whether it goes on after what was counted."""
    text = _beginning(path, COUNT_BYTES + 1)
    return text[:COUNT_BYTES].count(b"\n"), len(text) > COUNT_BYTES


def _is_ours(path: Path) -> bool:
    return BEGINNING in _beginning(path, 64 << 10)


def adopt(actor: Actor, board_id: str, *, key: str | None = None) -> Receipt:
    """The person takes a foreign board over; its lines come in as untrusted ones, soon after."""
    found = foreign_board(board_id)
    if found is None:
        sentence = f"The folder has no board {board_id[:80]!r} that could be adopted."
        return Receipt("rejected", "adopt_board", "unknown_board", sentence, key=key)
    if found.ours:
        sentence = f"This folder holds a board's whole history; restore it: agentlink import-board {board_id}"
        return Receipt("rejected", "adopt_board", "has_history", sentence, key=key, board_id=board_id)
    wish = {
        "boardId": board_id,
        "title": found.title,
        "objective": found.objective,
        "statedCreator": found.stated_creator,
    }
    try:
        command = AdoptBoard.model_validate(wish)
    except ValidationError as error:
        sentence = f"Its board.json cannot be taken over: {sentence_of(error.errors())}"
        return Receipt("rejected", "adopt_board", "malformed", sentence, key=key, board_id=board_id)
    receipt = execute(command, actor, key=key, said=board_id)
    if receipt.accepted:
        passing.attempt_once(look=False)
    return receipt
