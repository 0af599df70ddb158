"""A project's name and key: what may be shown of an absolute root."""

from __future__ import annotations

import os
import secrets
from hashlib import blake2s

from peers.models import HomeKey

_KEY = "project"


def project_name(root: str) -> str:
    """The root's last component; "" for none and for the root of the file system."""
    return os.path.basename(os.path.normpath(root)) if root else ""


def project_key(root: str) -> str:
    """A short key that is equal for equal roots of this home, links resolved; "" without a root."""
    if not os.path.isabs(root) or "\x00" in root:
        return ""
    resolved = os.path.realpath(root)
    return blake2s(os.fsencode(resolved), key=_home_key(), digest_size=8).hexdigest()


def _home_key() -> bytes:
    row, _ = HomeKey.objects.get_or_create(name=_KEY, defaults={"key": secrets.token_bytes(32)})
    return bytes(row.key)
