"""Tasks: compare-and-set claims, leases that end exactly when they say, and fencing numbers on every later write."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from boards import schemas as c
from boards import words
from boards.events import (
    ContractActivated,
    ContractCompleted,
    EventData,
    TaskClaimed,
    TaskCompleted,
    TaskExpired,
    TaskHandedOver,
    TaskReleased,
    TaskRenewed,
    TaskUpdated,
)
from boards.models import Contract, Evidence, Node, Task
from boards.rules import gate, rights
from boards.rules.world import Decision, Refused, World, say
from boards.times import iso


def held(task: Task, world: World) -> bool:
    """A lease is active until exactly its end."""
    return task.status == "claimed" and task.lease_until is not None and world.at < task.lease_until


def overdue(task: Task, world: World) -> bool:
    """Claimed, and the lease has ended: its expiry is an event that is due."""
    return task.status == "claimed" and not held(task, world)


def lease(seconds: int | None) -> timedelta:
    """The lease asked for, within its limits."""
    span = words.LEASE_DEFAULT if seconds is None else timedelta(seconds=seconds)
    if not words.LEASE_MIN <= span <= words.LEASE_MAX:
        sentence = f"A lease of {span.total_seconds():.0f} s is outside 60 s to 86,400 s (24 h)."
        raise Refused("bad_lease", sentence)
    return span


def expire_task(command: c.ExpireTask, world: World) -> Decision:
    """The timer's finding; not due any more means that somebody was quicker."""
    task = world.task(command.board_id, command.task_id)
    if not overdue(task, world):
        raise Refused("not_due", f"The lease of {task.task_id} is not over.", outcome="conflict")
    return Decision([expiry(task)], task.board_id, ("task", task.task_id))


def expiry(task: Task) -> TaskExpired:
    """The event that reopens a task whose lease has ended."""
    assert task.lease_until is not None  # only a claimed task is overdue, and a claim sets it
    return TaskExpired(task_id=task.task_id, node_id=task.holder, fencing=task.fencing, lease_until=task.lease_until)


def claim_task(command: c.ClaimTask, world: World) -> Decision:
    """Exactly one claim wins; the others are told who holds the task, until when, since which revision."""
    task, contract, who = _task(command, world)
    if held(task, world):
        if task.offered_to == who.node_id and task.holder != who.node_id:
            return _take_over(command, world, task, contract, who)
        raise _held(task, who)
    if task.status != "open":
        raise Refused("not_open", f"{task.task_id} is {task.status}.", outcome="conflict", current=view(task))
    _claimable(contract, task, who, world)
    span = lease(command.lease_seconds)
    claimed = TaskClaimed(
        task_id=task.task_id,
        contract_id=contract.contract_id,
        node_id=who.node_id,
        fencing=task.fencing + 1,
        lease_seconds=int(span.total_seconds()),
        lease_until=world.at + span,
    )
    first: list[EventData] = (
        [] if contract.status == "active" else [ContractActivated(contract_id=contract.contract_id)]
    )
    said = _tell(world, contract, task, who, "task_claim", f"{who.name} claimed {task.task_id}")
    extra = {"fencing": claimed.fencing, "leaseUntil": iso(claimed.lease_until), "holder": who.node_id}
    return Decision([claimed, *first, *said], task.board_id, ("task", task.task_id), extra)


def _take_over(command: c.ClaimTask, world: World, task: Task, contract: Contract, who: Node) -> Decision:
    """The node that it was offered to takes it from its holder: a new lease and a new fencing number."""
    _claimable(contract, task, who, world)
    span = lease(command.lease_seconds)
    event = TaskHandedOver(
        task_id=task.task_id,
        contract_id=contract.contract_id,
        from_node=task.holder,
        node_id=who.node_id,
        fencing=task.fencing + 1,
        lease_seconds=int(span.total_seconds()),
        lease_until=world.at + span,
    )
    text = f"{who.name} took {task.task_id} over from {task.holder}"
    said = _tell(world, contract, task, who, "task_claim", text, task.holder)
    extra = {"fencing": event.fencing, "leaseUntil": iso(event.lease_until), "holder": who.node_id}
    return Decision([event, *said], task.board_id, ("task", task.task_id), extra)


