"""Contracts: proposed, accepted by every owner, active with the first claim, blocked and back, done by the gate."""

from __future__ import annotations

from boards import schemas as c
from boards import words
from boards.events import (
    ContractAccepted,
    ContractProposed,
    ContractRejected,
    EventData,
    Item,
    MessageAcknowledged,
    TaskSpec,
)
from boards.keys import pair
from boards.models import Contract, Delivery, Message, Node
from boards.rules import rights
from boards.rules.world import Decision, Refused, World, say


def propose_contract(command: c.ProposeContract, world: World) -> Decision:
    """The proposer's own acceptance is implied; without other owners it is accepted when proposed."""
    board, me = world.board(command.board_id), world.me()
    contract_id = _contract_id(command, world)
    owners = {_member_id(world, board.board_id, ref): things for ref, things in command.owners.items()}
    accepted = [me.node_id] if me.node_id in owners else []
    event = ContractProposed(
        contract_id=contract_id,
        objective=command.objective,
        owners=owners,
        allowed_actions=numbered(command.allowed_actions, "action"),
        stop_conditions=numbered(command.stop_conditions, "stop"),
        required_evidence=numbered(command.required_evidence, "proof"),
        tasks=_tasks(command, world, contract_id),
        mutating=command.mutating,
        proposed_by=me.node_id,
        accepted_by=accepted,
        status="accepted" if set(accepted) == set(owners) else "proposed",
    )
    said = say(world, board.board_id, "contract_proposed", owners, _proposal_text(event), contract_id=contract_id)
    return Decision([event, *said], board.board_id, ("contract", contract_id))


def _contract_id(command: c.ProposeContract, world: World) -> str:
    if command.contract_id is None:
        return world.free_id(Contract, "contract_id", command.objective, "contract")
    if "." in command.contract_id:
        raise Refused("bad_id", "A contract's id has no dot: '<contract>.<number>' names its tasks.")
    if world.one(Contract, contract_id=command.contract_id) is not None:
        sentence = f"A contract {command.contract_id!r} exists already; leave the id out or choose another."
        raise Refused("contract_exists", sentence, outcome="conflict")
    return command.contract_id


def _member_id(world: World, board_id: str, ref: str) -> str:
    who = world.resolve(ref)
    if isinstance(who, Node) and rights.role_of(world, board_id, who) is not None:
        return who.node_id
    raise Refused("not_a_member", f"{ref!r} is no member of {board_id!r}; invite it before it can own anything.")


def numbered(items: list[c.Item], prefix: str) -> list[Item]:
    """Plain strings get ids; ids that were given stay, and must differ."""
    made = [Item(id=item.id or f"{prefix}-{number}", text=item.text) for number, item in enumerate(items, 1)]
    if len({item.id for item in made}) != len(made):
        raise Refused("duplicate_id", f"Two of the {prefix} items have one id; give each its own.")
    return made


def _tasks(command: c.ProposeContract, world: World, contract_id: str) -> list[TaskSpec]:
    if not command.tasks:
        return [TaskSpec(task_id=contract_id, title=command.objective)]
    return [
        TaskSpec(
            task_id=f"{contract_id}.{number}",
            title=item.text,
            eligible=[_member_id(world, command.board_id, ref) for ref in item.eligible],
        )
        for number, item in enumerate(command.tasks, 1)
    ]


def _proposal_text(event: ContractProposed) -> str:
    lines = [event.objective, ""]
    lines += [f"owner {node}: {', '.join(things) or 'no resource'}" for node, things in event.owners.items()]
    lines += [f"allowed: {item.text}" for item in event.allowed_actions]
    lines += [f"stop when: {item.text}" for item in event.stop_conditions]
    lines += [f"proof {item.id}: {item.text}" for item in event.required_evidence]
    return "\n".join(lines)


