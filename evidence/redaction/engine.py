"""What every tier of rules shares: the scope of one call, placeholders, and replacing matches in UTF-8 bytes."""

from __future__ import annotations

import functools
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import re2

Tier = Callable[[bytes, "Scope"], bytes]
Replace = Callable[[Any], bytes | None]
"""Gives the replacement of one match, or None to leave it."""
ReplaceValue = Callable[[bytes, Any], bytes | None]
"""Gives the replacement of a value, from it and its match, or None to leave it."""


@dataclass(frozen=True, slots=True)
class RedactionContext:
    """What the redactor knows about the place that the text comes from.

    `project_root`: paths inside become relative to it. `home`: a further private folder besides the usual ones.
    `known_hosts`: names that are hidden wherever they stand alone. `key`: the board's key for the placeholders'
    suffix, so that equal values stay recognisable on one board and cannot be guessed from outside; without a key
    placeholders have no suffix.
    """

    project_root: Path | str | None = None
    home: Path | str | None = None
    known_hosts: tuple[str, ...] = ()
    key: bytes = b""


HINTS: dict[bytes, None] = {}
"""All literals in lower case of which a rule needs one, from its table."""


def hints(*literals: bytes) -> frozenset[bytes]:
    """Register the literals (lower case) of which one must occur for a rule to match."""
    HINTS.update(dict.fromkeys(literals))
    return frozenset(literals)


SIGNS: dict[bytes, Any] = {}
"""Hints that an expression finds, by a name that no text holds."""


def sign(name: bytes, rule: Any) -> frozenset[bytes]:
    """Register an expression as a hint of its own, for rules that cannot match without it."""
    SIGNS[b"\x00" + name] = rule
    return frozenset((b"\x00" + name,))


# While rules run, a placeholder is packed: its index in control bytes, which normalised text cannot hold. So no rule
# can match inside of one, and a value that holds one is told apart from text that only looks like it.
_PLACEHOLDER_TEXT = (
    r"\[(?:(?:TOKEN|KEY|SECRET|HOST|IP|MAC|EMAIL):[a-z0-9-]{1,20}(?:#[0-9a-f]{4})?"
    r"|PATH|REDACTED|unredactable: withheld)\]"
)
PLACEHOLDER = re.compile(_PLACEHOLDER_TEXT)
_PLACEHOLDER = re.compile(_PLACEHOLDER_TEXT.encode())
_PACKED = re.compile(rb"\x01([\x0e-\x1d]+)\x02")
_TO_PACKED = bytes.maketrans(b"0123456789abcdef", bytes(range(0x0E, 0x1E)))
_FROM_PACKED = bytes.maketrans(bytes(range(0x0E, 0x1E)), b"0123456789abcdef")


def holds_hidden(value: bytes) -> bool:
    return b"\x01" in value


def without_hidden(value: bytes) -> bytes:
    return _PACKED.sub(b"", value)


@dataclass(slots=True)
class Scope:
    """One call of the redactor: its context, its placeholders, and the ids of the rules that have hit, in order."""

    context: RedactionContext
    hits: dict[str, None] = field(default_factory=dict)
    _packed: dict[bytes, bytes] = field(default_factory=dict)
    _shown: list[bytes] = field(default_factory=list)
    _present: frozenset[bytes] = frozenset()
    _left: dict[int, bytes] = field(default_factory=dict)
    _hidden: dict[tuple[str, str, bytes], bytes] = field(default_factory=dict)

    def hide(self, kind: str, name: str, value: bytes) -> bytes:
        """The packed placeholder for a value, `[KIND:name#a1f3]` when shown; records the rule `kind.name`."""
        known = (kind, name, value)
        if known not in self._hidden:
            self.hits[f"{kind.lower()}.{name}"] = None
            self._hidden[known] = self._pack(f"[{kind}:{name}{self._suffix(value)}]".encode())
        return self._hidden[known]

    def hide_path(self) -> bytes:
        """The packed `[PATH]`; it has no suffix, because equal paths say too much about a person."""
        self.hits["path.private"] = None
        return self._pack(b"[PATH]")

    def look(self, text: bytes) -> None:
        """See which hints the text holds, before the tiers; what they replace can only take hints away."""
        lowered = text.lower()
        self._present = _present_in(text, lowered)

    def holds(self, hints: frozenset[bytes]) -> bool:
        """Whether one of the hints occurs in any case; the cheap way past a rule that cannot match."""
        return not self._present.isdisjoint(hints)

    def leaves(self, rule: Any, text: bytes) -> None:
        """Remember that the rule has nothing to replace in this very text."""
        self._left[id(rule)] = text

    def has_left(self, rule: Any, text: bytes) -> bool:
        """Whether the rule has looked at this very text before; what it would say again need not be asked."""
        return self._left.get(id(rule)) is text

    def note(self, rule_id: str) -> None:
        """Record a rule that put no placeholder."""
        self.hits[rule_id] = None

    def pack(self, text: bytes) -> bytes:
        """Pack the placeholders that the text brought with it."""
        return _PLACEHOLDER.sub(lambda match: self._pack(match.group()), text) if b"[" in text else text

    def show(self, text: bytes) -> bytes:
        """The opposite of `pack`."""
        if b"\x01" not in text:
            return text
        return _PACKED.sub(lambda match: self._shown[int(match.group(1).translate(_FROM_PACKED), 16)], text)

    def _pack(self, placeholder: bytes) -> bytes:
        packed = self._packed.get(placeholder)
        if packed is None:
            packed = b"\x01" + (b"%x" % len(self._shown)).translate(_TO_PACKED) + b"\x02"
            self._packed[placeholder] = packed
            self._shown.append(placeholder)
        return packed

    def _suffix(self, value: bytes) -> str:
        key = self.context.key
        return f"#{hmac.digest(key, self.show(value), 'sha256').hex()[:4]}" if key else ""