def hand_over_task(command: c.HandOverTask, world: World) -> Decision:
    """An offer: until the named node claims it the holder holds it, and without a name the offer is taken back."""
    task, contract, who = _fenced(command, world)
    to = _successor(command, world, task, contract, who) if command.to else None
    offered_to = to.node_id if to else ""
    if offered_to == task.offered_to and (not to or command.summary == task.offer_note):
        sentence = f"It is offered to {to.name} already." if to else "It is offered to nobody."
        raise Refused("already_offered", sentence, outcome="already_applied", current=view(task))
    event = TaskUpdated(
        task_id=task.task_id, node_id=who.node_id, fencing=task.fencing, note=command.summary, offered_to=offered_to
    )
    said = _hand_over_note(command, world, task, contract, who, to) if to else []
    extra = {"fencing": task.fencing, "offeredTo": offered_to or None}
    return Decision([event, *said], task.board_id, ("task", task.task_id), extra)


def _successor(command: c.HandOverTask, world: World, task: Task, contract: Contract, who: Node) -> Node:
    assert command.to is not None
    if not command.summary.strip():
        raise Refused("summary_missing", "A hand-over says in its summary what is done and what comes next.")
    to = world.resolve(command.to)
    if not isinstance(to, Node):
        raise Refused("not_a_member", f"{command.to!r} is no member of {task.board_id!r}; invite it first.")
    if to.node_id == who.node_id:
        raise Refused("to_oneself", f"{who.name} holds {task.task_id} already; name another node.")
    _claimable(contract, task, to, world)
    return to


def _hand_over_note(
    command: c.HandOverTask, world: World, task: Task, contract: Contract, who: Node, to: Node
) -> list[EventData]:
    content = f"{who.name} offers you {task.task_id}; claim it to take it over.\n\n{command.summary}"
    ids = {"contract_id": contract.contract_id, "task_id": task.task_id}
    return say(world, task.board_id, "handoff_summary", [to.node_id], content, **ids)


def _held(task: Task, who: Node) -> Refused:
    assert task.lease_until is not None
    if task.holder == who.node_id:
        sentence = f"{who.name} holds {task.task_id} already, until {iso(task.lease_until)}."
        return Refused("already_held", sentence, outcome="already_applied", current=view(task))
    sentence = f"{task.holder} holds {task.task_id} until {iso(task.lease_until)}, claimed at revision {task.revision}."
    return Refused("already_claimed", sentence, outcome="conflict", current=view(task))


def view(task: Task) -> dict[str, Any]:
    """What a conflict tells of a task."""
    return {
        "taskId": task.task_id,
        "status": task.status,
        "holder": task.holder or None,
        "leaseUntil": iso(task.lease_until) if task.lease_until else None,
        "offeredTo": task.offered_to or None,
        "fencing": task.fencing,
        "revision": task.revision,
    }


def _claimable(contract: Contract, task: Task, who: Node, world: World) -> None:
    if contract.status not in ("accepted", "active"):
        waiting = [node for node in contract.owners if node not in contract.accepted_by]
        hint = f"; {', '.join(waiting)} must accept it first" if contract.status == "proposed" else ""
        sentence = f"{contract.contract_id} is {contract.status}{hint}."
        raise Refused("contract_not_accepted", sentence, current={"status": contract.status})
    allowed = task.eligible or list(contract.owners)
    if allowed and who.node_id not in allowed:
        raise Refused("not_eligible", f"{task.task_id} is open to {', '.join(allowed)}; {who.name} is not among them.")
    role = rights.role_of(world, task.board_id, who)
    if role is None or words.ROLES.index(role) < words.ROLES.index("worker"):
        raise Refused("role_too_low", f"Claiming needs the role 'worker' here; {who.name} has {role or 'none'!r}.")


def _task(command: c.TaskCommand, world: World) -> tuple[Task, Contract, Node]:
    board = world.board(command.board_id)
    task = world.task(board.board_id, command.task_id)
    who = rights.subject(command, world, command.node)
    return task, world.contract(board.board_id, task.contract_id), who


