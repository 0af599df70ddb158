"""What pydantic refused, in words for people: never with the values, because they can be secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from evidence.redaction import redact

Place = tuple[int | str, ...]
"""Where in the input an error is: pydantic's ``loc``."""

LINES: Final = 5
"""So many errors are told one by one."""
KNOWN: Final = {"extra_forbidden": "there is no such field here.", "missing": "this field is required."}
"""Our own words for pydantic's types of errors."""


def path(place: Place) -> str:
    """``tasks.0.text``; what can be no field's name is not repeated: it can be a secret put in a wrong place."""
    return ".".join(_step(str(step)) for step in place)


def _step(step: str) -> str:
    return step if re.fullmatch(r"[A-Za-z][A-Za-z_]{0,39}|\d{1,6}", step) else "(a key)"


def sentences_of(errors: Iterable[Any], name: Callable[[Place], str] = path) -> list[str]:
    """One sentence for each of ``ValidationError.errors()``; ``name`` says what a place is called."""
    lines = [_sentence(error, name) for error in errors]
    more = [f"And {len(lines) - LINES} more."] if len(lines) > LINES else []
    return [redact(line).text for line in lines[:LINES]] + more


def sentence_of(errors: Iterable[Any]) -> str:
    """The same in one text."""
    return " ".join(sentences_of(errors))


def _sentence(error: Any, name: Callable[[Place], str]) -> str:
    where, said = name(error["loc"]), KNOWN.get(error["type"]) or _without_value(error)
    said = said if said.endswith(".") else f"{said}."
    return f"{where}: {said}" if where else said


def _without_value(error: Any) -> str:
    said = str(error["msg"]).removeprefix("Value error, ")
    given = error.get("input")
    return said.replace(repr(given[:80]), "This") if isinstance(given, str) and given else said
