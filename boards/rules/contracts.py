"""Contracts: proposed, accepted by every owner, active with the first claim, blocked and back, done by the gate."""

from __future__ import annotations

from typing import Final

from boards import schemas as c
from boards import words
from boards.events import (
    ContractAccepted,
    ContractEdited,
    ContractProposed,
    ContractRejected,
    ContractWithdrawn,
    EventData,
    Item,
    MessageAcknowledged,
    MessageWithdrawn,
    TaskSpec,
)
from boards.keys import pair
from boards.models import Contract, Delivery, Evidence, Message, Node, Outbox, Task
from boards.rules import foreign, resources, rights
from boards.rules.world import Decision, Refused, World, say


def propose_contract(command: c.ProposeContract, world: World) -> Decision:
    """The proposer's own acceptance is implied; without other owners it is accepted when proposed."""
    board, me = world.board(command.board_id), world.me()
    world.check_room(Contract, board.board_id)
    contract_id = _contract_id(command, world)
    owners = _owners(world, board.board_id, command.owners)
    accepted = [me.node_id] if me.node_id in owners else []
    event = ContractProposed(
        contract_id=contract_id,
        objective=command.objective,
        owners=owners,
        allowed_actions=numbered(command.allowed_actions, "action"),
        stop_conditions=numbered(command.stop_conditions, "stop"),
        required_evidence=numbered(command.required_evidence, "proof"),
        tasks=_tasks(command.tasks, world, board.board_id, contract_id, command.objective),
        mutating=command.mutating,
        proposed_by=me.node_id,
        accepted_by=accepted,
        status="accepted" if set(accepted) == set(owners) else "proposed",
    )
    if event.status == "accepted":
        resources.check_free(world, contract_id, owners)
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


def _owners(world: World, board_id: str, owners: dict[str, list[str]]) -> dict[str, list[str]]:
    return {_member_id(world, board_id, ref): things for ref, things in owners.items()}


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


def _tasks(items: list[c.TaskItem], world: World, board_id: str, contract_id: str, objective: str) -> list[TaskSpec]:
    if not items:
        return [TaskSpec(task_id=contract_id, title=objective)]
    return [
        TaskSpec(
            task_id=f"{contract_id}.{number}",
            title=item.text,
            eligible=[_member_id(world, board_id, ref) for ref in item.eligible],
        )
        for number, item in enumerate(items, 1)
    ]


def _proposal_text(event: ContractProposed | ContractEdited) -> str:
    lines = [event.objective, ""]
    lines += [f"owner {node}: {', '.join(things) or 'no resource'}" for node, things in event.owners.items()]
    lines += [f"allowed: {item.text}" for item in event.allowed_actions]
    lines += [f"stop when: {item.text}" for item in event.stop_conditions]
    lines += [f"proof {item.id}: {item.text}" for item in event.required_evidence]
    return "\n".join(lines)


EDITABLE: Final = ("proposed", "accepted", "active")


def edit_contract(command: c.EditContract, world: World) -> Decision:
    """A new text. Every acceptance of the old one lapses, so nothing may be running under it."""
    board, me = world.board(command.board_id), world.me()
    contract = world.contract(board.board_id, command.contract_id)
    tasks = world.fetch(Task, contract_id=contract.contract_id, board_id=board.board_id)
    _check_editable(contract, tasks, me, world)
    event = _edited(command, world, contract, tasks)
    if _same(event, contract, tasks):
        raise Refused("nothing_changed", "This is the contract's text already.", outcome="already_applied")
    if event.status == "accepted":
        resources.check_free(world, contract.contract_id, event.owners)
    asked = say(
        world, board.board_id, "contract_proposed", event.owners, _proposal_text(event), contract_id=event.contract_id
    )
    events = [event, *_take_back(world, contract), *asked]
    return Decision(events, board.board_id, ("contract", contract.contract_id))


def _check_editable(contract: Contract, tasks: list[Task], me: Node, world: World) -> None:
    if contract.status not in EDITABLE:
        sentence = f"{contract.contract_id} is {contract.status}; only {', '.join(EDITABLE)} contracts can be edited."
        raise Refused("not_editable", sentence, outcome="conflict", current={"status": contract.status})
    mine = me.node_id == contract.proposed_by  # an owner alone could edit away what it has to prove
    if not mine and rights.role_of(world, contract.board_id, me) not in ("supervisor", "human"):
        sentence = f"{contract.contract_id} is edited by its proposer, a supervisor or the human; an owner rejects it."
        raise Refused("not_yours", sentence)
    held = [f"{task.task_id} by {task.holder}" for task in tasks if task.status == "claimed"]
    if held:
        sentence = f"{', '.join(held)} is held; its holder releases it before the text under it changes."
        raise Refused("task_held", sentence, outcome="conflict")


def _edited(command: c.EditContract, world: World, contract: Contract, tasks: list[Task]) -> ContractEdited:
    me = world.me()
    board_id, objective = contract.board_id, command.objective or contract.objective
    owners = contract.owners if command.owners is None else _owners(world, board_id, command.owners)
    accepted = [me.node_id] if me.node_id in owners else []
    return ContractEdited(
        contract_id=contract.contract_id,
        node_id=me.node_id,
        text_revision=contract.text_revision + 1,
        objective=objective,
        owners=owners,
        allowed_actions=_items(command.allowed_actions, contract.allowed_actions, "action"),
        stop_conditions=_items(command.stop_conditions, contract.stop_conditions, "stop"),
        required_evidence=_items(
            command.required_evidence, contract.required_evidence, "proof", _answered(world, contract)
        ),
        tasks=_edited_tasks(command, world, contract, tasks, objective),
        mutating=contract.mutating if command.mutating is None else command.mutating,
        accepted_by=accepted,
        status="accepted" if set(accepted) == set(owners) else "proposed",
    )


