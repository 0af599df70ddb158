"""The fencing numbers of this home's claims: kept by who claimed, so that an old claim can never write for a new one.

They are written once, from the answer of the claim, and never asked for again.
"""

from __future__ import annotations

import re
from pathlib import Path

from agentlink_site.client import working_home
from agentlink_site.home import own_folder, read_private, write_private

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")


def keep(node: str, task: str, number: int) -> None:
    """Remember the number of a claim."""
    path = _path(node, task)
    own_folder(path.parent.parent)
    own_folder(path.parent)
    write_private(path, b"%d\n" % number)


def recall(node: str, task: str) -> int | None:
    """The number of the last claim by this node in this home; None when there is none, or no number."""
    try:
        text = read_private(_path(node, task)).decode("ascii", "replace").strip()
    except (FileNotFoundError, ValueError):
        return None
    return int(text) if text.isdecimal() and len(text) < 19 else None


def forget(node: str, task: str) -> None:
    """The claim is over."""
    _path(node, task).unlink(missing_ok=True)


def _path(node: str, task: str) -> Path:
    """Raises ``ValueError`` for what cannot be a file's name."""
    for name in (node, task):
        if not _NAME.fullmatch(name) or ".." in name:
            raise ValueError("not an id")
    return working_home() / "fencing" / node / task
