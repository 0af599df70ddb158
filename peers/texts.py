"""Foreign text on its way into storage: storable, redacted, and bounded with the cut in plain sight."""

from __future__ import annotations

import logging
from collections.abc import Callable

Clean = Callable[[str], str]

log = logging.getLogger(__name__)

# The largest text that a redactor is asked to look at, in characters. What lies beyond is counted, never stored.
REDACTABLE = 200_000
WITHHELD = "[unredactable: withheld]"


def storable(text: str) -> str:
    """Without NUL (PostgreSQL refuses it) and lone surrogates (no encoding takes them); both stay visible."""
    text = text.replace("\x00", "\u2400")
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def bounded(text: str, limit: int) -> str:
    """At most `limit` characters; a cut says how much is missing."""
    return text if len(text) <= limit else f"{text[:limit]}… [{len(text) - limit} more characters]"


def cleaned(value: object, clean: Clean, limit: int) -> str:
    """`value` if it is text, else "". Redacted before it is cut: a cut can hide the tail that makes a secret known."""
    if not isinstance(value, str) or not value:
        return ""
    text = storable(value)
    try:
        safe = clean(text[:REDACTABLE])
    except Exception:
        log.exception("The redactor failed on a text of %d characters; the text is withheld.", len(text))
        return WITHHELD
    return bounded(safe, limit)


def as_is(text: str) -> str:
    """The `clean` of callers that keep nothing."""
    return text
