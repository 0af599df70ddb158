"""Messages: typed, bounded, and never a change of state. Delivery steps are recorded as proven, never overstated."""

from __future__ import annotations

from typing import Final

from boards import schemas as c
from boards import words
from boards.events import (
    EventData,
    MessageAcknowledged,
    MessageApplied,
    MessageExpired,
    MessageReceived,
    MessageSent,
    MessageUndeliverable,
    MessageWithdrawn,
)
from boards.keys import pair
from boards.models import Board, Contract, Delivery, Member, Message, Node, Outbox
from boards.rules.boards import invitation
from boards.rules.rights import role_of
from boards.rules.world import Decision, Refused, World
from boards.times import iso

EVERYONE: Final = "@board"


def send_message(command: c.SendMessage, world: World) -> Decision:
    """One message, one copy per recipient; a discovered session is invited in the same command."""
    board, me = world.board(command.board_id), world.me()
    parent = world.message(board.board_id, command.reply_to) if command.reply_to else None
    events: list[EventData] = []
    to: list[str] = []
    for ref in command.to:
        for node_id, invited in _recipients(world, board, me, ref):
            if node_id not in to:
                to.append(node_id)
                events += invited
    if role_of(world, board.board_id, me) == "observer" and command.reply_to:
        _check_observer(world, parent, me, to, command)
    command = _with_contract(command, world)
    _check_references(command, world, to)
    sent = _sent(command, world, me, to, parent)
    _check_limits(sent, world)
    return Decision([*events, sent], board.board_id, ("message", sent.message_id), {"messageId": sent.message_id})


def _recipients(world: World, board: Board, me: Node, ref: str) -> list[tuple[str, list[EventData]]]:
    if ref == EVERYONE:
        members = [m for m in world.fetch(Member, board_id=board.board_id) if m.state != "left"]
        others = [member.node_id for member in members if member.node_id != me.node_id]
        if not others:
            raise Refused("nobody_there", f"The board {board.board_id!r} has no other member; invite somebody first.")
        return [(node_id, []) for node_id in others]
    who = world.resolve(ref)
    if isinstance(who, Node):
        if who.node_id == me.node_id:
            raise Refused("to_oneself", "A message to oneself reaches nobody; name another peer.")
        if role_of(world, board.board_id, who) is not None:
            return [(who.node_id, [])]
    if role_of(world, board.board_id, me) not in ("supervisor", "human"):
        sentence = f"{ref!r} is no member of {board.board_id!r}; a supervisor or the human can invite it."
        raise Refused("not_a_member", sentence)
    return [invitation(world, board.board_id, who, "worker")]


def _check_observer(world: World, parent: Message | None, me: Node, to: list[str], command: c.SendMessage) -> None:
    """An observer answers what was sent to it, to whoever sent it, and asks for nothing but a status."""
    copy = world.one(Delivery, key=pair(parent.message_id, me.node_id)) if parent else None
    if copy is None or parent is None or to != [parent.sender] or command.type in words.REQUESTS - words.OBSERVER_TYPES:
        raise Refused("role_too_low", "An observer may ask for a status and answer what was sent to it, no more.")


def _with_contract(command: c.SendMessage, world: World) -> c.SendMessage:
    """A message about a task is about its contract."""
    if not command.task_id:
        return command
    contract_id = world.task(command.board_id, command.task_id).contract_id
    if command.contract_id not in (None, contract_id):
        sentence = f"{command.task_id} belongs to {contract_id}, not to {command.contract_id}; name one of them."
        raise Refused("contract_mismatch", sentence)
    return command.model_copy(update={"contract_id": contract_id})


def _check_references(command: c.SendMessage, world: World, to: list[str]) -> None:
    if command.expires_at is not None and command.expires_at <= world.at:
        raise Refused(
            "expires_in_the_past", f"The message would have expired at {iso(command.expires_at)}; give a later time."
        )
    if command.contract_id:
        contract = world.contract(command.board_id, command.contract_id)
        if command.type == "task_request" and contract.mutating:
            _check_mutating(contract, to)


def _check_mutating(contract: Contract, to: list[str]) -> None:
    lacking = [node for node in to if node not in contract.accepted_by]
    if contract.status not in ("accepted", "active", "blocked") or lacking:
        who = ", ".join(lacking) or "every owner"
        sentence = f"{contract.contract_id} changes things: {who} must accept it before a task_request under it."
        raise Refused("contract_not_accepted", sentence)


def _sent(command: c.SendMessage, world: World, me: Node, to: list[str], parent: Message | None) -> MessageSent:
    message_id = world.new_id("msg-")
    asked = command.requires_ack
    chained = parent is not None and me.kind != "human"
    return MessageSent(
        message_id=message_id,
        sender=me.node_id,
        to=to,
        message_type=command.type,
        priority=command.priority,
        content=command.content,
        contract_id=command.contract_id,
        task_id=command.task_id,
        reply_to=command.reply_to,
        thread_id=parent.thread_id if parent else message_id,
        refs=command.refs,
        requires_ack=command.type in words.REQUIRES_ACK if asked is None else asked,
        expires_at=command.expires_at,
        chain_origin=parent.chain_origin if parent and chained else me.node_id,
        hops=parent.hops + 1 if parent and chained else 0,
    )


