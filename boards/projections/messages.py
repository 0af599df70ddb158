"""Messages and their deliveries."""

from __future__ import annotations

from typing import Any

from boards import events as e
from boards import words
from boards.events import Recorded
from boards.keys import pair
from boards.models import Delivery, Message
from boards.projections.base import on
from boards.rows import insert, update


@on(e.MessageSent)
def message_sent(event: Recorded, data: e.MessageSent) -> None:
    insert(
        Message,
        message_id=data.message_id,
        board_id=event.board_id,
        sender=data.sender,
        recipients=data.to,
        message_type=data.message_type,
        priority=data.priority,
        content=data.content,
        contract_id=data.contract_id,
        task_id=data.task_id,
        reply_to=data.reply_to,
        thread_id=data.thread_id,
        refs=data.refs,
        requires_ack=data.requires_ack,
        expires_at=data.expires_at,
        chain_origin=data.chain_origin,
        hops=data.hops,
        trust=data.trust,
        stated_sender=data.stated_sender,
        stated_to=data.stated_to,
        created_at=event.at,
        position=event.position,
        revision=event.revision,
    )
    for node_id in data.to:
        _insert_delivery(event, data, node_id)


def _insert_delivery(event: Recorded, data: e.MessageSent, node_id: str) -> None:
    insert(
        Delivery,
        key=pair(data.message_id, node_id),
        message_id=data.message_id,
        board_id=event.board_id,
        node_id=node_id,
        sender=data.sender,
        message_type=data.message_type,
        requires_ack=data.requires_ack,
        step="queued",
        adapter="",
        answer="",
        unverified_answer="",
        note="",
        reason="",
        queued_at=event.at,
        handed_at=None,
        applied_at=None,
        acknowledged_at=None,
        ended_at=None,
    )


def _advance(event: Recorded, message_id: str, node_id: str, step: str, **columns: Any) -> None:
    """Sets the step unless a later one is already known; times are kept either way."""
    key = pair(message_id, node_id)
    known = Delivery.objects.values_list("step", flat=True).get(key=key)
    later = words.STEP_ORDER.get(known, 99) > words.STEP_ORDER.get(step, 98)
    update(Delivery, key, **({} if later else {"step": step}), **columns)


@on(e.MessageReceived)
def message_received(event: Recorded, data: e.MessageReceived) -> None:
    _advance(event, data.message_id, data.node_id, "handed", handed_at=event.at, adapter=data.adapter)


@on(e.MessageApplied)
def message_applied(event: Recorded, data: e.MessageApplied) -> None:
    _advance(event, data.message_id, data.node_id, "applied", applied_at=event.at)


@on(e.MessageAcknowledged)
def message_acknowledged(event: Recorded, data: e.MessageAcknowledged) -> None:
    columns = {"answer": data.answer, "note": data.note, "acknowledged_at": event.at}
    _advance(event, data.message_id, data.node_id, "acknowledged", **columns)
    update(Message, data.message_id, revision=event.revision)


@on(e.MessageAnswered)
def message_answered(event: Recorded, data: e.MessageAnswered) -> None:
    """Only said: the step stays what was proven."""
    update(Delivery, pair(data.message_id, data.node_id), unverified_answer=data.answer_id)


@on(e.MessageExpired)
def message_expired(event: Recorded, data: e.MessageExpired) -> None:
    update(Delivery, pair(data.message_id, data.node_id), step="expired", ended_at=event.at)


@on(e.MessageUndeliverable)
def message_undeliverable(event: Recorded, data: e.MessageUndeliverable) -> None:
    key = pair(data.message_id, data.node_id)
    update(Delivery, key, step="undeliverable", ended_at=event.at, reason=data.reason)


@on(e.MessageWithdrawn)
def message_withdrawn(event: Recorded, data: e.MessageWithdrawn) -> None:
    for node_id in data.node_ids:
        update(Delivery, pair(data.message_id, node_id), step="withdrawn", ended_at=event.at)
    update(Message, data.message_id, revision=event.revision)
