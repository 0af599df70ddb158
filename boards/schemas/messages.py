"""Commands on messages."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from boards import words
from boards.schemas.base import BoardCommand, FullText, Id, Moment, Ref, Text


class SendMessage(BoardCommand, kind="send_message"):
    """A typed request or answer to members (``@board`` for all of them)."""

    to: list[Ref] = Field(min_length=1, max_length=words.LIST_LIMIT)
    type: words.MessageType = "task_request"
    content: FullText
    priority: words.Priority = "normal"
    contract_id: Id | None = None
    task_id: Id | None = None
    reply_to: Id | None = None
    refs: Annotated[list[dict[str, str]], Field(max_length=words.LIST_LIMIT)] = Field(default_factory=list)
    requires_ack: bool | None = None
    expires_at: Moment | None = None


class MessageCommand(BoardCommand):
    """A command on one message."""

    message_id: Id


class AcknowledgeMessage(MessageCommand, kind="acknowledge_message", entity=("message", "message_id")):
    """The recipient's own answer; nothing else ever counts as one."""

    answer: words.Answer
    note: Text = ""


class WithdrawMessage(MessageCommand, kind="withdraw_message", entity=("message", "message_id")):
    """Takes back what was not handed yet."""


class RecordStep(MessageCommand, kind="record_step"):
    """The delivery worker's proof of a step of one recipient's copy."""

    node_id: Id
    step: Literal["handed", "applied", "expired", "undeliverable"]
    adapter: str = ""
    reason: Text = ""
