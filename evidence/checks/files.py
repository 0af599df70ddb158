from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

from evidence.checks.verdicts import Check, Verdict, shown_time
from evidence.files import FileRefused, Pointer, Roots, open_pointer

MAX_HASHED_BYTES = 256 * 1024 * 1024
"""A larger file is kept by reference: its size and age are checked, its hash stays unverified."""

CLOCK_TOLERANCE = timedelta(minutes=2)
"""How far a file's time may lie ahead of our clock before it is not believed."""

_BLOCK = 1024 * 1024
_REFUSED: dict[str, Verdict] = {"no_root": "unavailable", "unreadable": "unavailable"}


def check_file(
    pointer: Pointer,
    roots: Roots,
    *,
    size_bytes: int | None,
    sha256: str | None,
    claimed_at: datetime | None,
    now: datetime,
    max_hashed_bytes: int = MAX_HASHED_BYTES,
) -> list[Check]:
    """Check that a file exists inside its root, and its size, hash and age where they are stated.

    The file is opened once, so every answer is about the same bytes. `size_bytes` and `sha256` (64 hex digits) are
    skipped when None; the age is compared with `claimed_at` (the claim that the evidence is for) when there is one.
    """
    try:
        opened = open_pointer(pointer, roots)
    except FileRefused as refused:
        return [Check("file", _REFUSED.get(refused.code, "rejected"), refused.sentence)]
    with opened:
        before = os.fstat(opened.fileno())
        checks = [
            Check(
                "file",
                "verified",
                f"`{pointer.path}` exists in the {pointer.root} folder.",
            )
        ]
        if size_bytes is not None:
            checks.append(_size(pointer.path, before.st_size, size_bytes))
        if sha256 is not None:
            checks.append(_hash(pointer.path, opened, before, sha256, max_hashed_bytes))
        if claimed_at is not None:
            checks.append(_age(pointer.path, before, claimed_at, now))
    return checks


def _size(path: str, found: int, stated: int) -> Check:
    if found == stated:
        return Check("size", "verified", f"`{path}` has the stated size of {stated} bytes.")
    return Check("size", "rejected", f"`{path}` has {found} bytes, {stated} were stated.")


def _hash(path: str, opened: BinaryIO, before: os.stat_result, stated: str, limit: int) -> Check:
    if before.st_size > limit:
        detail = f"`{path}` has {before.st_size} bytes, over the limit of {limit} for hashing; it is kept by reference."
        return Check("sha256", "unverified", detail)
    try:
        found = _digest(opened, limit)
    except OSError as error:
        return Check(
            "sha256",
            "unavailable",
            f"`{path}` could not be read to its end: {error.strerror}.",
        )
    if found is None or _changed(before, os.fstat(opened.fileno())):
        return Check(
            "sha256",
            "stale",
            f"`{path}` changed while it was being read; attach it when it is finished.",
        )
    if found == stated.strip().lower():
        return Check("sha256", "verified", f"`{path}` has the stated sha256.")
    return Check(
        "sha256",
        "rejected",
        f"`{path}` has another sha256 than stated; it changed or is another file.",
    )


def _digest(opened: BinaryIO, limit: int) -> str | None:
    """The sha256 in hex, or None when more than `limit` bytes come (the file grows while it is read)."""
    digest = hashlib.sha256()
    left = limit
    while block := opened.read(_BLOCK):
        left -= len(block)
        if left < 0:
            return None
        digest.update(block)
    return digest.hexdigest()


def _changed(before: os.stat_result, after: os.stat_result) -> bool:
    return (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)


def _age(path: str, found: os.stat_result, claimed_at: datetime, now: datetime) -> Check:
    # Claims are stored in milliseconds, so a file written in the claim's own millisecond is not older than it.
    modified = datetime.fromtimestamp(found.st_mtime_ns // 1_000_000 / 1000, UTC)
    if modified > now + CLOCK_TOLERANCE:
        detail = f"`{path}` says that it was changed at {shown_time(modified)}, in the future; its age proves nothing."
        return Check("newer", "unverified", detail)
    if modified < claimed_at:
        detail = f"`{path}` was last changed at {shown_time(modified)}, before the claim at {shown_time(claimed_at)}."
        return Check("newer", "stale", detail)
    return Check(
        "newer",
        "verified",
        f"`{path}` was last changed after the claim, at {shown_time(modified)}.",
    )