_MOST_HINTS = 500


@functools.cache
def _hint_words() -> tuple[list[bytes], Any, dict[bytes, list[bytes]]]:
    """Single characters; one expression for all words; and what each word that it finds may hide, itself included."""
    words = [hint for hint in HINTS if len(hint) > 1]
    either = "|".join(re.escape(word.decode()).replace("\\-", "-") for word in words)

    def meet(one: bytes, other: bytes) -> bool:
        return other in one or any(other.startswith(one[at:]) for at in range(len(one)))

    hidden = {one: [other for other in words if meet(one, other)] for one in words}
    return [hint for hint in HINTS if len(hint) == 1], pattern(either), hidden


def _present_in(text: bytes, lowered: bytes) -> frozenset[bytes]:
    """The hints in a text. A match may hide another that begins within it, so those are looked for by themselves."""
    single, either, hidden = _hint_words()
    found = [name for name, rule in SIGNS.items() if rule.search(text) is not None]
    found += [hint for hint in single if hint in lowered]
    words = set()
    for count, match in enumerate(either.finditer(lowered)):
        if count == _MOST_HINTS:
            return frozenset((*found, *(hint for hint in HINTS if hint in lowered)))
        start, stop = spans_of(match)[0]
        words.add(lowered[start:stop])
    for word in words:
        found += [hint for hint in hidden[word] if hint in lowered]
    return frozenset(found)


def pattern(source: str, *, case: bool = True) -> Any:
    """Compile for UTF-8 bytes, with memory enough that RE2 keeps its linear automaton."""
    options = re2.Options()
    options.max_mem = 64 << 20
    options.case_sensitive = case
    options.log_errors = False
    return re2.compile(source.encode(), options)


def spans_of(match: Any, groups: int = 0) -> Any:
    """The spans of the whole match and its groups; asking the binding for each one would cost more than the match."""
    spans = getattr(match, "_spans", None)
    return spans if spans is not None else [match.span(group) for group in range(groups + 1)]


def substitute(rule: Any, text: bytes, scope: Scope, replace: Replace) -> bytes:
    """Replace each match of `rule`; untouched text is returned as the same object."""
    if scope.has_left(rule, text):
        return text
    pieces: list[bytes] = []
    end = 0
    for match in rule.finditer(text):
        new = replace(match)
        if new is None:
            continue
        start, stop = spans_of(match)[0]
        pieces += (text[end:start], new)
        end = stop
    if not pieces:
        scope.leaves(rule, text)
        return text
    pieces.append(text[end:])
    return b"".join(pieces)


def substitute_group(rule: Any, text: bytes, scope: Scope, group: int, replace: ReplaceValue) -> bytes:
    """Replace one group of each match of `rule`, the value; untouched text is returned as the same object."""
    if scope.has_left(rule, text):
        return text
    pieces: list[bytes] = []
    end = 0
    for match in rule.finditer(text):
        start, stop = spans_of(match, group)[group]
        if start < end:  # this match has no such group
            continue
        new = replace(text[start:stop], match)
        if new is None:
            continue
        pieces += (text[end:start], new)
        end = stop
    if not pieces:
        scope.leaves(rule, text)
        return text
    pieces.append(text[end:])
    return b"".join(pieces)


def swap(match: Any, group: int, new: bytes) -> bytes:
    """The whole match with one of its groups replaced."""
    spans = spans_of(match, group)
    whole, start = match.group(0), spans[0][0]
    return bytes(whole[: spans[group][0] - start] + new + whole[spans[group][1] - start :])
