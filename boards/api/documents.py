"""How routes are described in the OpenAPI document: every answer that each can give, by status."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from pydantic import TypeAdapter

from boards.api.bodies import NAMED

Json = dict[str, Any]

MEANINGS: Final = {
    200: "Applied, or it held already (`already_applied`).",
    201: "Made; the receipt says `applied`.",
    400: "Malformed: the sentence says which field, and never repeats its value.",
    401: "No valid token or session.",
    403: "You may not do this here (`not_a_member`, `role_too_low`, `not_yours`, `trust_too_low`, `not_allowed`).",
    404: "There is no such thing; `nearest` holds the names that come closest.",
    409: "Conflict: somebody was quicker, or it changed since your view; `receipt.current` says how it is now.",
    413: "The body is larger than 1 MiB.",
    415: "The body is not `application/json`.",
    422: "The rules refuse it; `code` and `detail` say why and what would be right.",
    503: "The store could not take it; nothing was changed, and the same key may be tried again.",
}
READ: Final = (200, 400, 401)
READ_ONE: Final = (200, 400, 401, 403, 404)
WRITE: Final = (200, 201, 400, 401, 403, 404, 409, 413, 415, 422, 503)

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
        "entity": {"type": ["object", "null"], "description": "type, id and own revision of what it speaks of."},
        "events": {"type": "array", "items": {"type": "string"}},
        "current": {"type": ["object", "null"], "description": "For a conflict: how it is now."},
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
        "receipt": {"anyOf": [{"$ref": "#/components/schemas/Receipt"}, {"type": "null"}]},
        "nearest": {"type": "array", "items": {"type": "string"}},
    },
}


def answers(statuses: Collection[int], gives: str = "") -> Json:
    """``openapi_extra`` with the answers of a route; ``gives`` says what a good one holds."""
    said = MEANINGS if 201 in statuses else {**MEANINGS, 200: "The answer."}
    return {"responses": {status: _response(status, gives, said[status]) for status in statuses}}


def _response(status: int, gives: str, meaning: str) -> Json:
    good = status < 300
    schema: Json = {"type": "object"} if good else {"$ref": "#/components/schemas/Problem"}
    kind = "application/json" if good else "application/problem+json"
    return {
        "description": f"{meaning} {gives}".strip() if good else meaning,
        "content": {kind: {"schema": schema}},
    }


def commands_body() -> Json:
    """The body of ``POST commands``: one of all commands, told apart by ``command``."""
    refs = {kind: f"#/components/schemas/{model.__name__}" for kind, model in NAMED.items()}
    schema = {
        "oneOf": [{"$ref": ref} for ref in refs.values()],
        "discriminator": {"propertyName": "command", "mapping": refs},
    }
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def components() -> Json:
    """The schemas that no route's own signature brings in."""
    _, schema = TypeAdapter.json_schemas(
        [(kind, "validation", TypeAdapter(model)) for kind, model in NAMED.items()],
        ref_template="#/components/schemas/{model}",
    )
    return {"Receipt": RECEIPT, "Problem": PROBLEM, **schema.get("$defs", {})}
