"""Is what stands in a place for secrets really one? One function for each kind of place."""

from __future__ import annotations

import re

from evidence.redaction.values import (
    has_digit,
    is_amount,
    is_chosen,
    is_code,
    is_identifier,
    is_path,
    is_placeholder,
    is_random,
    is_word,
)

_NAMES_FOR_ONE = frozenset((b"password", b"passwd", b"pass", b"pwd", b"pw", b"token", b"secret"))


def is_given(value: bytes) -> bool:
    """Anything but a placeholder, where the structure itself proves that a secret stands there."""
    return not is_placeholder(value) and value.lower() not in _NAMES_FOR_ONE


def is_scheme_value(value: bytes) -> bool:
    """Behind the word for a scheme: no placeholder, no code, no short word."""
    return not is_placeholder(value) and not is_code(value) and not (is_word(value) and len(value) < 12)


def is_bare(value: bytes) -> bool:
    """A credential without a scheme: long and with a digit."""
    return is_scheme_value(value) and len(value) >= 12 and has_digit(value)


def is_long(value: bytes) -> bool:
    """Sixteen characters or more with a digit, whatever they are."""
    return not is_placeholder(value) and len(value) >= 16 and has_digit(value)


def is_link(value: bytes) -> bool:
    """Random, not a slug of words or the id of a public thing."""
    return (
        not is_placeholder(value)
        and is_random(value.replace(b"-", b"").replace(b"_", b""), 16)
        and not is_identifier(value)
    )


def is_hook(value: bytes) -> bool:
    """The secret part of a webhook has a digit."""
    return not is_placeholder(value) and has_digit(value)


def is_flag(value: bytes) -> bool:
    """Behind a flag for a password: no code, no short word, no number."""
    return is_given(value) and not is_code(value) and not (is_word(value) and len(value) < 8) and not value.isdigit()


def is_piped(value: bytes) -> bool:
    """What is piped into a program that asks for a password."""
    return is_given(value) and len(value) >= 5 and (is_chosen(value) or has_digit(value))


def is_setting(value: bytes) -> bool:
    """The value of a setting that is named after a secret."""
    return (
        not is_placeholder(value)
        and len(value) >= 6
        and has_digit(value)
        and not is_path(value)
        and not is_amount(value)
    )


def is_probably_chosen(value: bytes) -> bool:
    """As people choose passwords."""
    return not is_placeholder(value) and is_chosen(value.rstrip(b".,;)"), 7)


def is_cell(value: bytes) -> bool:
    """A cell beside the name of a secret."""
    return is_probably_chosen(value) or (not is_placeholder(value) and is_random(value) and not is_identifier(value))


def is_said(value: bytes) -> bool:
    """Behind `the password is`: anything with a digit that is no amount, version or path."""
    value = value.rstrip(b".,;!?)")
    return (
        is_spoken(value) and not is_amount(value) and not is_path(value) and not is_code(value) and b"://" not in value
    )


def is_named_before(value: bytes) -> bool:
    """Right behind the word itself: only what looks like a chosen password or a random token."""
    bare = value.rstrip(b".,;:!?)")
    return (
        not is_placeholder(value)
        and is_chosen(bare)
        and (_MARK.search(bare) is not None or is_random(bare, 12))
        and not (is_code(bare) or b"=" in bare[:-2] or b"_" in bare[:4])
    )


_MARK = re.compile(rb"[!#$%^&*+?@~]")


def is_spoken(value: bytes) -> bool:
    """Six characters or more as no word has them."""
    return (
        not is_placeholder(value) and len(value) >= 6 and not value.isdigit() and (has_digit(value) or is_chosen(value))
    )
