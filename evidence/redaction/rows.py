"""Rows of rules: a name, what must occur, the expression whose group 2 is the value, whether that is a secret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evidence.redaction.engine import ReplaceValue, Scope, substitute_group


@dataclass(frozen=True, slots=True)
class Structure:
    """A row: rule name, literals of which one must occur, RE2 whose group 2 is the value, whether that is a secret."""

    name: str
    hints: frozenset[bytes]
    rule: Any
    is_secret: Callable[[bytes], bool]


def hide_rows(rows: tuple[Structure, ...], text: bytes, scope: Scope) -> bytes:
    """Apply each row of which a hint occurs."""
    for row in rows:
        if scope.holds(row.hints):
            text = substitute_group(row.rule, text, scope, 2, _replacement(row, scope))
    return text


def _replacement(row: Structure, scope: Scope) -> ReplaceValue:
    def replace(value: bytes, _: Any) -> bytes | None:
        return scope.hide("SECRET", row.name, value) if row.is_secret(value) else None

    return replace
