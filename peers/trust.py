"""The secrets by which a node proves who it is.

A secret is `alk_` + 43 base-62 characters (256 random bits) + 6 base-62 characters of the CRC-32 of all before them,
so that a redactor recognises one with certainty. The database keeps its SHA-256 only; the node reads it from
`<home>/tokens/<nodeId>` (0600 in a folder 0700).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
import zlib
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from peers.ids import is_node_id
from peers.models import NodeSecret

PREFIX = "alk_"
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BODY, _CHECK = 43, 6
_FORM = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{_BODY + _CHECK}}}")
_FILE_LIMIT = 256


class UnsafeTokenFile(Exception):
    """A token file or its folder that others could read or replace; `code` and a sentence for people."""

    code = "unsafe_token_file"


def is_token(text: str) -> bool:
    """True when the text has the form of a secret of ours and its checksum is right. Says nothing about validity."""
    return bool(_FORM.fullmatch(text)) and text.isascii() and text[-_CHECK:] == _checksum(text[:-_CHECK])


def issue(node_id: str) -> str:
    """A new secret for the node, written to its file; every older one of it is revoked.

    Call it outside a transaction, or where a failure rolls the node back too: the file does not roll back. Raises
    ValueError for an id that cannot name a file, UnsafeTokenFile, OSError.
    """
    path = _path(node_id)
    token = _new_token()
    now = timezone.now()
    with transaction.atomic():
        NodeSecret.objects.filter(node_id=node_id, revoked_at=None).update(revoked_at=now)
        NodeSecret.objects.create(node_id=node_id, digest=_digest(token), created_at=now)
        _write(path, token)
    return token


def verify(token: str) -> str | None:
    """The node that this secret proves, or None. Looked up by digest, compared in constant time."""
    if not is_token(token):
        return None
    digest = _digest(token)
    row = NodeSecret.objects.filter(digest=digest, revoked_at=None).first()
    return row.node_id if row and hmac.compare_digest(row.digest, digest) else None


def read(node_id: str) -> str | None:
    """The node's secret from its file; None when there is none or the one there is not valid (any more).

    Raises UnsafeTokenFile when others can read or replace the file.
    """
    token = _read(_path(node_id))
    return token if token and verify(token) == node_id else None


def revoke(node_id: str) -> bool:
    """End every secret of the node and remove its file. True when there was one."""
    path = _path(node_id)
    ended = NodeSecret.objects.filter(node_id=node_id, revoked_at=None).update(revoked_at=timezone.now())
    path.unlink(missing_ok=True)
    return ended > 0


def _path(node_id: str) -> Path:
    if not is_node_id(node_id):
        raise ValueError(f"{node_id!r} is no node id: letters, digits and . _ : -, at most 120, no '..', not hidden.")
    return Path(settings.AGENTLINK_HOME) / "tokens" / node_id


def _new_token() -> str:
    number, body = secrets.randbits(256), ""
    for _ in range(_BODY):
        number, digit = divmod(number, len(_DIGITS))
        body += _DIGITS[digit]
    return PREFIX + body + _checksum(PREFIX + body)


def _checksum(text: str) -> str:
    number, digits = zlib.crc32(text.encode()), ""
    for _ in range(_CHECK):
        number, digit = divmod(number, len(_DIGITS))
        digits += _DIGITS[digit]
    return digits


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _folder(path: Path) -> Path:
    """The tokens' folder, ours and closed to others."""
    folder = path.parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise UnsafeTokenFile("The tokens folder is a link or belongs to another user; no secret is kept there.")
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)
    return folder


def _write(path: Path, token: str) -> None:
    folder = _folder(path)
    draft = folder / f".{secrets.token_hex(8)}.tmp"
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as file:
            file.write(token.encode() + b"\n")
            file.flush()
            os.fsync(fd)
        os.rename(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _read(path: Path) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnsafeTokenFile(f"The token file of {path.name} cannot be opened: {error.strerror}.") from error
    with open(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise UnsafeTokenFile(f"The token file of {path.name} must be a plain file of yours with mode 0600.")
        return file.read(_FILE_LIMIT).decode("ascii", "replace").strip()