def _fenced(command: c.FencedCommand, world: World) -> tuple[Task, Contract, Node]:
    """The holder's writes: it must hold the task now, with the fencing number of its claim."""
    task, contract, who = _task(command, world)
    if not held(task, world):
        sentence = f"{who.name} does not hold {task.task_id}; it is {task.status}. Claim it again first."
        raise Refused("not_held", sentence, outcome="conflict", current=view(task))
    if task.holder != who.node_id:
        assert task.lease_until is not None
        sentence = f"{task.holder} holds {task.task_id} until {iso(task.lease_until)}, not {who.name}."
        raise Refused("not_holder", sentence, outcome="conflict", current=view(task))
    if command.fencing is None:
        sentence = (
            f"{command.kind} needs the fencing number that the claim of {task.task_id} returned; "
            f"whoever claimed it elsewhere names it (--fencing)."
        )
        raise Refused("fencing_required", sentence)
    if command.fencing != task.fencing:
        sentence = f"Fencing number {command.fencing} is not the present one ({task.fencing}): the claim is an old one."
        raise Refused("fenced", sentence, outcome="conflict", current=view(task))
    return task, contract, who


def renew_task(command: c.RenewTask, world: World) -> Decision:
    """The lease starts anew from now; a running lease is never made shorter by renewing."""
    task, _, who = _fenced(command, world)
    span = lease(task.lease_seconds if command.lease_seconds is None else command.lease_seconds)
    assert task.lease_until is not None
    until = max(world.at + span, task.lease_until)
    event = TaskRenewed(
        task_id=task.task_id,
        node_id=who.node_id,
        fencing=task.fencing,
        lease_seconds=int(span.total_seconds()),
        lease_until=until,
    )
    extra = {"fencing": task.fencing, "leaseUntil": iso(until)}
    return Decision([event], task.board_id, ("task", task.task_id), extra)


def release_task(command: c.ReleaseTask, world: World) -> Decision:
    """The task is open again; who held it stays in its history."""
    task, contract, who = _fenced(command, world)
    event = TaskReleased(task_id=task.task_id, node_id=who.node_id, fencing=task.fencing, note=command.note)
    text = f"{who.name} released {task.task_id}" + (f": {command.note}" if command.note else "")
    said = _tell(world, contract, task, who, "task_update", text)
    return Decision([event, *said], task.board_id, ("task", task.task_id))


def complete_task(command: c.CompleteTask, world: World) -> Decision:
    """Refused until each requirement has verified evidence, or a proven blocker stands in."""
    task, contract, who = _fenced(command, world)
    verdict = gate.contract_gate(world, contract)
    if not verdict.ready:
        raise Refused("gate_not_ready", gate.sentence(verdict), current=verdict.body())
    bundles = world.fetch(Evidence, contract_id=contract.contract_id, board_id=task.board_id)
    done = TaskCompleted(
        task_id=task.task_id,
        contract_id=contract.contract_id,
        node_id=who.node_id,
        fencing=task.fencing,
        evidence_ids=[bundle.evidence_id for bundle in bundles if bundle.verdict == "verified"],
        note=command.note,
    )
    siblings = world.fetch(Task, contract_id=contract.contract_id, board_id=task.board_id)
    last = all(row.status == "done" for row in siblings if row.task_id != task.task_id)
    outcome = "finished_blocked" if verdict.standing_in else "completed"
    ends: list[EventData] = [ContractCompleted(contract_id=contract.contract_id, outcome=outcome)] if last else []
    said = _tell(
        world, contract, task, who, "task_done", f"{who.name} completed {task.task_id}; the gate let it through"
    )
    return Decision([done, *ends, *said], task.board_id, ("task", task.task_id))


def _tell(
    world: World, contract: Contract, task: Task, who: Node, message_type: words.MessageType, text: str, *more: str
) -> list[EventData]:
    """Tells the proposer, whom it concerns besides, and the session itself when the human acted for it."""
    by = "" if who.node_id == world.actor.node_id else f" (entered by {world.me().name})"
    to = [contract.proposed_by, who.node_id, *more]
    content = f"{text}{by}."
    return say(world, task.board_id, message_type, to, content, contract_id=contract.contract_id, task_id=task.task_id)
