"""Tier 3: values that a key's name makes a secret: `DB_PASSWORD=`, `"apiKey": "`, `Pwd=..;`, `x-auth-token: `."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evidence.redaction.engine import Scope, pattern, substitute
from evidence.redaction.values import (
    has_digit,
    is_code,
    is_identifier,
    is_path,
    is_placeholder,
    is_random,
    is_word,
)


@dataclass(frozen=True, slots=True)
class Assigned:
    """One assignment. `loose` is ` = ` with spaces, as code writes it; `quoted` values come without their quotes."""

    key: bytes
    value: bytes
    quoted: bool
    loose: bool

    @property
    def is_expression(self) -> bool:
        """Whether an unquoted value is code: a name, a call, or an operator behind a loose sign."""
        return not self.quoted and (is_code(self.value) or (self.loose and self.value[:1] in b"(!+-/~?"))


def _password(found: Assigned) -> bool:
    """Nearly anything can be a password; what reads as code or prose is left."""
    value = found.value
    if len(value) < 3 or is_path(value) or found.is_expression:
        return False
    if is_word(value):
        named_by_itself = is_code(value) or value.lower() in _SELF_NAMES
        return not named_by_itself and (found.quoted or (found.key.isupper() and not found.loose))
    return not (b" " in value and not has_digit(value) and (value[-1:] in b".?!:" or value[:1].isupper()))


def _secret(found: Assigned) -> bool:
    """Tokens and keys are random; words, names, URLs, paths and small numbers are something else."""
    value = found.value
    if len(value) < 6 or is_word(value) or (value.isdigit() and len(value) < 12) or b"://" in value or is_path(value):
        return False
    if b" " in value:
        return any(len(word) >= 12 and has_digit(word) for word in value.split())
    if found.quoted:
        return True
    return not found.is_expression and (not found.loose or _NAME.fullmatch(value) is None or is_random(value, 12))


def _random(found: Assigned) -> bool:
    """The key's name alone says little, so the value must look random and not like a public identifier."""
    value = found.value
    return is_random(value, 20) and b" " not in value and not (is_identifier(value) or is_code(value) or is_path(value))


Judge = Callable[[Assigned], bool]

_KEY_KINDS = (
    "api", "access", "secret", "private", "signing", "encryption", "master", "account", "auth", "license", "admin",
    "service", "shared", "server", "session", "webhook", "deploy", "bot", "app", "application", "consumer",
    "subscription", "stripe", "hmac", "crypt", "fernet", "jwt", "rsa", "storage",
)  # fmt: skip
_API_KEYS = tuple(f"{kind}{separator}key" for kind in _KEY_KINDS for separator in ("_", ""))
FAMILIES: tuple[tuple[str, tuple[str, ...], Judge], ...] = (
    (
        "password",
        ("password", "passwd", "passphrase", "passcode", "pwd", "_pass"),
        _password,
    ),
    ("secret", ("secret", "secretkey"), _secret),
    ("token", ("token",), _secret),
    ("key", _API_KEYS, _secret),
    (
        "other",
        ("key", "auth", "credential", "credentials", "signature", "sas"),
        _random,
    ),
)
"""Rule name, endings of the key (lower case, `-` and `.` as `_`), and what counts as a secret under it."""

_SELF_NAMES = frozenset(b"username user email login admin name field hidden input reset change update confirm".split())
_NAME = re.compile(rb"[A-Za-z_]\w*")
_NEXT_PAIR = re.compile(rb",[\"']?[\w.-]+[\"']?[=:]")

_KEYWORDS = "password|passwd|passphrase|passcode|pwd|pass|secret|token|key|auth|credentials?|signature|sas"
_ASSIGNED = pattern(
    rf"([A-Za-z0-9_.-]*(?:{_KEYWORDS}))([\\\"'`\])]*[ \t]*(?:=>|:=|={{1,3}}|:)[ \t]*)"
    r"(?:[rbfu]{0,2}(?:\\+\"([^\"\\\n]+)|\\+'([^'\\\n]+)|\"((?:[^\"\\\n]|\\[^\n])+)|'((?:[^'\\\n]|\\[^\n])+)|`([^`\n]+))"
    r"|([^\s\"'`;&<>]+))",
    case=False,
)
_UNQUOTED = 8


def hide_assignments(text: bytes, scope: Scope) -> bytes:
    """Replace each value that its key and its own shape make a secret."""

    def replace(match: Any) -> bytes | None:
        group = next(number for number in range(3, _UNQUOTED + 1) if match.start(number) >= 0)
        value = match.group(group)
        if group == _UNQUOTED:
            value = _trimmed(value)
        if is_placeholder(value):
            return None
        key, between = match.group(1), match.group(2)
        loose = between[:1] in b" \t" and between[-1:] in b" \t" and b"=" in between
        name = _family(Assigned(key, value, group != _UNQUOTED, loose))
        if name is None:
            return None
        whole, at = match.group(0), match.start(group) - match.start()
        return bytes(whole[:at] + scope.hide("SECRET", name, value) + whole[at + len(value) :])

    return substitute(_ASSIGNED, text, replace)


def _family(found: Assigned) -> str | None:
    key = found.key.decode("utf-8", "replace").casefold().replace("-", "_").replace(".", "_")
    for name, endings, judge in FAMILIES:
        if key.endswith(endings) or (key == "pass" and name == "password"):
            return name if judge(found) else None
    return None


def _trimmed(value: bytes) -> bytes:
    """An unquoted value without the punctuation that follows it and without a next `,key=value`."""
    if after := _NEXT_PAIR.search(value):
        value = value[: after.start()]
    return value.rstrip(b",;)]}\\") if not is_placeholder(value) else value
