"""Text for people's eyes: what is invisible or turns text around becomes visible, and times become ages."""

from __future__ import annotations

import unicodedata
from datetime import datetime, timedelta
from typing import Final

BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u2800\u3164\uffa0")
"""Characters that look like nothing but are letters or marks by their category."""
INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of controls, formats (bidi, zero width, tags), lone surrogates, private and unassigned characters, and
separators of lines and paragraphs."""
BOX: Final = "\u27e6U+{:04X}\u27e7"
"""How an invisible character is named: ``\u27e6U+202E\u27e7``."""


def visible(text: object) -> str:
    """The text with every invisible character as a box that names it; new lines and tabs stay.

    Lone surrogates, which no encoding can carry, become a box too.
    """
    plain = str(text).replace("\r\n", "\n")
    if plain.isascii() and plain.isprintable():
        return plain
    return "".join(character if character in "\n\t" else shown(character) for character in plain)


def shown(character: str, box: str = BOX) -> str:
    """One character as it may be shown: itself, the picture of a control, or ``box`` with its number."""
    if not (unicodedata.category(character) in INVISIBLE or character in BLANK):
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{SYMBOL FOR DELETE}" if code == 0x7F else box.format(code)


def span(length: timedelta) -> str:
    """``40 s``, ``18 min 40 s``, ``2 h 5 min``, ``3 d``: at most two units, never negative."""
    seconds = max(0, int(length.total_seconds()))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 1:
        return f"{seconds} s"
    if hours < 1:
        return f"{minutes} min" + (f" {seconds % 60} s" if seconds % 60 else "")
    if days < 2:
        return f"{hours} h" + (f" {minutes % 60} min" if minutes % 60 else "")
    return f"{days} d"


def ago(moment: datetime, at: datetime) -> str:
    """How long before ``at`` the moment was, in one unit; ``now`` within the 20 s that a page may be old."""
    seconds = int((at - moment).total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= (2 * size if unit == "d" else size):
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago" if seconds >= 20 else "now"
