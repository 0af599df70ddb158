"""The history of a crowd: every command that makes its nodes and boards, in Django's database as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.crowd.size import Crowd, Size

if TYPE_CHECKING:
    from boards.schemas import Actor

APART: Final = timedelta(seconds=15)
"""From command to command, so that nobody's messages are a burst."""
LEASE_SECONDS: Final = 24 * 3600
TYPES: Final = ("task_update", "status_response", "task_done", "task_update", "handoff_summary")


def history(size: Size, folder: Path | None = None) -> Crowd:
    """Gives every command in this process's database. Sessions that its store has must have been made before."""
    from boards.discovery import scan_once
    from peers import queries
    from tests import people

    scan_once()
    found = queries.session_ids()
    with _moving(size):
        who = people.people()
        lead, workers = _nodes(who, size)
        boards = [_board(who, number, found) for number in range(size.boards)]
        board_id = _big_board(who, lead, workers)
        contracts = _contracts(board_id, lead, workers, size)
        _evidence(who, board_id, workers, contracts, size)
        _messages(who, board_id, lead, workers, size)
    claimed = _claims(board_id, workers, contracts)
    names = [worker.node_id for worker in workers]
    tasks = [one for number, one in enumerate(contracts) if number % 5 and one not in claimed]
    small_id = _board(who, size.boards, [])
    _deliver()
    return Crowd(str(folder or ""), board_id, small_id, lead.node_id, names, boards, contracts, tasks)


@contextmanager
def _moving(size: Size) -> Iterator[None]:
    """The log's clock goes on by itself from command to command, and arrives now."""
    from boards import log, times

    steps = size.boards * 6 + size.messages * 3 // 2 + size.contracts * 3 + size.evidence * 2 + size.workers + 40
    at, before = times.now() - APART * steps, log.now

    def now() -> datetime:
        nonlocal at
        at += APART
        return min(at, times.now())

    log.now = now
    try:
        yield
    finally:
        log.now = before


def _nodes(who: Any, size: Size) -> tuple[Actor, list[Actor]]:
    from boards.schemas import Actor
    from tests.people import done

    names = ["lead", *(f"worker-{number:03d}" for number in range(size.workers))]
    for name in names:
        done("register_node", who.human, name=name, role="Records and reports")
    lead, *workers = (Actor(name, "cli") for name in names)
    return lead, workers


def _board(who: Any, number: int, found: list[str]) -> str:
    """A small board: Alice, Bob, for every third a session, one contract, two or three messages."""
    from tests import people

    guest = [found[number % len(found)]] if found and number % 3 == 0 else []
    members = dict.fromkeys(["alice", "bob", *guest], "worker")
    board_id = people.board(who, title=f"Project {number:03d}: record and check", members=members)
    wish: dict[str, Any] = {
        "objective": f"Record the takes of project {number:03d}",
        "required_evidence": ["The file of the take"],
    }
    people.contract(who, board_id, **wish)
    for sender, to in ((who.alice, ["bob"]), (who.bob, ["alice"]), *(((who.human, guest),) if guest else ())):
        text = f"Project {number:03d}: the take is recorded; {to[0]} can look at it."
        people.done("send_message", sender, board_id=board_id, to=to, type="task_update", content=text)
    return board_id


def _big_board(who: Any, lead: Actor, workers: list[Actor]) -> str:
    from tests import people

    members = {lead.node_id: "supervisor", **dict.fromkeys([worker.node_id for worker in workers], "worker")}
    return people.board(who, title="Everything about the demo", objective="Record the whole demo", members=members)


def _contracts(board_id: str, lead: Actor, workers: list[Actor], size: Size) -> list[str]:
    """The lead proposes, four of five are accepted by their owner."""
    from tests.people import done

    made = []
    for number in range(size.contracts):
        owner = workers[number % len(workers)]
        wish: dict[str, Any] = {"objective": f"Record part {number:03d} of the demo with both cameras",
                "owners": {owner.node_id: [f"part-{number:03d}"]},
                "allowed_actions": ["Write below recordings/"], "stop_conditions": ["A camera does not answer"],
                "required_evidence": ["The file of the take", "Its checksum"]}  # fmt: skip
        contract_id = str((done("propose_contract", lead, board_id=board_id, **wish).entity or {})["id"])
        if number % 5:
            done("accept_contract", owner, board_id=board_id, contract_id=contract_id)
        made.append(contract_id)
    return made


def _evidence(who: Any, board_id: str, workers: list[Actor], contracts: list[str], size: Size) -> None:
    """By the owners in turn; the human verifies one of two and refuses one of ten."""
    from tests.people import done

    for number in range(size.evidence):
        place = number % len(contracts)
        wish: dict[str, Any] = {
            "contract_id": contracts[place],
            "requirement_id": f"proof-{number // len(contracts) % 2 + 1}",
            "evidenceKind": "statement",
            "summary": f"Take {number}: 412 frames without a gap, both cameras.",
        }
        bundle = done("attach_evidence", workers[place % len(workers)], board_id=board_id, **wish).extra["evidenceId"]
        if number % 2:
            done("verify_evidence", who.human, board_id=board_id, evidence_id=bundle)
        elif number % 10 == 0:
            done("reject_evidence", who.human, board_id=board_id, evidence_id=bundle, reason="The last frame lacks.")


def _messages(who: Any, board_id: str, lead: Actor, workers: list[Actor], size: Size) -> None:
    """All to the lead, who answers one of three; each fiftieth to the person too, of those a few as requests."""
    from boards.people import human_node_id
    from tests.people import done

    for number in range(size.messages):
        to = [lead.node_id, *([human_node_id()] if number % 50 == 0 else [])]
        wish: dict[str, Any] = {
            "to": to,
            "type": "task_request" if number % 1000 == 0 else TYPES[number % len(TYPES)],
            "priority": "high" if number % 40 == 0 else "normal",
            "content": f"Report {number}: take {number % 97} is recorded, 412 frames, no gaps; the next one begins.",
        }
        sent = done("send_message", workers[number % len(workers)], board_id=board_id, **wish).extra["messageId"]
        if number % 3 == 0:
            done("acknowledge_message", lead, board_id=board_id, message_id=sent, answer="accepted")


def _claims(board_id: str, workers: list[Actor], contracts: list[str]) -> list[str]:
    """Now, so that the leases last: each tenth contract's task is held, two of them are blocked."""
    from tests.people import done

    claimed = [contract for number, contract in enumerate(contracts) if number % 10 == 1]
    for turn, contract_id in enumerate(claimed):
        owner = workers[contracts.index(contract_id) % len(workers)]
        done("claim_task", owner, board_id=board_id, task_id=contract_id, lease_seconds=LEASE_SECONDS)
        if turn < 2:
            blocked: dict[str, Any] = {"summary": "The second camera does not answer.", "stop_condition_id": "stop-1"}
            done("open_blocker", owner, board_id=board_id, contract_id=contract_id, **blocked)
    return claimed


def _deliver() -> None:
    """What the sessions and the person were sent reaches them, as in the first moments of a server."""
    from boards import delivery

    while delivery.attempt_once():
        pass
