"""The few words that forms are written in: texts, times, lists, closed objects, and objects with more or less."""

from __future__ import annotations

from typing import Any, Final, get_args

Json = dict[str, Any]

TEXT: Final[Json] = {"type": "string"}
WHOLE: Final[Json] = {"type": "integer"}
FLAG: Final[Json] = {"type": "boolean"}
TIME: Final[Json] = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$",
    "description": "UTC, with milliseconds.",
}
TEXTS: Final[Json] = {"type": "array", "items": TEXT}
ANYTHING: Final[Json] = {"type": "object"}


def ref(name: str) -> Json:
    """A schema of the document by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def some(schema: Json) -> Json:
    """The same, or null."""
    kind = schema.get("type")
    return {**schema, "type": [kind, "null"]} if isinstance(kind, str) else {"anyOf": [schema, {"type": "null"}]}


def many(schema: Json) -> Json:
    """A list of it."""
    return {"type": "array", "items": schema}


def one_of(words_of: Any, *more: str) -> Json:
    """One of the words of a ``Literal``."""
    return {"type": "string", "enum": [*get_args(words_of), *more]}


def closed(properties: Json, *, optional: tuple[str, ...] = (), about: str = "") -> Json:
    """An object with these fields and no others."""
    shape: Json = {"type": "object", "properties": properties, "additionalProperties": False}
    shape["required"] = [name for name in properties if name not in optional]
    return shape | ({"description": about} if about else {})


def also(form: Json, **properties: Json) -> Json:
    """A closed object with further fields."""
    return {
        **form,
        "properties": form["properties"] | properties,
        "required": list(dict.fromkeys([*form["required"], *properties])),
    }


def but(form: Json, *names: str) -> Json:
    """A closed object without some of its fields."""
    return {
        **form,
        "properties": {name: inner for name, inner in form["properties"].items() if name not in names},
        "required": [name for name in form["required"] if name not in names],
    }
