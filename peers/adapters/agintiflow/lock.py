"""AgInTiFlow's lock around every write to a session's inbox.

The protocol: write an owner file, make `.inbox-mutation.lock` a hard link to it; who gets the link owns the inbox.
Without it appends are lost when a session rewrites its inbox at the same time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from peers.adapters.agintiflow.events import decoded_object
from peers.adapters.agintiflow.files import opened, read_bounded, sync_folder, temporary, write_all
from peers.adapters.base import Json
from peers.times import iso_now

LOCK = ".inbox-mutation.lock"
RETRY_SECONDS = 0.010
# A lock this old is abandoned whatever its pid: holders need milliseconds.
STALE_SECONDS = 120.0
# AgInTiFlow itself waits 10 s. A delivery is retried anyway and must not hold up those to other sessions.
PATIENCE_SECONDS = 2.0
_OWNER_LIMIT = 64 << 10


class LockBusy(Exception):
    """Somebody else kept the inbox locked for as long as we were ready to wait."""


class LockLost(OSError):
    """Somebody took our lock for abandoned and broke it; nothing was written after that."""


@dataclass(frozen=True, slots=True)
class InboxLock:
    folder: Path
    owner: Path
    token: str

    def confirm(self) -> None:
        """Raises LockLost unless the lock is still a link to our owner file. Called right before each write."""
        try:
            if os.path.samestat(os.lstat(self.folder / LOCK), os.lstat(self.owner)):
                return
        except FileNotFoundError:
            pass
        raise LockLost("the inbox lock was broken by another program")


@contextmanager
def inbox_lock(folder: Path, *, patience: float = PATIENCE_SECONDS) -> Iterator[InboxLock]:
    """Own the inbox in `folder`. Raises LockBusy after `patience` seconds, OSError where no lock can be made."""
    token = str(uuid4())
    owner = folder / f".inbox-lock-owner.{os.getpid()}.{token}"
    try:
        _write_owner(owner, token)
        _acquire(folder, owner, time.monotonic() + patience)
        try:
            yield InboxLock(folder, owner, token)
        finally:
            _release(folder, token)
    finally:
        owner.unlink(missing_ok=True)


def _write_owner(owner: Path, token: str) -> None:
    draft = temporary(owner)
    record = json.dumps({"token": token, "pid": os.getpid(), "createdAt": iso_now()}) + "\n"
    try:
        with opened(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600) as fd:
            write_all(fd, record.encode())
        os.rename(draft, owner)
    finally:
        draft.unlink(missing_ok=True)


def _acquire(folder: Path, owner: Path, deadline: float) -> None:
    while True:
        try:
            os.link(owner, folder / LOCK)
        except FileExistsError:
            if _break_stale(folder):
                continue
            if time.monotonic() >= deadline:
                raise LockBusy("another program keeps this session's inbox locked") from None
            time.sleep(RETRY_SECONDS)
        else:
            sync_folder(folder)
            return


def _break_stale(folder: Path) -> bool:
    """True when the lock went away, by us or by itself.

    Judging and renaming are two steps, and another breaker may have been faster: then what was renamed is somebody's
    fresh lock. Its token tells, and it is put back.
    """
    lock = folder / LOCK
    try:
        judged = os.lstat(lock)
        record = _record(lock)
    except FileNotFoundError:
        return True
    if not _is_stale(record, judged):
        return False
    broken = folder / f"{LOCK}.stale.{os.getpid()}.{uuid4()}"
    try:
        os.rename(lock, broken)
    except FileNotFoundError:
        return True
    if not os.path.samestat(os.lstat(broken), judged):
        _put_back(broken, lock)
    broken.unlink(missing_ok=True)
    sync_folder(folder)
    return True


def _put_back(broken: Path, lock: Path) -> None:
    # When a third writer owns the inbox by now, the one whose lock this was notices before it writes.
    with suppress(FileExistsError):
        os.link(broken, lock)


def _record(lock: Path) -> Json:
    try:
        return decoded_object(read_bounded(lock, _OWNER_LIMIT)) or {}
    except ValueError:
        return {}


def _is_stale(record: Json, found: os.stat_result) -> bool:
    pid = record.get("pid")
    if isinstance(pid, int) and not isinstance(pid, bool) and _is_dead(pid):
        return True
    return time.time() - found.st_mtime >= STALE_SECONDS


def _is_dead(pid: int) -> bool:
    """As AgInTiFlow judges: only "no such process" is death. 0 and below name no process at all and prove nothing."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


def _release(folder: Path, token: str) -> None:
    try:
        if _record(folder / LOCK).get("token") == token:
            (folder / LOCK).unlink()
            sync_folder(folder)
    except FileNotFoundError:
        return
