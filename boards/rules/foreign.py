"""What comes in through the board folder. It is shown as said; it owns nothing, proves nothing and changes no state."""

from __future__ import annotations

import re
from typing import Final, Literal

from boards import schemas as c
from boards import words
from boards.events import (
    BoardAdopted,
    BoardCreated,
    ContractProposed,
    EventData,
    EvidenceAttached,
    FilePointer,
    MessageAnswered,
    MessageSent,
    PeerRegistered,
    TaskSpec,
)
from boards.models import Board, Contract, Delivery, Evidence, Message, Node
from boards.rules.world import Decision, Refused, World

SOURCE: Final = "agintiflow"
UNTRUSTED: Final = "untrusted-imported-summary"
ANSWER: Final = re.compile(r"\s*re:\s*([a-z0-9][a-z0-9._-]{0,63})", re.IGNORECASE)
"""How a message of the folder says what it answers: ``re: <messageId>`` at its beginning."""


def adopt_board(command: c.AdoptBoard, world: World) -> Decision:
    """The person takes over a board that AgInTiFlow made."""
    me = world.me()
    taken = {row.board_id.casefold() for row in world.fetch(Board)}
    if command.board_id.casefold() in taken:
        sentence = f"A board {command.board_id!r} exists already; its lines are taken in without being adopted."
        raise Refused("board_exists", sentence, outcome="conflict")
    events: list[EventData] = [
        BoardCreated(
            board_id=command.board_id,
            title=command.title,
            objective=command.objective,
            link_id=command.board_id,
            trust="same-user-local",
            creator_role="human" if me.kind == "human" else "supervisor",
        ),
        BoardAdopted(board_id=command.board_id, source=SOURCE, stated_creator=command.stated_creator),
    ]
    return Decision(events, command.board_id, ("board", command.board_id))


def _sender(world: World, stated: str) -> tuple[str, list[EventData]]:
    """The node of the session that the line names, else one node for all of AgInTiFlow; and its registration."""
    node = world.one(Node, session_id=stated, source=SOURCE) if stated else None
    if node is None:
        node = world.one(Node, kind="service", source=SOURCE)
    if node is not None:
        return node.node_id, []
    node_id = world.free_node_id(SOURCE, "service:agintiflow")
    event = PeerRegistered(
        node_id=node_id,
        name=world.free_name("AgInTiFlow" if node_id == SOURCE else node_id),
        kind="service",
        source=SOURCE,
        role="Writes into the board folder; who speaks through it is not verified.",
        trust=UNTRUSTED,
    )
    return node_id, [event]


# --- messages --------------------------------------------------------------------------------------------------------


def take_message(command: c.TakeMessage, world: World) -> Decision:
    """Shown on the board. It goes to nobody: AgInTiFlow's own sender has put it into the inbox that it names.

    Only what calls itself an answer to a message of ours is carried to whoever sent that, once for each copy.
    """
    board = world.board(command.board_id)
    _check_new(world, Message, "message_id", command.message_id)
    sender, registered = _sender(world, command.stated_sender)
    parent = _answered(command, world)
    copy = _copy(world, parent, sender) if parent else None
    hops = parent.hops + 1 if parent else 0
    carried = copy is not None and not copy.unverified_answer and hops <= words.HOPS_LIMIT
    to = [parent.sender] if parent and carried and _reaches(world, parent.sender, command, sender) else []
    sent = _sent(command, sender, to, parent, hops, requires_ack=_is_human(world, to))
    events = [*registered, sent, *_said_answered(copy, command.message_id)]
    return Decision(events, board.board_id, ("message", sent.message_id), {"messageId": sent.message_id})


def _check_new(world: World, model: type[Message] | type[Evidence], column: str, value: str) -> None:
    row = world.one(model, **{column: value})
    if row is not None:
        sentence = f"{value} is known already; a line that calls itself so again is not taken in."
        outcome: Literal["already_applied", "rejected"] = "already_applied" if row.trust else "rejected"
        raise Refused("id_taken", sentence, outcome=outcome)


def _answered(command: c.TakeMessage, world: World) -> Message | None:
    """The message of ours that the content begins by naming."""
    named = ANSWER.match(command.content)
    row = world.one(Message, message_id=named[1].lower(), board_id=command.board_id) if named else None
    return row if row is not None and not row.trust else None


def _copy(world: World, parent: Message, sender: str) -> Delivery | None:
    """The copy that is said to be answered: the sender's own, or the only one when nobody known is named."""
    copies = world.fetch(Delivery, message_id=parent.message_id)
    own = [row for row in copies if row.node_id == sender]
    alone = copies if len(copies) == 1 and _is_service(world, sender) else []
    return next(iter(own or alone), None)


def _is_service(world: World, node_id: str) -> bool:
    node = world.one(Node, node_id=node_id)
    return node is None or node.kind == "service"


def _is_human(world: World, to: list[str]) -> bool:
    return any(world.node(node_id).kind == "human" for node_id in to)


