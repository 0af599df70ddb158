"""The redactor: no secret, private path or private host gets into anything that is stored, sent or shown.

Applied when text is written and again when it leaves. Needs no Django. The rules are tables, one file per tier.
Everything runs on RE2 (linear in the text), on the text as `normalise` leaves it.
"""

from __future__ import annotations

from dataclasses import dataclass

from evidence.redaction.assignments import hide_assignments
from evidence.redaction.cookies import hide_cookies
from evidence.redaction.encoded import hide_encoded
from evidence.redaction.engine import PLACEHOLDER, RedactionContext, Scope, Tier
from evidence.redaction.entropy import hide_random
from evidence.redaction.hosts import hide_hosts
from evidence.redaction.normal import as_seen, as_written, normalise
from evidence.redaction.paths import hide_paths
from evidence.redaction.private_keys import hide_private_keys
from evidence.redaction.prose import hide_spoken
from evidence.redaction.shell import hide_commands
from evidence.redaction.structures import hide_structures
from evidence.redaction.tokens import hide_tokens

__all__ = ["WITHHELD", "Redacted", "RedactionContext", "redact"]

WITHHELD = "[unredactable: withheld]"
"""Stands for a whole text that could not be redacted: nothing of it is kept."""

TIERS: tuple[Tier, ...] = (
    hide_tokens,
    hide_private_keys,
    hide_cookies,
    hide_structures,
    hide_commands,
    hide_assignments,
    hide_spoken,
    hide_encoded,
    hide_random,
    hide_paths,
    hide_hosts,
)
"""In this order: the surer a rule, the earlier, because its placeholder says more."""

_MOST_PASSES = 6


@dataclass(frozen=True, slots=True)
class Redacted:
    """The text that may be kept and the ids of the rules that changed it (never the values)."""

    text: str
    rule_ids: tuple[str, ...]


class _UnsettledError(Exception):
    """The rules kept changing their own output."""


def redact(text: str, *, context: RedactionContext = RedactionContext()) -> Redacted:
    """Hide what must not be kept: `redact(redact(x).text)` changes nothing.

    Never raises: whatever goes wrong, the whole text becomes `WITHHELD` with the rule id `withheld`.
    """
    try:
        scope = Scope(context)
        return Redacted(_settled(normalise(text), scope), tuple(scope.hits))
    except Exception:  # fail closed: text that no rule has looked at must not be kept
        return Redacted(WITHHELD, ("withheld",))


def _settled(text: str, scope: Scope) -> str:
    """Apply all tiers until they change nothing, which is what makes the result final."""
    for _ in range(_MOST_PASSES):
        before, (text, final) = text, _once(text, scope)
        if final or text == before:
            return text
    raise _UnsettledError


def _once(text: str, scope: Scope) -> tuple[str, bool]:
    """The text after all tiers, applied until they change nothing, and whether they would find nothing in it again."""
    seen = as_seen(text)
    packed = before = scope.pack(seen.encode())
    scope.look(packed)
    for _ in range(_MOST_PASSES):
        last = packed
        for tier in TIERS:
            packed = tier(packed, scope)
        if packed is last or packed == last:
            break
    else:
        raise _UnsettledError
    if packed == before:
        return text, True
    cleaned = scope.show(packed).decode()
    if seen != text:
        return as_written(cleaned, PLACEHOLDER, seen, text), False
    return cleaned, scope.pack(cleaned.encode()) == packed
