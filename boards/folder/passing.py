"""All boards, one after another: which of them need a turn, and the home's own files."""

from __future__ import annotations

import os
from typing import Any, Final

import structlog
from django.conf import settings

from boards import log
from boards.folder import nodes, places, rendering
from boards.folder.turns import FOLDERS, Turn
from boards.models import Board, FolderCursor
from boards.words import HOME_STREAM
from peers.adapters.agintiflow.files import stamp

logger = structlog.get_logger(__name__)
ROUNDS: Final = 100
"""Turns that one board may take in a row before the others have theirs."""


def attempt_once(*, look: bool = True) -> bool:
    """One pass: every board whose log or (with ``look``) whose files have moved; whether something is left to do.

    Another process at it means that nothing is done here. With mode ``off`` nothing is.
    """
    if settings.AGENTLINK.mode == "off":
        return False
    with places.turn() as mine:
        if not mine:
            return True
        _home_files()
        left = [turn_of(board_id) for board_id in _due(look)]
        return any(left)


def turn_of(board_id: str) -> bool:
    """One board's turns until nothing is left, within reason; whether something is. Only inside ``places.turn``."""
    sessions = rendering.Sessions()
    try:
        for _ in range(ROUNDS):
            cursor = FolderCursor.objects.filter(pk=board_id).first() or FolderCursor(board_id=board_id)
            if not Turn(board_id, cursor, sessions).run():
                return False
    except OSError as error:
        logger.error("folder_failed", board=board_id, error=str(error))
    return True


def _home_files() -> None:
    """Once for each change of the nodes."""
    head = log.head(HOME_STREAM)[0]
    cursor = FolderCursor.objects.filter(pk=HOME_STREAM).first() or FolderCursor(board_id=HOME_STREAM)
    path = places.home() / "peers.json"
    if not cursor._state.adding and cursor.exported == head and cursor.stamps == {"peers": places.mark(path)}:
        return
    try:
        places.make(places.boards())
        nodes.ensure_identity()
        nodes.write_peers()
    except OSError as error:
        logger.error("folder_failed", board="", error=str(error))
        return
    cursor.exported, cursor.stamps = head, {"peers": places.mark(path)}
    with log.writer():
        cursor.save()


def _due(look: bool) -> list[str]:
    """Boards with something to write or, when looked at, with files that are not as they were left."""
    heads = dict(Board.objects.values_list("board_id", "head"))
    if not look:
        exported = dict(FolderCursor.objects.values_list("board_id", "exported"))
        return [board_id for board_id, head in heads.items() if exported.get(board_id, 0) != head]
    rows = FolderCursor.objects.values_list("board_id", "exported", "files", "stamps")
    known = {board_id: (exported, files, stamps) for board_id, exported, files, stamps in rows}
    base = str(places.boards())
    return [one for one, head in heads.items() if one not in known or _moved(f"{base}/{one}/", head, *known[one])]


def _moved(folder: str, head: int, exported: int, files: dict[str, Any], stamps: dict[str, str]) -> bool:
    """Asked every second for every board: a few system calls and nothing else."""
    if exported != head or any(stamp(folder + name) != stamps.get(name) for name in (places.BOARD, *FOLDERS)):
        return True
    return any(_grown(folder + name, files.get(name, {}), head) for name in places.JSONL)


def _grown(path: str, mark: dict[str, int], head: int) -> bool:
    """By inode and size alone: what is rewritten in place without growing is no line of anybody."""
    try:
        found = os.lstat(path)
    except OSError:
        return True
    return (mark.get("revision"), mark.get("inode"), mark.get("size")) != (head, found.st_ino, found.st_size)


def problems() -> list[str]:
    """What of the folder needs a person, in sentences, board by board."""
    rows = FolderCursor.objects.exclude(problems=[]).order_by("board_id").values_list("board_id", "problems")
    return [f"{board_id}: {one['sentence']}" for board_id, found in rows for one in found]