def _reaches(world: World, node_id: str, command: c.TakeMessage, sender: str) -> bool:
    """Whether we carry it: not to its own sender, and not where AgInTiFlow has put it itself."""
    node = world.node(node_id)
    there = bool(node.session_id) and node.session_id == command.stated_to
    return node_id != sender and not there and world.listens(command.board_id, node_id)


def _sent(
    command: c.TakeMessage, sender: str, to: list[str], parent: Message | None, hops: int, *, requires_ack: bool
) -> MessageSent:
    said = {"stated kind": command.stated_kind, "stated time": command.stated_at}
    refs = {name: value for name, value in said.items() if value}
    return MessageSent(
        message_id=command.message_id,
        sender=sender,
        to=to,
        message_type=command.type,
        priority=command.priority,
        content=command.content,
        reply_to=parent.message_id if parent else None,
        thread_id=parent.thread_id if parent else command.message_id,
        refs=[refs] if refs else [],
        requires_ack=requires_ack,
        chain_origin=sender,
        hops=hops,
        trust=UNTRUSTED,
        stated_sender=command.stated_sender,
        stated_to=command.stated_to,
    )


def _said_answered(copy: Delivery | None, answer_id: str) -> list[EventData]:
    if copy is None or copy.unverified_answer or copy.step in words.FINAL_STEPS:
        return []
    return [MessageAnswered(message_id=copy.message_id, node_id=copy.node_id, answer_id=answer_id)]


# --- evidence and contracts ------------------------------------------------------------------------------------------


def take_evidence(command: c.TakeEvidence, world: World) -> Decision:
    """A bundle that nobody vouches for: its checks may run, and somebody has to verify it by name."""
    board = world.board(command.board_id)
    contract = world.contract(board.board_id, command.contract_id)
    _check_new(world, Evidence, "evidence_id", command.evidence_id)
    world.check_room(Evidence, board.board_id)
    sender, registered = _sender(world, command.stated_sender)
    event = EvidenceAttached(
        evidence_id=command.evidence_id,
        contract_id=contract.contract_id,
        requirement_id=None,
        node_id=sender,
        kind=command.kind_of,
        summary=command.summary,
        events=[],
        artifacts=[FilePointer.model_validate(pointer.body()) for pointer in command.artifacts],
        url=command.url,
        trust=UNTRUSTED,
        stated_sender=command.stated_sender,
    )
    return Decision([*registered, event], board.board_id, ("evidence", event.evidence_id))


def take_contract(command: c.TakeContract, world: World) -> Decision:
    """A new contract is proposed, without owners; of a known one the person is told what somebody claims."""
    board = world.board(command.board_id)
    known = world.one(Contract, contract_id=command.contract_id)
    if known is not None and known.board_id != board.board_id:
        raise Refused("id_taken", f"A contract {command.contract_id!r} exists on another board.")
    # A proposer may judge what is done under its contract: a name in a file makes nobody one.
    sender, registered = _sender(world, command.stated_owner if known else "")
    event = _claim(command, world, known, sender) if known else _proposal(command, world, sender)
    return Decision([*registered, event], board.board_id, ("contract", command.contract_id))


def _proposal(command: c.TakeContract, world: World, sender: str) -> ContractProposed:
    world.check_room(Contract, command.board_id)
    return ContractProposed(
        contract_id=command.contract_id,
        objective="\n\n".join(text for text in (command.title, command.instructions) if text),
        owners={},
        allowed_actions=[],
        stop_conditions=[],
        required_evidence=[],
        tasks=[TaskSpec(task_id=command.contract_id, title=command.title)],
        mutating=False,
        proposed_by=sender,
        accepted_by=[],
        status="proposed",
        trust=UNTRUSTED,
        stated_sender=command.stated_owner,
    )


def _claim(command: c.TakeContract, world: World, known: Contract, sender: str) -> MessageSent:
    """Nothing is claimed by it. Of what still waits for the person's decision the person is told once."""
    waiting = bool(known.trust) and known.status == "proposed"
    human = world.one(Node, kind="human")
    to = [human.node_id] if human and not waiting else []
    who = command.stated_owner or "somebody"
    status = f" with the status {command.stated_status!r}" if command.stated_status else ""
    lines = [
        f"A file of the board folder says that {who} has {known.contract_id}{status}: {command.title}",
        *([command.instructions] if command.instructions else []),
        "Nothing was changed by it: the contract, its owners and its leases are as they were.",
    ]
    return MessageSent(
        message_id=command.message_id,
        sender=sender,
        to=to,
        message_type="task_claim",
        priority="normal",
        content="\n".join(lines),
        contract_id=known.contract_id,
        thread_id=command.message_id,
        requires_ack=bool(to),
        chain_origin=sender,
        trust=UNTRUSTED,
        stated_sender=command.stated_owner,
    )


def check_accepting(contract: Contract, role: words.Role | None) -> None:
    """A foreign proposal has no owners who could accept it: the person or a supervisor does."""
    if role not in ("human", "supervisor"):
        sentence = f"{contract.contract_id} came through the folder; a supervisor or the human decides on it."
        raise Refused("role_too_low", sentence)
