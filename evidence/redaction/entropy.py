"""Tier 4: strings that only their randomness gives away: near a word for a secret, or long and of mixed case."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from evidence.redaction.engine import Scope, pattern, substitute, swap
from evidence.redaction.tokens import LONG
from evidence.redaction.values import (
    has_digit,
    is_identifier,
    is_path,
    is_random,
    is_word,
)

_NEAR_WORD = pattern(
    r"\b((?:secret|token|password|passphrase|credential|api[ _-]?key|private[ _-]key|fernet[ _-]key|signing[ _-]key"
    r"|access[ _-]key|master[ _-]key|encryption[ _-]key|secret[ _-]key|license[ _-]key|seed)[ \t]*:?[ \t]+[\"'`(]?)"
    r"([A-Za-z0-9_+/=.~-]{20,})",
    case=False,
)
_LONG = pattern(
    r"(^|[\s\"'`(=:,\[{>])(data:[a-z]+/[a-z0-9.+-]+;base64,|(?:(?:sha|SHA)(?:1|256|384|512)|MD5|h1)[:-]|(?:ssh|ecdsa"
    r"|sk)-[a-z0-9@.-]+[ \t]+)?"
    r"([A-Za-z0-9_+/-]{36,}={0,2})($|[\s\"'`),.;\]}<&\\])"
)
_PUBLIC_STARTS = (
    b"AAAA",
    b"iVBORw0KGgo",
    b"R0lGOD",
    b"/9j/",
    b"UklGR",
    b"JVBERi0",
    b"PHN2Zy",
)


_PUBLIC_BLOCK = pattern(
    r"-----BEGIN (?:(?:[A-Z0-9]+ )*(?:CERTIFICATE(?: REQUEST)?|PUBLIC KEY(?: BLOCK)?|X509 CRL|PKCS7|CMS|DH PARAMETERS"
    r"|EC PARAMETERS|(?:PGP|SSH) (?:SIGNATURE|MESSAGE)))-----(?:[\s>|#\"'+]|\\[rn]|[A-Za-z0-9+/=]|Comment: [^\n]*"
    r"|Version: [^\n]*)+"
)


def _outside(text: bytes, hide: Callable[[bytes], bytes]) -> bytes:
    """Applies `hide` to what is in no certificate, public key or signature: their lines are random and public."""
    if b"-----BEGIN " not in text:
        return hide(text)
    pieces: list[bytes] = []
    end = 0
    for match in _PUBLIC_BLOCK.finditer(text):
        pieces += (hide(text[end : match.start()]), match.group())
        end = match.end()
    return b"".join((*pieces, hide(text[end:])))


def hide_random(text: bytes, scope: Scope) -> bytes:
    """Replace strings that look like keys; hashes, ids, images and public keys stay."""
    if not scope.holds(LONG):
        return text

    def near_word(match: Any) -> bytes | None:
        value = match.group(2)
        if not has_digit(value) or is_word(value) or is_path(value) or value.startswith(_PUBLIC_STARTS):
            return None
        return swap(match, 2, scope.hide("SECRET", "near-word", value)) if is_random(value, 20) else None

    def long(match: Any) -> bytes | None:
        value = match.group(3)
        if match.group(2) or value.startswith(_PUBLIC_STARTS) or not _is_key_like(value):
            return None
        return swap(match, 3, scope.hide("SECRET", "random", value))

    return _outside(text, lambda part: substitute(_LONG, substitute(_NEAR_WORD, part, scope, near_word), scope, long))


def _is_key_like(value: bytes) -> bool:
    """Both cases and digits throughout; a path, a slug or a name made of words has long runs of one kind."""
    if (
        is_identifier(value)
        or is_path(value)
        or value.count(b"/") * 10 > len(value)
        or value.count(b"-") * 8 > len(value)
    ):
        return False
    changes = len(_RUNS.findall(value)) - 1
    return is_random(value, 36) and value != value.lower() and value != value.upper() and changes * 3 >= len(value)


_RUNS = re.compile(rb"[0-9]+|[a-z]+|[^0-9a-z]+")
