"""The OpenAPI document as the reference page shows it: routes by group, fields with their meaning."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from boards.api.forms import ANSWERS, FORMS

Json = dict[str, Any]

TITLES: Final = {"read": "Reading", "write": "Changing"}
DEPTH: Final = 3
"""How deep a field's own fields are followed before its type alone is named."""


PARTS: Final = frozenset(FORMS) - frozenset(ANSWERS)
"""The forms that answers hold, as against whole answers."""


class Span(NamedTuple):
    """A piece of a text; ``code`` is what stood between backquotes."""

    code: bool
    text: str


Text = list[Span]


def spans(text: str) -> Text:
    """A text with its backquoted pieces told apart."""
    return [Span(n % 2 == 1, part) for n, part in enumerate(text.replace("``", "`").split("`")) if part]


class Field(NamedTuple):
    """One line of a table of fields."""

    name: str
    kind: str
    required: bool
    text: Text


class Variant(NamedTuple):
    """One of several forms of a body; ``name`` is empty when there is only one."""

    name: str
    text: Text
    fields: list[Field]


class Route(NamedTuple):
    """One address with one method."""

    anchor: str
    method: str
    path: str
    summary: str
    text: Text
    parameters: list[Field]
    bodies: list[Variant]
    answers: list[tuple[int, Text]]
    good: list[Variant]


class Group(NamedTuple):
    """Routes that belong together."""

    title: str
    routes: list[Route]


def groups(document: Json) -> list[Group]:
    """Every route of the document, reading first."""
    found: dict[str, list[Route]] = {tag: [] for tag in TITLES}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            found[operation["tags"][0]].append(_route(document, path, method, operation))
    return [Group(title, sorted(found[tag], key=lambda route: route.path)) for tag, title in TITLES.items()]


def _route(document: Json, path: str, method: str, operation: Json) -> Route:
    return Route(
        anchor=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        text=spans(operation.get("description", "")),
        parameters=[_parameter(document, item) for item in operation["parameters"]],
        bodies=_bodies(document, operation.get("requestBody")),
        answers=[(int(n), spans(answer["description"])) for n, answer in sorted(operation["responses"].items())],
        good=_good(document, operation["responses"]),
    )


def _good(document: Json, responses: Json) -> list[Variant]:
    """What a good answer holds: its own fields; what is inside of them is among the forms."""
    content = next(answer["content"] for status, answer in responses.items() if int(status) < 300)
    schema = content["application/json"]["schema"]
    return [_variant(document, _name(option), _resolved(document, option), 0) for option in _options(schema)]


def forms(document: Json) -> list[Variant]:
    """The things that answers hold, each once."""
    schemas = document["components"]["schemas"]
    return [_variant(document, name, schemas[name], 1) for name in sorted({*PARTS, "Receipt", "Problem"})]


def _options(schema: Json) -> list[Json]:
    options: list[Json] = schema.get("anyOf", [schema])
    return options


def _name(schema: Json) -> str:
    return str(schema["$ref"].rpartition("/")[2])


def _parameter(document: Json, item: Json) -> Field:
    schema = item["schema"]
    where = {"path": "in the address", "query": "query", "header": "header"}[item["in"]]
    about = schema.get("description", "") or item.get("description", "")
    text = " ".join(part for part in (about, _bounds(schema)) if part)
    return Field(item["name"], f"{_kind(document, schema)}, {where}", item["required"], spans(text))


def _bodies(document: Json, body: Json | None) -> list[Variant]:
    if body is None:
        return []
    schema = body["content"]["application/json"]["schema"]
    if "discriminator" in schema:
        options = [(name, {"$ref": ref}) for name, ref in schema["discriminator"]["mapping"].items()]
    elif "anyOf" in schema:
        options = [(_name(option), option) for option in schema["anyOf"]]
    else:
        options = [("", schema)]
    return [_variant(document, name, _resolved(document, option)) for name, option in options]


def _variant(document: Json, name: str, schema: Json, depth: int = DEPTH) -> Variant:
    return Variant(name, spans(schema.get("description", "")), _fields(document, schema, "", depth))


def _fields(document: Json, schema: Json, prefix: str, depth: int = DEPTH) -> list[Field]:
    lines: list[Field] = []
    for name, inner in schema.get("properties", {}).items():
        text = " ".join(part for part in (inner.get("description", ""), _bounds(inner)) if part)
        lines.append(Field(prefix + name, _kind(document, inner), name in schema.get("required", ()), spans(text)))
        if depth:
            lines += _fields(document, _inner(document, inner), _deeper(inner, prefix + name), depth - 1)
    return lines


def _inner(document: Json, schema: Json) -> Json:
    """The object inside of a field: itself, an option of it, or what its list holds."""
    options = [schema, *schema.get("anyOf", ()), schema.get("items", {})]
    return next((_resolved(document, option) for option in options if "$ref" in option), {})


def _deeper(schema: Json, name: str) -> str:
    return f"{name}[]." if schema.get("type") == "array" else f"{name}."


def _resolved(document: Json, schema: Json) -> Json:
    if "$ref" not in schema:
        return schema
    found: Json = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def _kind(document: Json, schema: Json) -> str:
    """A type in words; an object that has a form of its own by that form's name."""
    if "$ref" in schema and _name(schema) in PARTS:
        return _name(schema)
    schema = _resolved(document, schema)
    for name in ("anyOf", "oneOf"):
        if name in schema:
            return " or ".join(dict.fromkeys(_kind(document, option) for option in schema[name]))
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    if schema.get("type") == "array":
        return f"list of {_kind(document, schema.get('items', {}))}"
    kind = schema.get("format") or schema.get("type", "anything")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


_BOUNDS: Final = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "maxLength": "at most {} characters",
    "maxItems": "at most {} items",
}


def _bounds(schema: Json) -> str:
    options = [schema, *schema.get("anyOf", ())]
    said = [text.format(option[name]) for option in options for name, text in _BOUNDS.items() if name in option]
    if schema.get("default") not in (None, "", [], {}):
        said.append(f"{json.dumps(schema['default'])} when left out")
    sentence = "; ".join(said)
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""