def _answered(world: World, contract: Contract) -> set[str]:
    """Requirements that evidence speaks of, also those that an earlier edit took away."""
    rows = world.fetch(Evidence, contract_id=contract.contract_id, board_id=contract.board_id)
    return {row.requirement_id for row in rows if row.requirement_id}


def _items(
    new: list[c.Item] | None, old: list[dict[str, str]], prefix: str, spoken_of: set[str] | None = None
) -> list[Item]:
    """An id stays with its text and is never given to another one: what proved the old text proves no new one."""
    if new is None:
        return [Item.model_validate(item) for item in old]
    texts = {item["id"]: item["text"] for item in old}
    ids = {text: item_id for item_id, text in texts.items()}
    used = set(texts) | (spoken_of or set())
    made = []
    for item in new:
        item_id = item.id or ids.get(item.text) or _unused(prefix, used)
        if item_id in used and texts.get(item_id) != item.text:
            raise Refused("id_reused", f"{item_id!r} is the id of another text; leave the id of the new one out.")
        used.add(item_id)
        texts[item_id] = item.text
        made.append(c.Item(id=item_id, text=item.text))
    return numbered(made, prefix)


def _unused(prefix: str, used: set[str]) -> str:
    return next(name for name in (f"{prefix}-{number}" for number in range(1, len(used) + 2)) if name not in used)


def _edited_tasks(
    command: c.EditContract, world: World, contract: Contract, tasks: list[Task], objective: str
) -> list[TaskSpec]:
    """The tasks stay unless others are listed, and those only before anybody has begun; one task has the objective."""
    if command.tasks is not None:
        if any(task.fencing for task in tasks):
            sentence = (
                f"Work under {contract.contract_id} has begun; its list of tasks stays. Propose another contract."
            )
            raise Refused("tasks_begun", sentence)
        return _tasks(command.tasks, world, contract.board_id, contract.contract_id, objective)
    own = {contract.contract_id: objective}
    return [
        TaskSpec(task_id=task.task_id, title=own.get(task.task_id, task.title), eligible=task.eligible)
        for task in tasks
    ]


def _same(event: ContractEdited, contract: Contract, tasks: list[Task]) -> bool:
    body = event.body()
    texts = ("objective", "owners", "mutating")
    lists = {
        "allowedActions": contract.allowed_actions,
        "stopConditions": contract.stop_conditions,
        "requiredEvidence": contract.required_evidence,
        "tasks": [{"taskId": task.task_id, "title": task.title, "eligible": task.eligible} for task in tasks],
    }
    return all(body[name] == getattr(contract, name) for name in texts) and all(
        body[name] == known for name, known in lists.items()
    )


def withdraw_contract(command: c.WithdrawContract, world: World) -> Decision:
    """Only its proposer (or the human), and only before every owner has accepted it."""
    board, me = world.board(command.board_id), world.me()
    contract = world.contract(board.board_id, command.contract_id)
    if me.node_id != contract.proposed_by and me.kind != "human":
        raise Refused("not_yours", f"Only {contract.proposed_by} or the human may withdraw {contract.contract_id}.")
    if contract.status == "withdrawn":
        raise Refused("already_withdrawn", f"{contract.contract_id} is withdrawn.", outcome="already_applied")
    if contract.status != "proposed":
        sentence = f"{contract.contract_id} is {contract.status}; only what is still proposed can be withdrawn."
        raise Refused("not_proposed", sentence, outcome="conflict", current={"status": contract.status})
    event = ContractWithdrawn(contract_id=contract.contract_id, node_id=me.node_id, reason=command.reason)
    text = f"{me.name} withdrew {contract.contract_id}" + (f": {command.reason}" if command.reason else ".")
    said = say(world, board.board_id, "task_update", contract.owners, text, contract_id=contract.contract_id)
    return Decision([event, *_take_back(world, contract), *said], board.board_id, ("contract", contract.contract_id))


def _take_back(world: World, contract: Contract) -> list[EventData]:
    """Copies of the old proposal that no store has got, and could not be getting right now."""
    asked = world.fetch(Message, contract_id=contract.contract_id, message_type="contract_proposed")
    copies = world.fetch(Delivery, message_id__in=[row.message_id for row in asked], step="queued")
    trying = {row.key for row in world.fetch(Outbox, key__in=[copy.key for copy in copies]) if row.trying}
    free: dict[str, list[str]] = {}
    for copy in copies:
        if copy.key not in trying:
            free.setdefault(copy.message_id, []).append(copy.node_id)
    return [MessageWithdrawn(message_id=message_id, node_ids=nodes) for message_id, nodes in free.items()]


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
    if event.status == "accepted":
        resources.check_free(world, contract.contract_id, contract.owners)
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
    if contract.trust and not contract.owners:
        foreign.check_accepting(contract, rights.role_of(world, board.board_id, who))
        return contract, who
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
