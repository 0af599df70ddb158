"""Secrets in another spelling: hex, base64 or percent signs whose plain text holds a known token or an assignment."""

from __future__ import annotations

import base64
import binascii
from typing import Any
from urllib.parse import unquote_to_bytes

from evidence.redaction.assignments import holds_assignment
from evidence.redaction.engine import Scope, pattern, substitute
from evidence.redaction.tokens import PLAIN, holds_token

_RUN = pattern(r"[A-Za-z0-9+/]{20,}={0,2}")
_PERCENT = pattern(r"[A-Za-z0-9_.+~-]*%[2-7][0-9A-Fa-f][A-Za-z0-9_.+~%-]*")
_HEX = frozenset(b"0123456789abcdefABCDEF")
_PRINTABLE = bytes(range(32, 127)) + b"\t\r\n"


def hide_encoded(text: bytes, scope: Scope) -> bytes:
    """Replace each run whose decoded text holds a secret; what decodes to bytes that are no text is none."""

    def run(match: Any) -> bytes | None:
        value = match.group(0)
        plain = _from_hex(value) or _from_base64(value)
        return scope.hide("SECRET", "encoded", value) if _is_secret(plain) else None

    def percent(match: Any) -> bytes | None:
        value = match.group(0)
        return scope.hide("SECRET", "encoded", value) if _is_secret(unquote_to_bytes(value)) else None

    if b"%" in text:
        text = substitute(_PERCENT, text, scope, percent)
    return substitute(_RUN, text, scope, run) if scope.holds(PLAIN) else text


def _is_secret(plain: bytes) -> bool:
    return (
        len(plain) >= 12 and not plain.translate(None, _PRINTABLE) and (holds_token(plain) or holds_assignment(plain))
    )


def _from_hex(value: bytes) -> bytes:
    return bytes.fromhex(value.decode()) if len(value) % 2 == 0 and _HEX.issuperset(value) else b""


def _from_base64(value: bytes) -> bytes:
    bare = value.rstrip(b"=")
    try:
        return base64.b64decode(bare + b"=" * (-len(bare) % 4))
    except binascii.Error:
        return b""
