"""The JSON answers of the machine edges: status, peers, boards, one board, its events, its gate, one thing.

Who asks matters: agents read only boards that they are members of, the local human reads all. Reads take no lock; a
board's ``sourceRevision`` is read first, so an answer may hold something newer than it says, never something older.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeVar

from django.conf import settings
from django.db.models import F, Model, Q

from boards import log, shapes, words
from boards.models import Blocker, Board, Contract, Delivery, Event, Evidence, Member, Message, Node, Summary, Task
from boards.people import is_member, members, memberships
from boards.queries.needs import needs
from boards.rows import fetch
from boards.rules import gate as gates
from boards.rules.world import Refused, World, unknown
from boards.schemas import Actor
from boards.times import iso, now
from peers import queries as peer_queries
from peers.adapters.base import Reach
from peers.models import Session

Json = dict[str, Any]
M = TypeVar("M", bound=Model)
ReachOf = Callable[[Node | str], Reach]
"""How a message gets to a node, or to a session by its id; given by the edge, because delivery is above queries."""

PAGE: Final = 100
RUNNING: Final = ("accepted", "active", "blocked")
"""Contracts under which work goes on."""


class Page(NamedTuple):
    """Which part of a list: ``limit`` items from ``offset`` on (what a cursor holds)."""

    limit: int = PAGE
    offset: int = 0


# --- who may see what ------------------------------------------------------------------------------------------------


def readable(actor: Actor) -> Iterable[Board]:
    """The boards that this actor may read, latest change first."""
    rows = Board.objects.order_by("-updated_at", "board_id")
    if _is_human(actor):
        return rows
    mine = memberships().filter(node_id=actor.node_id).values("board_id")
    return rows.filter(board_id__in=mine)


def readable_board(board_id: str, actor: Actor) -> Board:
    """One board. Raises ``Refused``: ``unknown_board`` with the nearest names, or ``not_a_member``."""
    row = Board.objects.filter(board_id=board_id).first()
    if row is None:
        raise unknown("board", board_id, [board.board_id for board in readable(actor)])
    if not _is_human(actor) and not is_member(board_id, actor.node_id):
        sentence = f"{actor.node_id} is no member of the board {board_id!r}; its human or a supervisor can invite it."
        raise Refused("not_a_member", sentence)
    return row


def _is_human(actor: Actor) -> bool:
    return Node.objects.filter(node_id=actor.node_id, kind="human").exists()


# --- the home --------------------------------------------------------------------------------------------------------


def status(actor: Actor, version: str) -> Json:
    """The home in one look: who asks, the mode, how many of what, how old the sight of the sessions is."""
    fresh = peer_queries.freshness()
    visible = [board.board_id for board in readable(actor) if board.status == "active"]
    return {
        "product": "agentlink",
        "version": version,
        "mode": settings.AGENTLINK.mode or "local",
        "nodeId": actor.node_id,
        "surface": actor.surface,
        "counts": {
            "boards": len(visible),
            "peers": Session.objects.filter(present=True).count(),
            "needsYou": sum(1 for need in needs(now()) if need.board_id in visible),
        },
        "scannedAt": iso(fresh.scanned_at) if fresh.scanned_at else None,
        "problems": fresh.problems,
        "position": log.last_position(),
        "generatedAt": iso(now()),
    }


def peers(page: Page, reach_of: ReachOf) -> tuple[list[Json], bool]:
    """Who is there: nodes without a session first, then sessions by latest activity; and whether more follow."""
    nodes = {(node.source, node.session_id): node for node in Node.objects.exclude(kind="service").order_by("name_key")}
    sessions = Session.objects.filter(present=True).order_by(F("last_activity_at").desc(nulls_last=True), "key")
    known = set(sessions.values_list("source", "session_id"))
    alone = [node for key, node in nodes.items() if node.session_id and key not in known]
    alone += Node.objects.filter(session_id="").exclude(kind="service").order_by("name_key")
    end = page.offset + page.limit
    items = [_node_peer(node, reach_of(node)) for node in alone[page.offset : end]]
    start, stop = max(0, page.offset - len(alone)), max(0, end - len(alone))
    rows = list(sessions.defer("details", "life")[start:stop])
    items += [_session_peer(row, nodes.get((row.source, row.session_id)), reach_of(row.session_id)) for row in rows]
    return items, end < len(alone) + len(known)


def _session_peer(row: Session, node: Node | None, reach: Reach) -> Json:
    return {
        "nodeId": node.node_id if node else None,
        "name": node.name if node else row.title or row.session_id,
        "kind": "agent",
        "role": node.role if node else "",
        "trust": node.trust if node else "same-user-local",
        "sessionId": row.session_id,
        "source": row.source,
        "title": row.title,
        "goal": row.goal,
        "projectName": row.project_name,
        "provider": row.provider,
        "model": row.model,
        "status": row.status,
        "reason": row.reason,
        "result": row.result,
        "error": row.error,
        "lastActivityAt": iso(row.last_activity_at) if row.last_activity_at else None,
        "observedAt": iso(row.observed_at),
        "capabilities": node.capabilities if node else row.capabilities,
        "constraints": node.constraints if node else row.constraints,
        "reach": _reach(reach),
        "problems": row.problems,
    }


def _node_peer(node: Node, reach: Reach) -> Json:
    """A node without a session that is there: a person, a mailbox, or a session that is gone."""
    return {
        "nodeId": node.node_id,
        "name": node.name,
        "kind": node.kind,
        "role": node.role,
        "trust": node.trust,
        "sessionId": node.session_id or None,
        "source": node.source or None,
        "projectName": node.project_name,
        "status": "stopped" if node.session_id else "unknown",
        "reason": "its session is not on this machine any more" if node.session_id else "",
        "lastActivityAt": None,
        "capabilities": node.capabilities,
        "constraints": node.constraints,
        "reach": _reach(reach),
    }


def _reach(reach: Reach) -> Json:
    return {"kind": reach.kind, "sentence": reach.sentence, "resumeCommand": reach.resume_command}


# --- boards ----------------------------------------------------------------------------------------------------------


def boards(actor: Actor, page: Page, shared_with: Iterable[str] = ()) -> tuple[list[Json], bool]:
    """The boards that the actor may read, with counts; ``shared_with`` keeps the open ones where all of these are."""
    rows = list(readable(actor))
    for node_id in shared_with:
        there = set(memberships().filter(node_id=node_id).values_list("board_id", flat=True))
        rows = [row for row in rows if row.status == "active" and row.board_id in there]
    some = rows[page.offset : page.offset + page.limit]
    tallies = counts([row.board_id for row in some], now())
    items = [{**shapes.board(row), "counts": tallies[row.board_id]} for row in some]
    for item in items:
        del item["report"]
    return items, len(rows) > page.offset + page.limit


def counts(board_ids: list[str], at: datetime) -> dict[str, Json]:
    """``unclaimed`` open tasks that may be claimed, ``blocked`` open blockers, ``needsYou``, ``unverified`` bundles."""
    running = Contract.objects.filter(board_id__in=board_ids, status__in=RUNNING).values("contract_id")
    tallies = {
        "unclaimed": _tally(Task, board_ids, Q(status="open", contract_id__in=running)),
        "blocked": _tally(Blocker, board_ids, Q(status="open")),
        "needsYou": Counter(need.board_id for need in needs(at, board_ids[0] if len(board_ids) == 1 else None)),
        "unverified": _tally(Evidence, board_ids, Q(verdict="unverified")),
    }
    return {board_id: {name: tally[board_id] for name, tally in tallies.items()} for board_id in board_ids}


def _tally(model: type[Model], board_ids: list[str], which: Q) -> Counter[str]:
    return Counter(model._default_manager.filter(which, board_id__in=board_ids).values_list("board_id", flat=True))


def board(board_id: str, actor: Actor, reach_of: ReachOf, *, limit: int = PAGE) -> Json:
    """One board whole; of messages, evidence and blockers the last ``limit``, oldest first."""
    head = readable_board(board_id, actor)
    at = now()
    messages, older_messages = _last(Message, board_id, "position", limit)
    evidence, older_evidence = _last(Evidence, board_id, "created_at", limit)
    blockers, older_blockers = _last(Blocker, board_id, "opened_at", limit)
    tasks = list(Task.objects.filter(board_id=board_id).order_by("contract_id", "task_id"))
    return {
        **shapes.board(head),
        "generatedAt": iso(at),
        "counts": counts([board_id], at)[board_id],
        "members": _members(board_id, reach_of),
        "contracts": contracts(board_id, tasks),
        "tasks": [shapes.task(task) for task in tasks],
        "blockers": [shapes.body(row) for row in blockers],
        "messages": with_deliveries(messages),
        "evidence": [shapes.body(row) for row in evidence],
        "summaries": [shapes.body(row) for row in Summary.objects.filter(board_id=board_id).order_by("node_id")],
        "older": {"messages": older_messages, "evidence": older_evidence, "blockers": older_blockers},
    }


def _last(model: type[M], board_id: str, column: str, limit: int) -> tuple[list[M], int]:
    """The last rows in the order of a column, and how many there are before them."""
    rows = model._default_manager.filter(board_id=board_id)
    newest = list(rows.order_by(f"-{column}", "-pk")[:limit])
    return newest[::-1], max(0, rows.count() - len(newest))


def _members(board_id: str, reach_of: ReachOf) -> list[Json]:
    rows = members(board_id).order_by("node_id")
    nodes = Node.objects.in_bulk([row.node_id for row in rows])
    return [_membership(row, nodes[row.node_id], reach_of(nodes[row.node_id])) for row in rows]


def _membership(row: Member, node: Node, reach: Reach) -> Json:
    session = peer_queries.session(node.session_id, node.source) if node.session_id else None
    return {
        **shapes.body(row),
        "name": node.name,
        "kind": node.kind,
        "sessionId": node.session_id or None,
        "source": node.source or None,
        "trust": node.trust,
        "status": session.status if session else "unknown",
        "reason": session.reason if session else "",
        "lastActivityAt": iso(session.last_activity_at) if session and session.last_activity_at else None,
        "reach": _reach(reach),
    }


def contracts(board_id: str, tasks: list[Task]) -> list[Json]:
    """Every contract of a board with its ``actionability`` and what its gate still misses."""
    rows = Contract.objects.filter(board_id=board_id).order_by("created_at", "contract_id")
    return [contract(row, [task for task in tasks if task.contract_id == row.contract_id]) for row in rows]


def contract(row: Contract, tasks: list[Task]) -> Json:
    """A contract, what can be done with it now, whom it waits for, and what its gate still misses."""
    verdict = gates.contract_gate(_world(), row) if row.status in RUNNING else gates.Gate()
    waiting = [node for node in row.owners if node not in row.accepted_by] if row.status == "proposed" else []
    return {
        **shapes.body(row),
        "actionability": _actionability(row, tasks, verdict),
        "waitingFor": waiting,
        "missing": [item.body() for item in verdict.missing],
    }


_BY_STATUS: Final = {
    "proposed": "needs_acceptance",
    "blocked": "blocked",
    "done": "done",
    "rejected": "closed",
    "withdrawn": "closed",
}
"""Where the status alone says what can be done."""


def _actionability(row: Contract, tasks: list[Task], verdict: gates.Gate) -> str:
    """``needs_acceptance unclaimed claimed completable blocked done closed``."""
    if row.status in _BY_STATUS:
        return _BY_STATUS[row.status]
    if any(item.category == "blocker_from_peer" for item in verdict.missing):
        return "blocked"
    if any(task.status == "open" for task in tasks):
        return "unclaimed"
    return "completable" if verdict.ready else "claimed"


def with_deliveries(rows: list[Message]) -> list[Json]:
    """Messages with each recipient's steps."""
    copies: dict[str, list[Delivery]] = {row.message_id: [] for row in rows}
    for copy in Delivery.objects.filter(message_id__in=list(copies)).order_by("key"):
        copies[copy.message_id].append(copy)
    return [shapes.message(row, copies[row.message_id]) for row in rows]


