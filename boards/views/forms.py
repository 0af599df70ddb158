"""From a form's fields to a command: one table, no branch per form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.http import QueryDict
from pydantic import ValidationError

from boards.models import Delivery, Message
from boards.rules import Refused
from boards.schemas import COMMANDS, Command
from boards.schemas.sentences import Place, sentences_of

Parser = Callable[[QueryDict, str], Any]
LABELS: Final[dict[str, str]] = {
    "objective": "Objective",
    "reason": "Reason",
    "content": "Message",
    "summary": "Summary",
    "resolution": "How it ended",
    "title": "Title",
    "to": "To",
    "node": "Who",
    "leaseSeconds": "Lease",
}


class Unreadable(Exception):  # named as the rules name theirs: Refused
    """A form that cannot be a command; its sentences say which field and why."""

    def __init__(self, sentences: list[str]) -> None:
        super().__init__(" ".join(sentences))
        self.sentences = sentences


def text(post: QueryDict, name: str) -> str | None:
    """The field's text; left out when it is empty."""
    value = post.get(name, "").replace("\r\n", "\n").strip()
    return value or None


def whole(post: QueryDict, name: str) -> str:
    """A text that is needed: empty stays empty, so that the command says what is missing."""
    return text(post, name) or ""


def lines(post: QueryDict, name: str) -> list[str]:
    """One item per line."""
    return [line.strip() for line in post.get(name, "").splitlines() if line.strip()]


def many(post: QueryDict, name: str) -> list[str]:
    """Checkboxes."""
    return [value for value in post.getlist(name) if value]


def names(post: QueryDict, name: str) -> list[str]:
    """Several peers with commas."""
    return [part.strip() for value in post.getlist(name) for part in value.split(",") if part.strip()]


def number(post: QueryDict, name: str) -> int | None:
    """A whole number."""
    value = text(post, name)
    if value is None:
        return None
    if not value.isdecimal() or len(value) > 12:
        raise Unreadable([f"{name} must be a whole number, not {value[:40]!r}."])
    return int(value)


def flag(post: QueryDict, name: str) -> bool:
    """A checkbox: there or not."""
    return name in post


def minutes(post: QueryDict, name: str) -> int | None:
    """A lease: minutes in the form, seconds in the command."""
    value = number(post, "leaseMinutes")
    return None if value is None else value * 60


def owners(post: QueryDict, name: str) -> dict[str, list[str]]:
    """Checked nodes, each with its resources, separated by commas or lines."""
    return {node: _things(post.get(f"resources-{node}", "")) for node in many(post, "owner")}


def _things(value: str) -> list[str]:
    return [part.strip() for line in value.splitlines() for part in line.split(",") if part.strip()]


def invited(post: QueryDict, name: str) -> str:
    """A session that was chosen, or a node that was typed."""
    return text(post, "node") or whole(post, "session")


ON_TASK: Final[dict[str, Parser]] = {"taskId": text, "node": text, "fencing": number}
FORMS: Final[dict[str, dict[str, Parser]]] = {
    "propose_contract": {
        "objective": whole,
        "owners": owners,
        "allowedActions": lines,
        "stopConditions": lines,
        "requiredEvidence": lines,
        "tasks": lines,
        "mutating": flag,
    },
    "accept_contract": {"contractId": text, "node": text, "textRevision": number},
    "reject_contract": {"contractId": text, "node": text, "reason": whole},
    "claim_task": {"taskId": text, "node": text, "leaseSeconds": minutes},
    "renew_task": {**ON_TASK, "leaseSeconds": minutes},
    "release_task": {**ON_TASK, "note": text},
    "complete_task": {**ON_TASK, "note": text},
    "verify_evidence": {"evidenceId": text, "note": text},
    "reject_evidence": {"evidenceId": text, "reason": whole},
    "open_blocker": {
        "summary": whole,
        "contractId": text,
        "taskId": text,
        "stopConditionId": text,
        "evidenceIds": many,
    },
    "resolve_blocker": {"blockerId": text, "resolution": whole},
    "invite": {"node": invited, "role": text},
    "join_board": {},
    "leave_board": {},
    "close_board": {"note": text},
    "acknowledge_message": {"messageId": text, "answer": text, "note": text},
    "withdraw_message": {"messageId": text},
    "send_message": {
        "to": names,
        "type": text,
        "content": whole,
        "priority": text,
        "contractId": text,
        "taskId": text,
        "replyTo": text,
        "requiresAck": flag,
    },
}
"""The commands that the panel gives, each with how its fields are read."""


def command_from(kind: str, board_id: str, post: QueryDict) -> Command:
    """The command that a form means. Raises :class:`Unreadable` with a sentence per field that is wrong."""
    fields = {name: parse(post, name) for name, parse in FORMS[kind].items()}
    return validated(
        kind, {"boardId": board_id, **{name: value for name, value in fields.items() if value is not None}}
    )


def validated(kind: str, fields: dict[str, Any]) -> Command:
    """The command, or a sentence for each field that it cannot take."""
    try:
        return COMMANDS[kind].model_validate(fields)
    except ValidationError as error:
        raise unreadable(error) from error


def unreadable(error: ValidationError) -> Unreadable:
    """What a command cannot take, in the words of the form."""
    return Unreadable(sentences_of(error.errors(), _label))


def _label(place: Place) -> str:
    field = str(place[0]) if place else ""
    return LABELS.get(field, field)


def again(board_id: str, post: QueryDict) -> Command:
    """The same message once more, to those whom it did not reach (or to the one that is named)."""
    row = Message.objects.filter(board_id=board_id, message_id=post.get("messageId", "")).first()
    if row is None:
        raise Refused("unknown_message", "This board has no such message.")
    copies = Delivery.objects.filter(message_id=row.message_id)
    failed = [copy.node_id for copy in copies if copy.step in ("expired", "undeliverable")]
    fields = {
        "boardId": board_id,
        "to": names(post, "node") or failed or row.recipients,
        "type": row.message_type,
        "content": row.content,
        "priority": row.priority,
        "contractId": row.contract_id,
        "taskId": row.task_id,
        "requiresAck": row.requires_ack,
    }
    return validated("send_message", fields)
