"""Rows as JSON bodies (camelCase, ISO times): one function per thing, used by answers, conflicts and reports."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django.db import models

from boards.models import Blocker, Board, Contract, Delivery, Evidence, Member, Message, Node, Summary, Task
from boards.times import iso

_HIDDEN = frozenset({"key", "name_key", "position"})


def camel(name: str) -> str:
    """``lease_until`` becomes ``leaseUntil``."""
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


def body(row: models.Model) -> dict[str, Any]:
    """Every public column of a row."""
    columns = (field.attname for field in row._meta.concrete_fields if field.attname not in _HIDDEN)
    return {camel(name): _value(getattr(row, name)) for name in columns}


def _value(value: Any) -> Any:
    return iso(value) if isinstance(value, datetime) else value


def board(row: Board) -> dict[str, Any]:
    """The board's head; ``sourceRevision`` is what a card sends back as ``expectedRevision``."""
    shape = body(row)
    shape["sourceRevision"] = shape.pop("head")
    return {**shape, "authority": "local", "finalStatus": row.final_status or None}


def task(row: Task) -> dict[str, Any]:
    """A task, its holder and its lease."""
    return {**body(row), "holder": row.holder or None, "lastHolder": row.last_holder or None}


def message(row: Message, deliveries: list[Delivery]) -> dict[str, Any]:
    """A message with each recipient's steps."""
    shape = body(row)
    shape["from"], shape["to"] = shape.pop("sender"), shape.pop("recipients")
    shape["type"] = shape.pop("messageType")
    return {**shape, "deliveries": [delivery(copy) for copy in deliveries]}


def delivery(row: Delivery) -> dict[str, Any]:
    """One recipient's copy; a time for each step that was proven. What its message says stands at the message."""
    of_message = ("sender", "messageType", "requiresAck")
    return {name: value for name, value in body(row).items() if name not in of_message}


def entity(row: models.Model) -> dict[str, Any]:
    """Any row in its own public shape."""
    if isinstance(row, Task):
        return task(row)
    return board(row) if isinstance(row, Board) else body(row)


ENTITIES: dict[str, tuple[type[models.Model], str]] = {
    "node": (Node, "node_id"),
    "board": (Board, "board_id"),
    "member": (Member, "node_id"),
    "contract": (Contract, "contract_id"),
    "task": (Task, "task_id"),
    "message": (Message, "message_id"),
    "evidence": (Evidence, "evidence_id"),
    "blocker": (Blocker, "blocker_id"),
    "summary": (Summary, "node_id"),
}
"""What a receipt's ``entity`` may be, and by which column it is found."""
BY_BOARD: Final = frozenset({"member", "summary"})
"""Kinds whose id is a node's: there is one on each board."""


def find(kind: str, thing_id: str, board_id: str | None = None) -> models.Model | None:
    """The row that a receipt's ``entity`` names; ``board_id`` matters for a member and a summary only."""
    model, column = ENTITIES[kind]
    where = {column: thing_id} | ({"board_id": board_id} if kind in BY_BOARD else {})
    return model._default_manager.filter(**where).first()
