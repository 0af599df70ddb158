"""Opening files that others may have replaced by links, pipes or devices; and making our own writes durable."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2s
from pathlib import Path
from uuid import uuid4

from peers.adapters.base import Cursor

TAIL_BYTES = 64


class NotRegular(OSError):
    """The path names something else than a plain file: a link, a pipe, a device, a folder."""


@contextmanager
def opened(path: Path, flags: int = os.O_RDONLY, mode: int = 0o644) -> Iterator[int]:
    """A descriptor of a regular file. Links are not followed and a pipe without a writer does not block.

    Raises FileNotFoundError, NotRegular, or another OSError.
    """
    try:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    except OSError as error:
        if path.is_symlink():
            raise NotRegular(f"{path.name} is a symbolic link; only a plain file is read or written") from error
        raise
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise NotRegular(f"{path.name} is not a plain file")
        yield fd
    finally:
        os.close(fd)


def read_bounded(path: Path, limit: int) -> bytes:
    """The whole file. Raises ValueError with both sizes when it is larger than `limit` bytes."""
    with opened(path) as fd:
        size = os.fstat(fd).st_size
        if size > limit:
            raise ValueError(f"{path.name} has {size} bytes; at most {limit} are read")
        with open(fd, "rb", closefd=False) as file:
            return file.read(limit)


def stamp(path: str) -> str:
    """Identity, size and time of a file in one string; "-" when it is not there. Links are not followed."""
    try:
        found = os.lstat(path)
    except OSError:
        return "-"
    return f"{found.st_ino}.{found.st_size}.{found.st_mtime_ns}"


def cursor_at(fd: int, path: Path, offset: int) -> Cursor:
    found = os.fstat(fd)
    return Cursor(str(path), found.st_ino, found.st_size, found.st_mtime_ns, offset, _tail(fd, offset))


def resume_at(fd: int, cursor: Cursor | None) -> int:
    """Where to go on reading: the cursor's offset, or 0 when the file was replaced, truncated or rewritten."""
    if cursor is None:
        return 0
    found = os.fstat(fd)
    same = found.st_ino == cursor.inode and found.st_size >= max(cursor.offset, cursor.size)
    return cursor.offset if same and _tail(fd, cursor.offset) == cursor.tail else 0


def _tail(fd: int, offset: int) -> str:
    start = max(0, offset - TAIL_BYTES)
    return blake2s(os.pread(fd, offset - start, start), digest_size=8).hexdigest()


def sync_folder(folder: Path) -> None:
    """Make names that were created, renamed or removed in `folder` survive a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """Write and fsync a file that nobody else knows yet."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.fsync(fd)


def temporary(path: Path) -> Path:
    """A name beside `path`, in AgInTiFlow's own form for files that are renamed into place."""
    return path.with_name(f".{path.name.lstrip('.')}.{os.getpid()}.{uuid4()}.tmp")


def whole_or_nothing(fd: int, data: bytes) -> None:
    """Append `data` by one write to a descriptor opened with O_APPEND; take a part that fitted back and raise OSError.

    The part is taken back only while it still is the end of the file: what another writer added after it stays.
    """
    written = os.write(fd, data)
    if written == len(data):
        return
    end = os.lseek(fd, 0, os.SEEK_CUR)
    if os.fstat(fd).st_size == end:
        os.ftruncate(fd, end - written)
    raise OSError(f"only {written} of {len(data)} bytes could be written; they were taken back")
