"""The forms of rows, made from their own columns, so that a new column is never missing here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.db import models
from pydantic import TypeAdapter

from boards import events, words
from boards.api.forms.base import (
    ANYTHING,
    FLAG,
    TEXT,
    TEXTS,
    TIME,
    WHOLE,
    Json,
    also,
    but,
    closed,
    many,
    one_of,
    ref,
    some,
)
from boards.models import Blocker, Board, Contract, Delivery, Evidence, Member, Message, Node, Summary, Task
from boards.shapes import body, camel, delivery


def _inside(shape: Any) -> Json:
    """What stands inside of an event's data, and so in a row made of it."""
    schema = TypeAdapter(shape).json_schema(mode="serialization", by_alias=True)
    return {name: value for name, value in schema.items() if name != "title"}


_LISTED: Final[dict[str, Json]] = {
    "owners": {"type": "object", "additionalProperties": TEXTS, "description": "Each owner's resources."},
    "allowedActions": many(_inside(events.Item)),
    "stopConditions": many(_inside(events.Item)),
    "requiredEvidence": many(_inside(events.Item)),
    "events": many(_inside(events.EventPointer)),
    "artifacts": many(_inside(events.FilePointer)),
    "checks": many(_inside(events.Check)),
    "refs": many({"type": "object", "additionalProperties": TEXT}),
    "report": some(ANYTHING),
    "summary": ANYTHING,
}
"""The columns that hold JSON; the others of them are lists of texts."""


def row(model: type[models.Model], shape: Callable[[Any], Json] = body) -> Json:
    """What a function of :mod:`boards.shapes` gives of a row: the columns that it keeps."""
    fields = {camel(field.attname): field for field in model._meta.concrete_fields}
    return closed({name: _column(name, fields[name]) for name in shape(model())})


def _column(name: str, field: Any) -> Json:
    kinds: tuple[tuple[type[Any], Json], ...] = (
        (models.JSONField, _LISTED.get(name, TEXTS)),
        (models.DateTimeField, TIME),
        (models.BooleanField, FLAG),
        (models.IntegerField, WHOLE),
    )
    schema = next((schema for kind, schema in kinds if isinstance(field, kind)), TEXT)
    return some(schema) if field.null and not isinstance(field, models.JSONField) else schema


def _board() -> Json:
    head = but(row(Board), "head")
    return also(
        head,
        sourceRevision={**WHOLE, "description": "What a controlled command sends back as `expectedRevision`."},
        authority={"const": "local"},
        finalStatus=some(TEXT),
    )


def _message() -> Json:
    shape = row(Message)
    renamed = {"from": shape["properties"]["sender"], "to": TEXTS, "type": one_of(words.MessageType)}
    return also(but(shape, "sender", "recipients", "messageType"), **renamed, deliveries=many(ref("Delivery")))


ROWS: Final[dict[str, Json]] = {
    "Board": _board(),
    "Membership": row(Member),
    "Node": row(Node),
    "Contract": also(
        row(Contract),
        actionability={
            "enum": ["needs_acceptance", "unclaimed", "claimed", "completable", "blocked", "done", "closed"],
            "description": "What can be done about it now.",
        },
        waitingFor={**TEXTS, "description": "Owners who have not answered."},
        missing={**many(ref("Missing")), "description": "What its gate still misses."},
    ),
    "Task": also(row(Task), holder=some(TEXT), lastHolder=some(TEXT)),
    "Message": _message(),
    "Delivery": row(Delivery, delivery),
    "Evidence": row(Evidence),
    "Blocker": row(Blocker),
    "Summary": row(Summary),
}
KINDS: Final = {
    "board": "Board",
    "member": "Membership",
    "node": "Node",
    "contract": "Contract",
    "task": "Task",
    "message": "Message",
    "evidence": "Evidence",
    "blocker": "Blocker",
    "summary": "Summary",
}
"""What a receipt's ``entity`` may be, and its form."""