def events(board_id: str, actor: Actor, *, after: int, limit: int) -> Json:
    """The board's events after a revision, oldest first; ``nextAfter`` is null when these are all."""
    head = readable_board(board_id, actor)
    rows = list(Event.objects.filter(stream=board_id, revision__gt=after).order_by("revision")[: limit + 1])
    more, rows = len(rows) > limit, rows[:limit]
    return {
        "boardId": board_id,
        "sourceRevision": head.head,
        "events": [log.body(row) for row in rows],
        "nextAfter": rows[-1].revision if more else None,
        "generatedAt": iso(now()),
    }


def gate(board_id: str, actor: Actor) -> Json:
    """What is still missing before the board may be closed: state ``ready``, ``blocked`` or ``not_ready``."""
    head = readable_board(board_id, actor)
    if head.status == "closed":
        state = "blocked" if head.final_status == "finished_blocked" else "ready"
        verdict: Json = {"state": state, "finalStatus": head.final_status, "missing": [], "standingIn": []}
    else:
        verdict = gates.board_gate(_world(), board_id).body()
    return {
        "boardId": board_id,
        "status": head.status,
        **verdict,
        "sourceRevision": head.head,
        "generatedAt": iso(now()),
    }


def _world() -> World:
    """The store as the gate's rules look at it: rows only, nothing is made and nobody is looked for."""
    return World(now(), Actor(words.SERVICE_NODE, "timer"), fetch, str, lambda _: None, tuple)


