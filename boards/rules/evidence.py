"""Evidence, blockers and summaries. Attaching proves nothing; checks and people do, and nobody verifies his own."""

from __future__ import annotations

from boards import schemas as c
from boards.events import (
    BlockerOpened,
    BlockerResolved,
    Check,
    ContractBlocked,
    ContractUnblocked,
    EventData,
    EventPointer,
    EvidenceAttached,
    EvidenceChecked,
    EvidenceRejected,
    EvidenceStale,
    EvidenceVerified,
    FilePointer,
    SummaryCreated,
)
from boards.models import Blocker, Contract, Evidence, Node
from boards.rules import rights
from boards.rules.world import Decision, Refused, World, say, unknown


def attach_evidence(command: c.AttachEvidence, world: World) -> Decision:
    """A bundle for one contract, and for one of its requirements when it has any."""
    board, me = world.board(command.board_id), world.me()
    contract = world.contract(board.board_id, command.contract_id)
    if contract.status in ("rejected", "withdrawn"):
        raise Refused("contract_settled", f"{contract.contract_id} is {contract.status}; it takes no more evidence.")
    world.check_room(Evidence, board.board_id)
    _check_requirement(contract, command)
    _check_sessions(world, board.board_id, command)
    event = EvidenceAttached(
        evidence_id=world.new_id("ev-"),
        contract_id=contract.contract_id,
        requirement_id=command.requirement_id,
        node_id=me.node_id,
        kind=command.kind_of,
        stands_for=command.stands_for,
        summary=command.summary,
        events=[EventPointer.model_validate(pointer.body()) for pointer in command.events],
        artifacts=[FilePointer.model_validate(pointer.body()) for pointer in command.artifacts],
        url=command.url,
    )
    text = f"{me.name} attached evidence to {contract.contract_id}: {command.summary}"
    said = say(
        world, board.board_id, "evidence_attached", [contract.proposed_by], text, contract_id=contract.contract_id
    )
    extra = {"evidenceId": event.evidence_id}
    return Decision([event, *said], board.board_id, ("evidence", event.evidence_id), extra)


def _check_requirement(contract: Contract, command: c.AttachEvidence) -> None:
    ids = [item["id"] for item in contract.required_evidence]
    if command.requirement_id is None and ids and command.stands_for == "proof":
        listed = "; ".join(f"{item['id']}: {item['text']}" for item in contract.required_evidence)
        raise Refused("requirement_missing", f"Say which requirement it answers ({listed}).")
    if command.requirement_id is not None and command.requirement_id not in ids:
        raise unknown("requirement", command.requirement_id, ids)


def _check_sessions(world: World, board_id: str, command: c.AttachEvidence) -> None:
    """A person's bundle speaks of members' sessions only, an agent's of its own."""
    me = world.me()
    named = {pointer.session_id for pointer in command.events} | {pointer.session_id for pointer in command.artifacts}
    for session_id in named - {""}:
        node = world.one(Node, session_id=session_id)
        if me.kind != "human" and session_id != me.session_id:
            raise Refused("not_yours", f"{me.name} may attach what its own session made; {session_id!r} is another.")
        if node is None or world.member(board_id, node.node_id) is None:
            raise Refused("not_a_member", f"The session {session_id!r} is no member of {board_id!r}; invite it first.")


def record_checks(command: c.RecordChecks, world: World) -> Decision:
    """What the checks found. A person's judgement is kept unless the checks now contradict it."""
    world.board(command.board_id)
    bundle = world.bundle(command.board_id, command.evidence_id)
    if bundle.judged_at and command.only_changes and _same(bundle, command):
        raise Refused("unchanged", "The checks find what they found before.", outcome="already_applied")
    if bundle.judged_by not in ("", world.actor.node_id) and command.verdict != "rejected":
        sentence = f"{bundle.judged_by} has judged it by name, and the checks do not contradict that."
        raise Refused("judged_by_name", sentence, outcome="already_applied")
    lines = [Check.model_validate(line.body()) for line in command.checks]
    found = {"evidence_id": bundle.evidence_id, "node_id": world.actor.node_id, "checks": lines}
    event: EventData
    if command.verdict == "verified" and bundle.trust:
        event = EvidenceChecked(**found, verdict="unverified")  # what came through the folder needs a name besides
    elif command.verdict == "verified":
        event = EvidenceVerified(**found)
    elif command.verdict == "rejected":
        event = EvidenceRejected(**found)
    elif command.verdict == "stale":
        event = EvidenceStale(**found)
    else:
        event = EvidenceChecked(**found, verdict=command.verdict)
    return Decision([event], bundle.board_id, ("evidence", bundle.evidence_id))


def _same(bundle: Evidence, command: c.RecordChecks) -> bool:
    return bundle.verdict == command.verdict and bundle.checks == [line.body() for line in command.checks]


def verify_evidence(command: c.VerifyEvidence, world: World) -> Decision:
    """By name, by the receiver, a supervisor or the human; never by the author, never against a failing check."""
    bundle, me = _judged(command, world)
    if me.node_id == bundle.node_id:
        raise Refused("own_evidence", f"{me.name} attached this bundle; somebody else must verify it.")
    if bundle.verdict == "verified":
        raise Refused("already_verified", f"{bundle.judged_by} has verified it already.", outcome="already_applied")
    if bundle.trust and rights.role_of(world, bundle.board_id, me) not in ("supervisor", "human"):
        sentence = "It came through the board folder, where anybody could have written it; a supervisor or the human"
        raise Refused("role_too_low", f"{sentence} verifies it.")
    failing = [line["detail"] for line in bundle.checks if line["verdict"] == "rejected"]
    if failing:
        raise Refused("checks_contradict", f"A check speaks against it: {failing[0]} Attach a bundle that holds.")
    event = EvidenceVerified(evidence_id=bundle.evidence_id, node_id=me.node_id, note=command.note)
    return Decision([event], bundle.board_id, ("evidence", bundle.evidence_id))


