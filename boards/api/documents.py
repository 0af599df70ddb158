"""How routes are described in the OpenAPI document: every answer that each can give, by status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from boards.api import bodies
from boards.api.forms import FORMS, KINDS, ref
from boards.api.reading import KEY_SHAPE
from boards.schemas import Shape

Json = dict[str, Any]

MEANINGS: Final = {
    200: "The answer.",
    201: "Made; the receipt says `applied`.",
    400: "Malformed: the sentence says which field, and never repeats its value.",
    401: "No valid token or session.",
    403: "You may not do this here (`not_a_member`, `role_too_low`, `not_yours`, `trust_too_low`, `not_allowed`, "
    "`panel_only`), or the request came from another site's page (`cross_site`, `wrong_origin`).",
    404: "There is no such thing; `nearest` holds the names that come closest.",
    409: "Conflict: somebody was quicker, or it changed since your view; `receipt.current` says how it is now.",
    413: "The body is larger than 1 MiB.",
    415: "The body is not `application/json`.",
    422: "The rules refuse it; `code` and `detail` say why and what would be right.",
    429: "Too many requests with this token (`rate_limited`); `Retry-After` says after how many seconds to ask again.",
    503: "The store could not answer or take it; nothing was changed, and the same key may be tried again.",
}
HELD: Final = "Applied, or it held already (`already_applied`)."
ANY: Final = (400, 401, 403, 429, 503)
"""What every route may answer besides a good answer."""
WRITES: Final = (404, 409, 413, 415, 422)
HEADERS: Final[dict[int, Json]] = {
    401: {"WWW-Authenticate": {"schema": {"type": "string"}, "description": "Which kind of token is asked for."}},
    429: {"Retry-After": {"schema": {"type": "integer", "minimum": 1}, "description": "Seconds."}},
}

RECEIPT: Final[Json] = {
    "type": "object",
    "description": "What became of a command. Only `applied` changed anything.",
    "required": ["outcome", "code", "detail", "command", "key", "boardId", "revision", "entity", "events", "current"],
    "properties": {
        "outcome": {"enum": ["applied", "already_applied", "conflict", "rejected", "failed"]},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "command": {"type": "string"},
        "key": {"type": ["string", "null"]},
        "boardId": {"type": ["string", "null"]},
        "revision": {"type": ["integer", "null"], "description": "The board's revision after this command."},
        "entity": {
            "type": ["object", "null"],
            "description": "What it speaks of, and that thing's own revision.",
            "required": ["type", "id", "revision"],
            "properties": {
                "type": {"enum": sorted(KINDS)},
                "id": {"type": "string"},
                "revision": {"type": ["integer", "null"]},
            },
        },
        "events": {"type": "array", "items": {"type": "string"}},
        "current": {"type": ["object", "null"], "description": "For a conflict: how it is now."},
        "fencing": {"type": "integer", "description": "Of a claim: what every later write on the task must name."},
        "messageId": {"type": "string"},
        "blockerId": {"type": "string"},
        "nearest": {"type": "array", "items": {"type": "string"}},
    },
}
PROBLEM: Final[Json] = {
    "type": "object",
    "description": "An RFC 9457 problem with a stable `code`.",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "One sentence: what was wrong and what would be right."},
        "code": {"type": "string"},
        "receipt": {"anyOf": [ref("Receipt"), {"type": "null"}]},
        "nearest": {"type": "array", "items": {"type": "string"}},
    },
}
KEY_PARAMETER: Final[Json] = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": False,
    "schema": {"type": "string", "pattern": KEY_SHAPE},
    "description": "The same wish with the same key is never done twice; `key` in the body does the same.",
}


def read(answer: str, gives: str = "", *, finds: bool = False) -> Json:
    """``openapi_extra`` of a route that reads; ``finds``: what it names may not be there."""
    statuses = (*ANY, 404) if finds else ANY
    return {"responses": {200: _good(ref(answer), f"{MEANINGS[200]} {gives}".strip())} | _bad(statuses)}


def write(*kinds: str, makes: bool = False) -> Json:
    """``openapi_extra`` of a route that gives a command which speaks of things of these kinds (none: of anything)."""
    names = [f"Applied{KINDS[kind]}" for kind in kinds or KINDS] + ([] if kinds else ["AppliedNothing"])
    schema = ref(names[0]) if len(names) == 1 else {"anyOf": [ref(name) for name in names]}
    good = {200: _good(schema, HELD)} | ({201: _good(schema, MEANINGS[201])} if makes else {})
    return {"responses": good | _bad((*ANY, *WRITES)), "parameters": [KEY_PARAMETER]}


def _good(schema: Json, meaning: str) -> Json:
    return {"description": meaning, "content": {"application/json": {"schema": schema}}}


def _bad(statuses: tuple[int, ...]) -> dict[int, Json]:
    return {status: _problem(status) for status in sorted(statuses)}


def _problem(status: int) -> Json:
    content = {"application/problem+json": {"schema": ref("Problem")}}
    headers = {"headers": HEADERS[status]} if status in HEADERS else {}
    return {"description": MEANINGS[status], "content": content, **headers}


# --- bodies that no signature brings in ------------------------------------------------------------------------------


def commands_body() -> Json:
    """The body of ``POST commands``: one of all commands, told apart by ``command``."""
    return _told_apart("command", bodies.NAMED)


def contract_body() -> Json:
    """The body of ``PATCH`` on a contract: a new text, or the status that it shall have."""
    refs = [ref(model.__name__) for model in (bodies.EditBody, *bodies.STATUS_BODIES.values())]
    return _json({"anyOf": refs})


def _told_apart(name: str, models: Mapping[str, type[Shape]]) -> Json:
    refs = {word: ref(model.__name__)["$ref"] for word, model in models.items()}
    choice = {"oneOf": [{"$ref": one} for one in refs.values()]}
    return _json({**choice, "discriminator": {"propertyName": name, "mapping": refs}})


def _json(schema: Json) -> Json:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def components() -> Json:
    """The schemas that no route's own signature brings in."""
    models = [*bodies.NAMED.values(), bodies.EditBody, *bodies.STATUS_BODIES.values()]
    _, schema = TypeAdapter.json_schemas(
        [(model.__name__, "validation", TypeAdapter(model)) for model in models],
        ref_template="#/components/schemas/{model}",
    )
    return {"Receipt": RECEIPT, "Problem": PROBLEM, **FORMS, **schema.get("$defs", {})}
