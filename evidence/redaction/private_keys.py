"""Tier 2: private keys in PEM and in PuTTY's form."""

from __future__ import annotations

from evidence.redaction.engine import Scope, pattern, substitute_group

_KEY_BEGIN = pattern(r"-{4,5} ?BEGIN (?:[A-Z0-9]+ )*(?:PRIVATE|SECRET) KEY(?: BLOCK)? ?-{4,5}")
_KEY_END = pattern(r"-{4,5} ?END ")
_KEY_LONGEST = 65_536
_KEY_LINES = pattern(
    r"^(?:(?:[\s\"'`+>|#*,]|\\+[rn])*(?:(?:Proc-Type|DEK-Info|Comment|Version|Hash)[:][^\n\\]*"
    r"|[A-Za-z0-9+/]{16,}={0,2}))+"
    r"(?:(?:[\s\"'`+>|#*,]|\\+[rn])*[A-Za-z0-9+/=]+(?:\\n|\r?\n|[\"'`]|$))?"
)
_KEY_TAIL = pattern(r"^-? ?END [A-Z0-9 ]*(?:PRIVATE|SECRET) KEY(?: BLOCK)? ?-{4,5}")
_PUTTY = pattern(r"(Private-Lines: [0-9]+\s+)((?:[A-Za-z0-9+/=]{8,}\s*)+(?:Private-(?:MAC|Hash): *[0-9a-f]+)?)")


def hide_private_keys(text: bytes, scope: Scope) -> bytes:
    """Replace private keys in PEM, also truncated ones, and PuTTY's."""
    if b"PRIVATE KEY" in text or b"SECRET KEY" in text:
        text = _hide_pem(text, scope)
    if b"Private-Lines:" in text:
        text = substitute_group(_PUTTY, text, scope, 2, lambda value, _: scope.hide("KEY", "putty", value) + b"\n")
    return text


def _hide_pem(text: bytes, scope: Scope) -> bytes:
    """Replace each private key block; where its end is missing (a truncated log), what looks like its lines."""
    pieces: list[bytes] = []
    done = 0
    starts = [match.span() for match in _KEY_BEGIN.finditer(text)]
    for index, (start, body) in enumerate(starts):
        if start < done:
            continue
        limit = starts[index + 1][0] if index + 1 < len(starts) else len(text)
        end = _key_end(text, body, min(limit, body + _KEY_LONGEST))
        if end is not None:
            pieces += (text[done:start], scope.hide("KEY", "pem", text[start:end]))
            done = end
    return b"".join((*pieces, text[done:])) if pieces else text


def _key_end(text: bytes, body: int, limit: int) -> int | None:
    match = _KEY_END.search(text, body, limit)
    if match:
        found = int(match.end()) - 5  # the sign before END
        tail = _KEY_TAIL.match(text[found : found + 80])
        start = text[body:found].rstrip(b"- ")
        if tail and len(start.translate(None, _BASE64)) * 2 < len(start) >= 16:
            return found + int(tail.end())
    lines = _KEY_LINES.match(text[body:limit])
    return body + int(lines.end()) if lines else None


_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
