"""Tier 2: cookies in headers, commands and code."""

from __future__ import annotations

from typing import Any

from evidence.redaction.engine import Scope, hints, pattern, substitute, swap
from evidence.redaction.values import (
    is_code,
    is_placeholder,
    is_random,
)

_COOKIE_HINTS = hints(b"cookie", b" -b")
_COOKIES = pattern(
    r"\b((?:set-)?cookies?[\"'\\\]]*(?:\s*[:=]\s*|[ \t]+)[\"'`\\]*"
    r"|\bcurl\b[^\n]*?\s-b[ \t]*[\"'])([^\n\"'`]*=[^\n\"'`]+)",
    case=False,
)
_COOKIE_PAIR = pattern(r"([A-Za-z0-9_.!#$%&*+^|~-]+=)([^;\s,\\]+)")
_COOKIE_NAMES = pattern(
    r"sess|sid|auth|token|csrf|xsrf|jwt|key|secret|login|remember|user|uid|identity|account|ticket|sso",
    case=False,
)
_COOKIE_PUBLIC = frozenset(b"path domain expires max-age samesite version priority theme lang locale".split())


def hide_cookies(text: bytes, scope: Scope) -> bytes:
    """Replace values of cookies; those for a theme or a language stay."""
    if not scope.holds(_COOKIE_HINTS):
        return text

    def pair(match: Any) -> bytes | None:
        name, value = match.group(1)[:-1].lower(), match.group(2)
        if name in _COOKIE_PUBLIC or is_placeholder(value) or is_code(value):
            return None
        if not (_COOKIE_NAMES.search(name) and len(value) >= 6) and not is_random(value):
            return None
        return swap(match, 2, scope.hide("SECRET", "cookie", value))

    def line(match: Any) -> bytes | None:
        pairs = match.group(2)
        cleaned = substitute(_COOKIE_PAIR, pairs, scope, pair)
        return None if cleaned is pairs else swap(match, 2, cleaned)

    return substitute(_COOKIES, text, scope, line)
