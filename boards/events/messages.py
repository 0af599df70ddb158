"""Events of messages and their deliveries."""

from __future__ import annotations

from pydantic import Field

from boards.events.base import EventData, Instant


class MessageSent(EventData, name="message.sent", entity=("message", "message_id"), version=2):
    """Queued for each recipient. Since version 2 with where it came from."""

    message_id: str
    sender: str
    to: list[str]
    message_type: str
    priority: str
    content: str
    contract_id: str | None = None
    task_id: str | None = None
    reply_to: str | None = None
    thread_id: str
    refs: list[dict[str, str]] = Field(default_factory=list)
    requires_ack: bool = False
    expires_at: Instant | None = None
    chain_origin: str
    hops: int = 0
    trust: str = ""
    stated_sender: str = ""
    stated_to: str = ""


class MessageReceived(EventData, name="message.received"):
    """Written and confirmed in the recipient's inbox: handed, not read."""

    message_id: str
    node_id: str
    adapter: str


class MessageApplied(EventData, name="message.applied"):
    """The store proves that it entered the conversation: not agreed."""

    message_id: str
    node_id: str


class MessageAcknowledged(EventData, name="message.acknowledged", entity=("message", "message_id")):
    """The recipient's own answer."""

    message_id: str
    node_id: str
    answer: str
    note: str = ""


class MessageExpired(EventData, name="message.expired"):
    """Its time ended before it was handed."""

    message_id: str
    node_id: str


class MessageUndeliverable(EventData, name="message.undeliverable"):
    """It cannot reach the recipient any more."""

    message_id: str
    node_id: str
    reason: str


class MessageWithdrawn(EventData, name="message.withdrawn", entity=("message", "message_id")):
    """The sender took it back from those whom it had not reached."""

    message_id: str
    node_ids: list[str]