# --- one thing -------------------------------------------------------------------------------------------------------


def _shown_contract(row: Contract) -> Json:
    return contract(row, list(Task.objects.filter(contract_id=row.contract_id)))


def _shown_message(row: Message) -> Json:
    return with_deliveries([row])[0]


SHOWN: Final[dict[str, Callable[[Any], Json]]] = {
    "board": shapes.board,
    "task": shapes.task,
    "contract": _shown_contract,
    "message": _shown_message,
}
"""How one thing of a kind is shown, where its columns alone are not enough."""


def thing(kind: str, thing_id: str, actor: Actor) -> Json:
    """A contract, task, message, evidence bundle or blocker by its id; it says its board, which the actor must read."""
    row: Any = shapes.find(kind, thing_id)
    if row is None:
        model, column = shapes.ENTITIES[kind]
        boards_of = [board.board_id for board in readable(actor)]
        known = model._default_manager.filter(board_id__in=boards_of).values_list(column, flat=True)
        raise unknown(kind, thing_id, known)
    head = readable_board(row.board_id, actor)
    return {**shown(kind, row), "sourceRevision": head.head, "generatedAt": iso(now())}


def shown(kind: str, row: Any) -> Json:
    """One row in the form that answers and success bodies give it."""
    show: Callable[[Any], Json] = SHOWN.get(kind, shapes.body)
    return show(row)
