"""How rows are keyed that belong to two things, and how names are compared."""

from __future__ import annotations


def pair(left: str, right: str) -> str:
    """The key of a row that belongs to two things."""
    return f"{left}:{right}"


def name_key(name: str) -> str:
    """Names are unique without regard to case."""
    return " ".join(name.casefold().split())