def accept_contract(command: c.AcceptContract, world: World) -> Decision:
    """An owner agrees to this very text; with the last owner the contract is accepted."""
    contract, who = _answering(command, world)
    if who.node_id in contract.accepted_by:
        raise Refused("already_accepted", f"{who.name} has accepted this text already.", outcome="already_applied")
    if command.text_revision not in (None, contract.text_revision):
        sentence = f"You accepted text {command.text_revision}; the contract now has text {contract.text_revision}."
        raise Refused("text_changed", sentence, outcome="conflict", current={"textRevision": contract.text_revision})
    accepted = [*contract.accepted_by, who.node_id]
    event = ContractAccepted(
        contract_id=contract.contract_id,
        node_id=who.node_id,
        text_revision=contract.text_revision,
        accepted_by=accepted,
        status="accepted" if set(contract.owners) <= set(accepted) else "proposed",
    )
    text = f"{who.name} accepted {contract.contract_id} (text {contract.text_revision}){_by(world, who)}."
    to = [contract.proposed_by, who.node_id]
    said = say(world, contract.board_id, "contract_accepted", to, text, contract_id=contract.contract_id)
    return Decision(
        [event, *_answers(world, contract, who, "accepted"), *said],
        contract.board_id,
        ("contract", contract.contract_id),
    )


def reject_contract(command: c.RejectContract, world: World) -> Decision:
    """Any owner ends the proposal, with a reason."""
    contract, who = _answering(command, world)
    event = ContractRejected(contract_id=contract.contract_id, node_id=who.node_id, reason=command.reason)
    text = f"{who.name} rejected {contract.contract_id}{_by(world, who)}: {command.reason}"
    to = [contract.proposed_by, who.node_id]
    said = say(world, contract.board_id, "contract_rejected", to, text, contract_id=contract.contract_id)
    return Decision(
        [event, *_answers(world, contract, who, "blocked", command.reason), *said],
        contract.board_id,
        ("contract", contract.contract_id),
    )


def _answers(world: World, contract: Contract, who: Node, answer: words.Answer, note: str = "") -> list[EventData]:
    """An owner's own command is also its answer to the proposal's message; one entered for it is not."""
    if who.node_id != world.actor.node_id:
        return []
    asked = world.fetch(Message, contract_id=contract.contract_id, message_type="contract_proposed")
    copies = world.fetch(Delivery, key__in=[pair(row.message_id, who.node_id) for row in asked])
    return [
        MessageAcknowledged(message_id=copy.message_id, node_id=who.node_id, answer=answer, note=note)
        for copy in copies
        if copy.step not in words.FINAL_STEPS
    ]


def _answering(command: c.ContractCommand, world: World) -> tuple[Contract, Node]:
    board = world.board(command.board_id)
    contract = world.contract(board.board_id, command.contract_id)
    who = rights.subject(command, world, command.node)
    if isinstance(command, c.RejectContract) and unowned(contract):
        return contract, _rejecting_unowned(contract, who, world)
    if contract.status != "proposed":
        sentence = f"{contract.contract_id} is {contract.status}; only a proposed contract can be accepted or rejected."
        raise Refused("not_proposed", sentence, outcome="conflict", current={"status": contract.status})
    if who.node_id not in contract.owners:
        owners = ", ".join(contract.owners) or "nobody"
        raise Refused("not_an_owner", f"{who.name} is no owner of {contract.contract_id}; its owners are {owners}.")
    return contract, who


def unowned(contract: Contract) -> bool:
    """Open to every worker, and nobody has claimed anything under it yet."""
    return contract.status == "accepted" and not contract.owners


def _rejecting_unowned(contract: Contract, who: Node, world: World) -> Node:
    """Without owners nobody was asked; until the first claim its proposer or a supervisor may still take it away."""
    role = rights.role_of(world, contract.board_id, who)
    if who.node_id != contract.proposed_by and role not in ("supervisor", "human"):
        raise Refused(
            "not_an_owner", f"{contract.contract_id} has no owners; its proposer or a supervisor may reject it."
        )
    return who


def _by(world: World, who: Node) -> str:
    return "" if who.node_id == world.actor.node_id else f", entered by {world.me().name}"
