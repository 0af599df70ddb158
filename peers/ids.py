"""Which foreign ids may become a file name or a row of ours.

Session ids follow AgInTiFlow's own pattern (no length limit there; a file name ends at 255 bytes anyway).
Node ids are ours or, for the home's own node, AgInTiFlow's: the same characters, at most 120 of them.
"""

from __future__ import annotations

import re

_WIDE = re.compile(r"[A-Za-z0-9._:-]+")
SESSION_ID_LIMIT = 255
NODE_ID_LIMIT = 120


def _safe(text: str, limit: int) -> bool:
    return len(text) <= limit and bool(_WIDE.fullmatch(text)) and text != "." and ".." not in text


def is_session_id(text: str) -> bool:
    """True when this may name a session folder: `[A-Za-z0-9._:-]+`, not `.`, and nowhere `..`."""
    return _safe(text, SESSION_ID_LIMIT)


def is_node_id(text: str) -> bool:
    """True when this may name a token file: as a session id, at most 120 characters, not hidden."""
    return _safe(text, NODE_ID_LIMIT) and not text.startswith(".")


def is_message_id(text: str) -> bool:
    """True when this may become part of an inbox item's id."""
    return _safe(text, NODE_ID_LIMIT)