def _check_limits(sent: MessageSent, world: World) -> None:
    """Agent-to-agent loops die on their own; each sentence says the limit."""
    if sent.hops > words.HOPS_LIMIT:
        raise Refused(
            "too_many_hops", f"This chain has {sent.hops} hops; the limit is {words.HOPS_LIMIT}. Ask the human."
        )
    recent = world.check_burst(sent.sender)
    edge = world.at - words.SAME_TEXT_WINDOW
    for row in recent:
        if row.created_at > edge and row.content == sent.content and set(row.recipients) & set(sent.to):
            seconds = words.SAME_TEXT_WINDOW.total_seconds()
            raise Refused("same_text", f"The same text went to the same peer less than {seconds:.0f} s ago.")
    if sent.message_type in words.REQUESTS:
        _check_unanswered(sent, world)


def _check_unanswered(sent: MessageSent, world: World) -> None:
    """Requests that want an acknowledgement count until they have one, the others for a while."""
    asked = {"sender": sent.sender, "message_type__in": sorted(words.REQUESTS), "step__in": [*words.OPEN_STEPS]}
    for node_id in sent.to:
        waiting = world.how_many(Delivery, **asked, node_id=node_id, requires_ack=True)
        lately = {"requires_ack": False, "queued_at__gt": world.at - words.REQUEST_WINDOW}
        waiting += world.how_many(Delivery, **asked, node_id=node_id, **lately)
        if waiting >= words.UNANSWERED_LIMIT:
            limit = f"the limit is {words.UNANSWERED_LIMIT}"
            sentence = f"{node_id} has {waiting} unanswered requests from you; {limit}."
            raise Refused("too_many_unanswered", sentence)


def acknowledge_message(command: c.AcknowledgeMessage, world: World) -> Decision:
    """The recipient's own answer. The same answer twice is recorded once; ``read`` may be followed by a real answer."""
    world.board(command.board_id)
    message, me = world.message(command.board_id, command.message_id), world.me()
    copy = world.one(Delivery, key=pair(message.message_id, me.node_id))
    if copy is None:
        raise Refused("not_addressed", f"The message {message.message_id} was not sent to {me.name}.")
    if copy.step == "acknowledged" and copy.answer == command.answer:
        raise Refused("already_acknowledged", f"You answered {copy.answer!r} already.", outcome="already_applied")
    if copy.step in words.FINAL_STEPS and copy.answer != "read":
        sentence = (
            f"This copy is {copy.step}{f' with {copy.answer!r}' if copy.answer else ''}; send a new message instead."
        )
        raise Refused(
            "already_settled", sentence, outcome="conflict", current={"step": copy.step, "answer": copy.answer}
        )
    event = MessageAcknowledged(
        message_id=message.message_id, node_id=me.node_id, answer=command.answer, note=command.note
    )
    return Decision([event], message.board_id, ("message", message.message_id))


def withdraw_message(command: c.WithdrawMessage, world: World) -> Decision:
    """Takes back the copies that no store has got, and could not be getting right now."""
    world.board(command.board_id)
    message, me = world.message(command.board_id, command.message_id), world.me()
    if message.sender != me.node_id and me.kind != "human":
        raise Refused("not_yours", f"Only {message.sender} or the human may withdraw {message.message_id}.")
    copies = world.fetch(Delivery, message_id=message.message_id)
    queued = [row for row in copies if row.step == "queued"]
    if not queued:
        steps = ", ".join(f"{row.node_id}: {row.step}" for row in copies)
        raise Refused("already_handed", f"Nothing is left to withdraw ({steps}).", outcome="conflict")
    keys = [row.key for row in queued]
    if any(row.trying for row in world.fetch(Outbox, key__in=keys)):
        raise Refused("being_handed", "It is being handed over right now; look again in a moment.", outcome="conflict")
    event = MessageWithdrawn(message_id=message.message_id, node_ids=[row.node_id for row in queued])
    return Decision([event], message.board_id, ("message", message.message_id))


NOT_AFTER: Final[dict[str, frozenset[str]]] = {
    "handed": frozenset({"handed_at"}),
    "applied": frozenset({"applied_at"}),
    "expired": frozenset({"handed_at", "applied_at", "acknowledged_at", "ended_at"}),
    "undeliverable": frozenset({"applied_at", "acknowledged_at", "ended_at"}),
}
"""Which times, once set, make a step's record superfluous (``handed`` twice) or untrue (``expired`` after handed)."""


def record_step(command: c.RecordStep, world: World) -> Decision:
    """What the delivery worker proved; recording it twice records it once. Works on closed boards too."""
    world.board(command.board_id, open_only=False)
    message = world.message(command.board_id, command.message_id)
    copy = world.one(Delivery, key=pair(message.message_id, command.node_id))
    if copy is None:
        raise Refused("not_addressed", f"{command.message_id} has no copy for {command.node_id}.")
    if any(getattr(copy, name) is not None for name in NOT_AFTER[command.step]):
        raise Refused("already_recorded", f"This copy is {copy.step} already.", outcome="already_applied")
    return Decision([_step_event(command)], message.board_id, ("message", message.message_id))


def _step_event(command: c.RecordStep) -> EventData:
    ids = {"message_id": command.message_id, "node_id": command.node_id}
    if command.step == "handed":
        return MessageReceived(**ids, adapter=command.adapter)
    if command.step == "undeliverable":
        return MessageUndeliverable(**ids, reason=command.reason)
    return MessageApplied(**ids) if command.step == "applied" else MessageExpired(**ids)