def reject_evidence(command: c.RejectEvidence, world: World) -> Decision:
    """By name, with a reason; the author may take its own bundle back this way."""
    bundle, me = _judged(command, world)
    if bundle.verdict == "rejected":
        raise Refused("already_rejected", f"{bundle.judged_by} has rejected it already.", outcome="already_applied")
    event = EvidenceRejected(evidence_id=bundle.evidence_id, node_id=me.node_id, note=command.reason)
    return Decision([event], bundle.board_id, ("evidence", bundle.evidence_id))


def _judged(command: c.EvidenceCommand, world: World) -> tuple[Evidence, Node]:
    world.board(command.board_id)
    bundle, me = world.bundle(command.board_id, command.evidence_id), world.me()
    contract = world.contract(bundle.board_id, bundle.contract_id)
    receiver = me.node_id in (contract.proposed_by, bundle.node_id)
    if not receiver and rights.role_of(world, bundle.board_id, me) not in ("supervisor", "human"):
        sentence = "Evidence is judged by the contract's proposer, a supervisor or the human."
        raise Refused("role_too_low", sentence)
    return bundle, me


def open_blocker(command: c.OpenBlocker, world: World) -> Decision:
    """Names what stands in the way; a met stop condition blocks its contract."""
    board, me = world.board(command.board_id), world.me()
    world.check_room(Blocker, board.board_id)
    contract_id = command.contract_id
    if command.task_id:
        contract_id = world.task(board.board_id, command.task_id).contract_id
    contract = world.contract(board.board_id, contract_id) if contract_id else None
    for evidence_id in command.evidence_ids:
        world.bundle(board.board_id, evidence_id)
    event = BlockerOpened(
        blocker_id=world.new_id("blk-"),
        cause="stop_condition" if command.stop_condition_id else "reported",
        summary=command.summary,
        node_id=me.node_id,
        contract_id=contract_id,
        task_id=command.task_id,
        stop_condition_id=command.stop_condition_id,
        evidence_ids=command.evidence_ids,
    )
    said = []
    if contract is not None:
        people = [contract.proposed_by, *contract.owners]
        text = f"{me.name} opened a blocker on {contract.contract_id}: {command.summary}"
        said = say(world, board.board_id, "task_blocked", people, text, contract_id=contract.contract_id)
    events = [event, *_blocking(command, contract, event.blocker_id), *said]
    return Decision(events, board.board_id, ("blocker", event.blocker_id), {"blockerId": event.blocker_id})


def _blocking(command: c.OpenBlocker, contract: Contract | None, blocker_id: str) -> list[EventData]:
    if command.stop_condition_id is None:
        return []
    if contract is None:
        raise Refused("contract_missing", "A stop condition belongs to a contract; name the contract too.")
    ids = [item["id"] for item in contract.stop_conditions]
    if command.stop_condition_id not in ids:
        raise unknown("stop_condition", command.stop_condition_id, ids)
    if contract.status == "blocked":
        return []
    if contract.status not in ("accepted", "active"):
        raise Refused("contract_not_accepted", f"{contract.contract_id} is {contract.status}; nothing runs under it.")
    return [ContractBlocked(contract_id=contract.contract_id, blocker_id=blocker_id, resumes_as=contract.status)]


def resolve_blocker(command: c.ResolveBlocker, world: World) -> Decision:
    """By name; the last blocking one sets its contract free."""
    board, me = world.board(command.board_id), world.me()
    row = world.one(Blocker, blocker_id=command.blocker_id, board_id=board.board_id)
    if row is None:
        raise unknown(
            "blocker", command.blocker_id, [b.blocker_id for b in world.fetch(Blocker, board_id=board.board_id)]
        )
    if row.status == "resolved":
        raise Refused("already_resolved", f"{row.resolved_by} resolved it already.", outcome="already_applied")
    event = BlockerResolved(blocker_id=row.blocker_id, node_id=me.node_id, resolution=command.resolution)
    return Decision([event, *_freed(world, row)], board.board_id, ("blocker", row.blocker_id))


def _freed(world: World, row: Blocker) -> list[EventData]:
    contract = world.contract(row.board_id, row.contract_id) if row.contract_id else None
    if contract is None or contract.status != "blocked" or not row.stop_condition_id:
        return []
    others = world.fetch(Blocker, contract_id=contract.contract_id, board_id=row.board_id, status="open")
    if any(other.stop_condition_id and other.blocker_id != row.blocker_id for other in others):
        return []
    return [ContractUnblocked(contract_id=contract.contract_id, status=contract.resumes_as or "accepted")]


def summarize_session(command: c.SummarizeSession, world: World) -> Decision:
    """Stores what the summary's fixed schema holds; a session summarises itself, supervisors and the human any."""
    board, me = world.board(command.board_id), world.me()
    who = world.resolve(command.node)
    if not isinstance(who, Node) or rights.role_of(world, board.board_id, who) is None:
        raise Refused("not_a_member", f"{command.node!r} is no member of {board.board_id!r}; invite it first.")
    if who.node_id != me.node_id and rights.role_of(world, board.board_id, me) not in ("supervisor", "human"):
        raise Refused("not_yours", f"{me.name} may summarise itself only.")
    event = SummaryCreated(node_id=who.node_id, session_id=who.session_id, summary=command.summary, text=command.text)
    return Decision([event], board.board_id, ("summary", who.node_id))
