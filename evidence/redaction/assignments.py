"""Tier 3: values that a key's name makes a secret: `DB_PASSWORD=`, `"apiKey": "`, `Pwd=..;`, `x-auth-token: `.

RE2 finds where a key ends and its value begins; where the value ends follows from how it begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from evidence.redaction.engine import RedactionContext, Scope, hints, pattern, spans_of, substitute_group
from evidence.redaction.keys import SUFFIX, WORD, Assigned, family, words
from evidence.redaction.values import is_chosen, is_code, is_path, is_placeholder, is_random, is_slug

_KEY = rf"[A-Za-z0-9_.%-]*(?:{words()}){SUFFIX}"
_CLOSE = r"(?:\\*[\"'`\])*]|\\*[\"']?\]|</[a-z]{1,10}>|%22|_)*"
_TYPED = r"(?::?[ \t]+[&A-Za-z][\w.\[\]&<>|' ]*[ \t]*:?=|[ \t]*:[ \t]*[A-Z][\w.\[\]<>|]*[ \t]*=)[ \t]*(?:b|r|f|&)?"
_ELSE = r"[ \t]*(?:\|\||\?\?|\bor\b|\belse\b)[ \t]*"
_SIGN = r"(?:=>|->|\x{2192}|:=|!=|={1,3}|:|%3D|%3A(?:%20)?(?:%22)?|%2522)"
_HIDDEN = r"\x01[\x0e-\x1d]+\x02"
_BEGIN = rf"(?:[^\s\x01]|{_HIDDEN}[^\s\"'`\\;&<>,)\]}}\x01.])"
"""The first character of a value that is not only a placeholder."""
_QUOTES = r"(?:\\*\"{3}|\\*'{3}|\\*[\"'`])"
_ASSIGNED = pattern(
    rf"({_KEY}){_CLOSE}(?:"
    rf"(?:{_TYPED}|{_ELSE})(?:{_QUOTES})"
    rf"|([ \t]*{_SIGN}(?:[ \t]*\\?\r?\n[ \t]*{_QUOTES}|[ \t]*[|>][+-]?[ \t]*\r?\n[ \t]+|[ \t]*\\?\r?\n[ \t]+"
    rf"|[ \t]*(?:![!a-z]+[ \t]+)?(?:\*\*[ \t]*)?[rbfuRBFU]{{0,2}}{_QUOTES}?))"
    rf"){_BEGIN}",
    case=False,
)
# Runs of one class from where a value begins.
_UNQUOTED = re.compile(rb"[^\s\"'`;&<>]+")
_IN_DOUBLE = re.compile(rb"[^\"\\\n]*(?:\\[^\n][^\"\\\n]*)*")
_IN_SINGLE = re.compile(rb"[^'\\\n]*(?:\\[^\n][^'\\\n]*)*")
_IN_BACK = re.compile(rb"[^`\n]*")
_IN_ESCAPED = re.compile(rb"[^\"'\\\n]*")
_BLOCK = re.compile(rb"[^\s\"'`;&<>#:-][^\s]*(?=\s*(?:\n|$))(?:\n[ \t]+[^\s:#-][^\s]*(?=[ \t]*(?:\n|$)))*")
_QUOTE_SIGNS = (b'"', b"'", b"`")
_KEY_LONGEST = 64
_OPENING = re.compile(rb"\\*(?:\"{3}|'{3}|[\"'`])$")
_NEXT_PAIR = re.compile(rb",[\"']?[\w.-]+[\"']?[=:]")
_SCHEME = re.compile(rb"(?i)(?:bearer|basic|token)[ \t]+(?=[\w.~+/=-]{6})")


def hide_assignments(text: bytes, scope: Scope) -> bytes:
    """Replace each value that its key and its own shape make a secret."""
    if not scope.holds(WORD):
        return text
    for rule, needed, group, read in _OTHER_FORMS:
        if scope.holds(needed):
            text = substitute_group(rule, text, scope, group, read(scope))
    return _hide_plain(text, scope)


def _hide_plain(text: bytes, scope: Scope) -> bytes:
    if scope.has_left(_ASSIGNED, text):
        return text
    pieces: list[bytes] = []
    done = 0
    for match in _ASSIGNED.finditer(text):
        (start, stop), (_, key_end), (sign, begin) = spans_of(match, 2)
        if start < done:
            continue
        if sign < 0:  # a declaration with a type: the value follows its last quote
            begin = max(text.rfind(quote, start, stop) for quote in _QUOTE_SIGNS) + 1
        between = text[key_end:begin]
        end, quoted = _value_end(text, begin, between)
        value = text[begin:end] if quoted else _trimmed(text[begin:end])
        if is_placeholder(value) or (b"\n" in between and b")" in between):
            continue
        loose = sign >= 0 and b"=" in between and between[:1] in b" \t" and between[-1:] in b" \t"
        name = family(Assigned(text[max(start, key_end - _KEY_LONGEST) : key_end], value, quoted, loose))
        if name is not None:
            pieces += (text[done:begin], scope.hide("SECRET", name, value))
            done = begin + len(value)
    if not pieces:
        scope.leaves(_ASSIGNED, text)
        return text
    pieces.append(text[done:])
    return b"".join(pieces)


def _value_end(text: bytes, begin: int, between: bytes) -> tuple[int, bool]:
    """Where the value ends, and whether it stands in quotes."""
    opening = _OPENING.search(between[-8:])
    if opening is None:
        rule = _BLOCK if b"\n" in between else _UNQUOTED
        end = _run(rule, text, begin)
        return (begin if b"\n" in between and text[end - 1 : end] == b":" else end), False
    quotes = opening.group().lstrip(b"\\")
    if len(quotes) == 3:
        end = text.find(quotes, begin, begin + 4096)
        return (end if end >= 0 else _run(_IN_ESCAPED, text, begin)), True
    if len(quotes) < len(opening.group()):
        return _run(_IN_ESCAPED, text, begin), True
    return _run({b'"': _IN_DOUBLE, b"'": _IN_SINGLE}.get(quotes, _IN_BACK), text, begin), True


def _run(rule: re.Pattern[bytes], text: bytes, begin: int) -> int:
    found = rule.match(text, begin)
    return found.end() if found else begin


def _trimmed(value: bytes) -> bytes:
    """An unquoted value without the punctuation that follows it and without a next `,key=value`."""
    if b"," in value and (after := _NEXT_PAIR.search(value)):
        value = value[: after.start()]
    return value.rstrip(b",;)]}\\") if not is_placeholder(value) else value


def holds_assignment(text: bytes) -> bool:
    """Whether a value that its key makes a secret stands in the text."""
    return _ASSIGNED.search(text) is not None and _hide_plain(text, Scope(RedactionContext())) != text


def _named(scope: Scope) -> Callable[[bytes, Any], bytes | None]:
    """Judges group 2 under the key in group 1, as a quoted value."""

    def replace(value: bytes, match: Any) -> bytes | None:
        if is_placeholder(value):
            return None
        name = family(Assigned(match.group(1), value, True, False))
        return scope.hide("SECRET", name, value) if name and not is_code(value) and not is_slug(value) else None

    return replace


def _each(scope: Scope) -> Callable[[bytes, Any], bytes | None]:
    """Judges each quoted item of the list in group 2."""

    def item(value: bytes, _: Any) -> bytes | None:
        strong = not is_placeholder(value) and (is_random(value, 12) or is_chosen(value))
        return scope.hide("SECRET", "list", value) if strong else None

    def replace(listed: bytes, _: Any) -> bytes | None:
        cleaned = substitute_group(_ITEM, listed, scope, 1, item)
        return None if cleaned is listed else cleaned

    return replace


def _called(scope: Scope) -> Callable[[bytes, Any], bytes | None]:
    """Judges the one argument of a call that is named after a secret."""

    def replace(value: bytes, match: Any) -> bytes | None:
        strong = not is_placeholder(value) and is_chosen(value) and not is_slug(value)
        name = strong and family(Assigned(match.group(1), value, True, False))
        return scope.hide("SECRET", name, value) if name else None

    return replace


def _below(scope: Scope) -> Callable[[bytes, Any], bytes | None]:
    """Judges each value of the mapping below `secrets:`."""

    def item(value: bytes, _: Any) -> bytes | None:
        strong = not is_placeholder(value) and (is_chosen(value) or is_random(value)) and not is_path(value)
        return scope.hide("SECRET", "list", value) if strong else None

    def replace(block: bytes, _: Any) -> bytes | None:
        cleaned = substitute_group(_SEALED_ITEM, block, scope, 1, item)
        return None if cleaned is block else cleaned

    return replace


def _sealed(scope: Scope) -> Callable[[bytes, Any], bytes | None]:
    """Judges each value below `data:` of a Kubernetes Secret: all are secret."""

    def item(value: bytes, _: Any) -> bytes | None:
        return None if is_placeholder(value) or len(value) < 4 else scope.hide("SECRET", "kubernetes", value)

    def replace(block: bytes, _: Any) -> bytes | None:
        cleaned = substitute_group(_SEALED_ITEM, block, scope, 1, item)
        return None if cleaned is block else cleaned

    return replace


_ITEM = pattern(r"[\"']([^\"'\\\n]{8,})[\"']")
_SEALED_ITEM = pattern(r"(?m)^[ \t]+[\w.-]+:[ \t]*[\"']?([^\s\"'|>][^\s\"']*)")
_WORD = f"(?:{words()})"
_OTHER_FORMS: tuple[tuple[Any, frozenset[bytes], int, Callable[[Scope], Any]], ...] = (
    # <password>x</password>, <property name="db.password">x</property>
    (
        pattern(rf"<[^<>\n]*?([\w.:-]*{_WORD})[\"']?(?:[ \t][^<>\n]*)?>[ \t]*([^<>\n\x01]+)</", case=False),
        hints(b"</"),
        2,
        _named,
    ),
    # <add key="ApiKey" value="x">, <input type="password" value="x">
    (
        pattern(
            rf"<[^<>]*?\b(?:name|key|id|type)=[\"']({_KEY})[\"'][^<>]*?\b(?:value|content)=[\"']"
            r"([^\"'<>\x01]+)",
            case=False,
        ),
        hints(b"value=", b"content="),
        2,
        _named,
    ),
    # - name: DB_PASSWORD / value: x, {"Key": "DB_PASSWORD", "Value": "x"}
    (
        pattern(
            rf"\b(?:name|key|id|type|variable|option|field|parameter|label)\\*[\"']?[ \t]*(?:=>|[:=])[ \t]*\\*[\"']?"
            rf"({_KEY})\\*[\"']?[ \t]*(?:,[^{{}}\n]*?)?[,;]?\s*\\*[\"']?\b(?:value|content)\\*[\"']?[ \t]*(?:=>"
            rf"|[:=])[ \t]*"
            r"\\*[\"']?([^\s\"'<>\\\x01,]+)",
            case=False,
        ),
        hints(b"value", b"content"),
        2,
        _named,
    ),
    # set("secret", "x"), define("DB_PASSWORD", "x"), ("token", "x")
    (
        pattern(
            rf"\([ \t]*(?:[^()\n\"']*,[ \t]*)?[\"']({_KEY})[\"'][ \t]*,[ \t]*[\"']([^\"'\n\x01]{{4,}})[\"']", case=False
        ),
        hints(b'",', b"',", b'" ,', b"' ,"),
        2,
        _named,
    ),
    # setPassword("x")
    (
        pattern(rf"({_KEY})\([ \t]*[\"']([^\"'\n\x01]{{6,}})[\"'][ \t]*[,)]", case=False),
        hints(b'("', b"('", b"( "),
        2,
        _called,
    ),
    # INSERT INTO users (name, password) VALUES ('bob', 'x')
    (
        pattern(r"\b(?:password|passwd|pwd|secret|token)[^()\n]*\)\s*values\s*\(([^()]*)\)", case=False),
        hints(b"values"),
        1,
        _each,
    ),
    # secrets: / db: x
    (
        pattern(r"\b(?:secrets|passwords|credentials|tokens)[\"']?:[ \t]*(\r?\n(?:[ \t]+[^\n]*(?:\n|$))+)", case=False),
        hints(b"secrets", b"passwords", b"credentials", b"tokens"),
        1,
        _below,
    ),
    # "secrets": ["x", "y"]
    (
        pattern(rf"({_KEY}s)\\*[\"']?[ \t]*(?:=>|[:=])[ \t]*[\[({{]([^\[\](){{}}]+)", case=False),
        hints(b"[", b"(", b"{"),
        2,
        _each,
    ),
    (pattern(r"\b(?:stringData|data):[ \t]*(\r?\n(?:[ \t]+[^\n]*(?:\n|$))+)"), hints(b"kind: secret"), 1, _sealed),
)
"""Other ways to write a key with its value: the rule, its hints, the group of the value, its judge."""
