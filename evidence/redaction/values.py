"""Is a value that stands behind a secret's name really a secret? Placeholders, code and plain words are not.

The expressions of Python's `re` here look at one value only and can match no text in two ways, so they are linear;
what searches a whole text is RE2.
"""

from __future__ import annotations

import re

from evidence.redaction.engine import holds_hidden, without_hidden

_PLACEHOLDER = re.compile(
    rb"""(?ix)
      \$ [\w({].* | %[({\w].* | \{.* | <.* | \[.* | @\{.* | \#\{.*     # $VAR ${..} $(..) %s {x} <x> [REDACTED] #{x}
    | [:*x.\-_\#?\xe2\x80\xa2\xa6]+ | \.\.\..* | [x*]{3}.*                    # **** xxxx ... bullets
    | (?:your|my|some|the|an?|insert|enter|example|sample|dummy|test|put|paste)[\ _-].* | change[-_]?(?:me|it|this).*
    | your.* | redacted.* | placeholder.* | hidden | masked | omitted | removed | example | sample | dummy | todo | tbd
    """
)
_WORDS_OF_CODE = frozenset(
    b"none null nil true false undefined void string str bytes bytearray int integer float number bool boolean object"
    b" any dict list array optional self this cls required yes no on off default empty unset missing invalid expired"
    b" password passwd secret token key value text char varchar secretstr bearer basic enabled disabled".split()
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
_MARK = re.compile(rb"[!#$%^&*+?@~]")
_STRANGE = re.compile(rb"[!#$%^&*@~]")
_SLUG = re.compile(rb"[0-9]{0,6}[_-]?[a-z]+(?:[_-](?:[a-z]+[0-9]{0,2}|[0-9]{1,4}))*")
_SELF_NAMED = re.compile(
    rb"(?i)(?:[a-z]+[_-])*(?:password|passwd|passphrase|pwd|pass|token|secret|key|auth)[_-]?[0-9]{0,2}"
)
_INSERTED = re.compile(rb"(?:^|[^$])\{[A-Za-z_][\w.\[\]()]*\}")
_HEX = re.compile(rb"(?:0x|[a-z][a-z0-9]{0,11}[-_:])?[0-9a-fA-F]+")
_UUID = re.compile(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_AMOUNT = re.compile(rb"[0-9.,]+ ?[%a-zA-Z]{0,4}")
_VERSION = re.compile(rb"[~^<>=v]{0,3}[0-9]+(?:[.:/-][0-9a-zA-Z]+)+")


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
    """A path of files or of a URL; base64 with a slash in it is none."""
    return _PATH.fullmatch(value) is not None and not (len(value) >= 32 and value.count(b"/") <= 2 and is_random(value))


def is_random(value: bytes, length: int = 16) -> bool:
    """Long, with digits and letters of both cases (or many digits): nobody's word."""
    if len(value) < length or not _DIGIT.search(value):
        return False
    if _LOWER.search(value) and _UPPER.search(value):
        return True
    return len(_DIGIT.findall(value)) * 8 >= len(value) and bool(_LOWER.search(value) or _UPPER.search(value))


def is_chosen(value: bytes, length: int = 8) -> bool:
    """As people choose passwords: digits and letters, and of these both cases or a mark besides; no path or version."""
    if not length <= len(value) <= 128 or not (_LOWER.search(value) or _UPPER.search(value)):
        return False
    if not _DIGIT.search(value) and not (_STRANGE.search(value) and len(_UPPER.findall(value)) >= 2):
        return False
    mixed = _LOWER.search(value) and _UPPER.search(value)
    return bool(mixed or _MARK.search(value)) and not (
        b"/" in value[:3] or b"://" in value or _VERSION.fullmatch(value) or _CALL.match(value) or is_path(value)
    )


def is_identifier(value: bytes) -> bool:
    """A hash in hex or a UUID: it names something public more often than it opens something."""
    return _HEX.fullmatch(value) is not None or _UUID.fullmatch(value) is not None


def is_slug(value: bytes) -> bool:
    """Words in lower case with `_` or `-` between them, perhaps numbered: a name."""
    return _SLUG.fullmatch(value) is not None


def is_named_after(value: bytes) -> bool:
    """`password2`, `new_password`, `auth_token`: a name for a secret."""
    return _SELF_NAMED.fullmatch(value.rstrip(b":,")) is not None


def is_template(value: bytes) -> bool:
    """Text into which a program puts a name's value: `{user}:{token}`."""
    return _INSERTED.search(value) is not None


def is_prose(value: bytes) -> bool:
    """Several plain words that begin or end as a sentence does."""
    words = value.split()
    return (
        len(words) > 1
        and (value[-1:] in b".?!:" or value[:1].isupper())
        and all(word.strip(b".,;:?!()'\"").replace(b"'", b"").replace(b"-", b"").isalpha() for word in words)
    )


def is_amount(value: bytes) -> bool:
    """A number with its unit, or a share: `12`, `100%`, `3.5s`."""
    return _AMOUNT.fullmatch(value) is not None


def has_digit(value: bytes) -> bool:
    return _DIGIT.search(value) is not None
