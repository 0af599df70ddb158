"""Where the board folder is, and the three ways of writing there: make, replace whole, never follow a link."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from django.conf import settings

from boards import words
from peers.adapters.agintiflow.files import opened, stamp, sync_folder, temporary, write_all

BOARD: Final = "board.json"
EVENTS: Final = "events.jsonl"
MESSAGES: Final = "messages.jsonl"
EVIDENCE: Final = "evidence.jsonl"
JSONL: Final = (MESSAGES, EVIDENCE, EVENTS)
CONTRACTS: Final = "contracts"
SUMMARIES: Final = "summaries"
WHOLE_LIMIT: Final = 1 << 20
"""Bytes of a foreign JSON file that are read; a larger one is reported."""
TURN_SECONDS: Final = 2.0
"""How long a process waits for another's turn at the folder before it leaves the work to that one."""


def home() -> Path:
    """AgentLink's own folder."""
    return Path(settings.AGENTLINK_HOME)


def boards() -> Path:
    """The folder that holds one folder for each board."""
    return home() / "boards"


def is_board_id(name: str) -> bool:
    """Whether this names a board's folder and nothing else."""
    return bool(words.BOARD_ID.match(name)) and ".." not in name


def of_board(board_id: str) -> Path:
    """A board's folder. Raises ``ValueError`` for what cannot name one."""
    if not is_board_id(board_id):
        raise ValueError(f"{board_id[:80]!r} cannot be a board's folder.")
    return boards() / board_id


@contextmanager
def turn(patience: float = TURN_SECONDS) -> Iterator[bool]:
    """One process at a time writes into the folder; false when another one has it for longer than ``patience``."""
    descriptor = os.open(home() / "folder.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        yield _locked(descriptor, time.monotonic() + patience)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)


def make(folder: Path) -> None:
    """The folder, private; raises ``NotADirectoryError`` when a link or a file stands in its place."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if folder.is_symlink() or not folder.is_dir():
            raise NotADirectoryError(f"{folder.name} is not a folder; move it away.") from None
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
        return
    sync_folder(folder.parent)


def read_whole(path: Path, limit: int = WHOLE_LIMIT) -> bytes | None:
    """The bytes of a plain file, none when there is no file. Raises ``OSError``, and ``ValueError`` when too large."""
    try:
        with opened(path) as descriptor:
            size = os.fstat(descriptor).st_size
            if size > limit:
                raise ValueError(f"{path.name} has {size:,} bytes; at most {limit:,} are read.")
            return os.pread(descriptor, limit, 0)
    except FileNotFoundError:
        return None


def write_whole(path: Path, content: bytes) -> bool:
    """Puts the content in the file's place in one step, unless it is there; whether something was written.

    Whoever reads sees the old file or the new one. A link in its place is replaced, never followed.
    """
    if not path.is_symlink() and _holds(path, content):
        return False
    draft = temporary(path)
    try:
        with opened(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600) as descriptor:
            write_all(descriptor, content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)
    return True


def _holds(path: Path, content: bytes) -> bool:
    try:
        return read_whole(path, len(content)) == content
    except ValueError:
        return False


def sweep(folder: Path) -> None:
    """Drafts of ours that a killed process left behind."""
    for draft in folder.glob(".*.tmp"):
        if not draft.is_symlink() and draft.name.count(".") >= 4:
            draft.unlink(missing_ok=True)


def mark(path: Path) -> str:
    """Changes whenever the file does; ``-`` when there is none."""
    return stamp(str(path))
