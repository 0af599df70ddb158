"""Is a value that stands behind a secret's name really a secret? Placeholders, code and plain words are not."""

from __future__ import annotations

import re

from evidence.redaction.engine import holds_hidden, without_hidden

# Each expression is a plain sequence of classes with no nested repetition, so matching is linear.
_PLACEHOLDER = re.compile(
    rb"""(?ix)
      \$ [\w({].* | %[({\w].* | \{.* | <.* | \[.* | @\{.* | \#\{.*     # $VAR ${..} $(..) %s {x} <x> [REDACTED] #{x}
    | [:*x.\-_\#?]+ | \.\.\..* | [x*]{3}.*                        # **** xxxx ...
    | (?:your|my|some|the|an?|insert|enter|example|sample|dummy|test)[\ _-].* | change[-_]?(?:me|it|this).*
    | redacted.* | placeholder.* | hidden | masked | omitted | removed | example | sample | dummy | todo | tbd
    """
)
_WORDS_OF_CODE = frozenset(
    b"none null nil true false undefined void string str bytes bytearray int integer float number bool boolean object"
    b" any dict list array optional self this cls required yes no on off default empty unset missing invalid expired"
    b" password passwd secret token key value text char varchar secretstr".split()
)
_SCHEMES = frozenset((b"", b"bearer", b"basic", b"token", b"digest", b"key"))
_CALL = re.compile(rb"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*[(\[<{]")
_ATTRIBUTE = re.compile(rb"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z_.-]*")
_CLOSED = re.compile(rb"[A-Za-z_$][A-Za-z_$.]*[)\]}:,]")
_PATH = re.compile(rb"(?:~|\.{0,2})/[\w.@/-]*|[A-Za-z]:[\\/].*")
_LOWER_TO_UPPER = re.compile(rb"[a-z][A-Z]")
_DIGIT = re.compile(rb"[0-9]")
_LOWER = re.compile(rb"[a-z]")
_UPPER = re.compile(rb"[A-Z]")
_HEX = re.compile(rb"(?:0x)?[0-9a-fA-F]+")
_UUID = re.compile(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def is_covered(value: bytes) -> bool:
    """Whether placeholders make up the value, apart from punctuation and the word for a scheme (`Bearer [..]`)."""
    if not holds_hidden(value):
        return False
    return without_hidden(value).strip(b".,;:(){}[]'\"`!?\\/ \t").lower() in _SCHEMES


def is_placeholder(value: bytes) -> bool:
    """`$VAR`, `${{ }}`, `<..>`, `****`, `your-token` and their like: names of a secret, not a secret."""
    return not value or is_covered(value) or (not holds_hidden(value) and _PLACEHOLDER.fullmatch(value) is not None)


def is_code(value: bytes) -> bool:
    """A call, an index, attribute access or a word of some language, standing unquoted."""
    return (
        value.lower().rstrip(b"?") in _WORDS_OF_CODE
        or _CALL.match(value) is not None
        or _CLOSED.match(value) is not None
        or (_ATTRIBUTE.fullmatch(value) is not None and not is_random(value))
    )


def is_word(value: bytes) -> bool:
    """Letters with separators only, and no more changes of case than names have."""
    return _WORD.fullmatch(value) is not None and len(_LOWER_TO_UPPER.findall(value)) * 4 <= len(value)


def is_path(value: bytes) -> bool:
    return _PATH.fullmatch(value) is not None and not (len(value) >= 32 and value.count(b"/") <= 2 and is_random(value))


def is_random(value: bytes, length: int = 16) -> bool:
    """Long, with digits and letters of both cases (or many digits): nobody's word."""
    if len(value) < length or not _DIGIT.search(value):
        return False
    if _LOWER.search(value) and _UPPER.search(value):
        return True
    return len(_DIGIT.findall(value)) * 8 >= len(value) and bool(_LOWER.search(value) or _UPPER.search(value))


def is_identifier(value: bytes) -> bool:
    """A hash in hex or a UUID: it names something public more often than it opens something."""
    return _HEX.fullmatch(value) is not None or _UUID.fullmatch(value) is not None


def has_digit(value: bytes) -> bool:
    return _DIGIT.search(value) is not None
