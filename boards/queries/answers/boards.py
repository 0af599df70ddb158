"""Boards and what is on them: heads with counts, one board with the first page of each of its lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, Model, Q

from boards import shapes
from boards.models import Blocker, Board, Contract, Evidence, Member, Message, Node, Summary, Task
from boards.people import memberships
from boards.queries.answers.access import PAGE, Json, Page, readable, readable_board
from boards.queries.answers.home import reach, sessions_of
from boards.queries.answers.lists import Listing, dated, ranks
from boards.queries.answers.messages import newest
from boards.queries.answers.work import RUNNING, contracts
from boards.queries.needs import needs
from boards.queries.reach import reach_by
from boards.schemas import Actor
from boards.times import iso, now
from peers.models import Session

OPEN_CONTRACTS: Final = ("proposed", *RUNNING)


def _heads(rows: list[Board]) -> list[Json]:
    """Boards as a list shows them: with counts, without the long report."""
    tallies = counts([row.board_id for row in rows], now())
    items = [{**shapes.board(row), "counts": tallies[row.board_id]} for row in rows]
    for item in items:
        del item["report"]
    return items


def _without_report(keys: list[Any]) -> Iterable[Board]:
    rows = list(Board.objects.filter(pk__in=keys).defer("report"))
    for row in rows:
        row.report = None
    return rows


BOARDS: Final = Listing("boards", Board, "updated_at", _heads, load=_without_report)


def boards(actor: Actor, page: Page, shared_with: Iterable[str] = ()) -> Json:
    """The boards that the actor may read, with counts; ``shared_with`` keeps the open ones where all of these are."""
    rows = readable(actor)
    for node_id in shared_with:
        rows = rows.filter(status="active", board_id__in=memberships().filter(node_id=node_id).values("board_id"))
    return dated(BOARDS.page(rows, page))


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
    rows = model._default_manager.filter(which, board_id__in=board_ids).order_by().values_list("board_id")
    return Counter(dict(rows.annotate(Count("pk"))))


# --- what is on a board ----------------------------------------------------------------------------------------------


def _members(rows: list[Member]) -> list[Json]:
    nodes = Node.objects.in_bulk([row.node_id for row in rows])
    sessions = sessions_of(nodes.values())
    return [_membership(row, nodes[row.node_id], sessions.get(nodes[row.node_id].session_id)) for row in rows]


def _membership(row: Member, node: Node, session: Session | None) -> Json:
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
        "reach": reach(reach_by(node, session)),
    }


def _bodies(rows: list[Any]) -> list[Json]:
    return [shapes.body(row) for row in rows]


def _tasks(rows: list[Task]) -> list[Json]:
    return [shapes.task(row) for row in rows]


LISTS: Final[dict[str, Listing[Any]]] = {
    found.name: found
    for found in (
        Listing("members", Member, "node_id", _members, ascending=True),
        Listing("contracts", Contract, "created_at", contracts, rank=ranks(Q(status__in=OPEN_CONTRACTS))),
        Listing("tasks", Task, "task_id", _tasks, rank=ranks(~Q(status="done")), ascending=True),
        Listing("blockers", Blocker, "opened_at", _bodies, rank=ranks(Q(status="open"))),
        Listing("evidence", Evidence, "created_at", _bodies),
        Listing("summaries", Summary, "created_at", _bodies),
    )
}
"""What a board holds besides its messages, by the name of its route: what is still open first, then newest first."""


def _rows(listing: Listing[Any], board_id: str) -> Any:
    rows = listing.model._default_manager.filter(board_id=board_id)
    return rows.exclude(state="left") if listing.model is Member else rows


def board_list(name: str, board_id: str, actor: Actor, page: Page) -> Json:
    """One page of what a board holds."""
    head = readable_board(board_id, actor)
    found = LISTS[name].page(_rows(LISTS[name], board_id), page)
    return dated({"boardId": board_id, "sourceRevision": head.head, **found})


def board(board_id: str, actor: Actor, *, limit: int = PAGE) -> Json:
    """One board with the first page of each of its lists, and its last messages, oldest first.

    ``older`` counts what is not shown of each list; ``next`` is the cursor that its own route goes on with (for
    messages: ``before``).
    """
    head = readable_board(board_id, actor)
    at = now()
    shown, following = _first_pages(board_id, limit)
    return {
        **shapes.board(head),
        "generatedAt": iso(at),
        "counts": counts([board_id], at)[board_id],
        **shown,
        "older": {name: _total(name, board_id) - len(items) for name, items in shown.items()},
        "next": following,
    }


def _first_pages(board_id: str, limit: int) -> tuple[dict[str, list[Json]], dict[str, str | None]]:
    """Each list's items by its name, and what goes on behind them."""
    pages = {name: listing.page(_rows(listing, board_id), Page(limit)) for name, listing in LISTS.items()}
    shown = {name: page[name] for name, page in pages.items()}
    following = {name: page["nextCursor"] for name, page in pages.items()}
    shown["messages"], following["messages"] = newest(board_id, limit)
    return shown, following


def _total(name: str, board_id: str) -> int:
    if name == "messages":
        return Message.objects.filter(board_id=board_id).count()
    total: int = _rows(LISTS[name], board_id).count()
    return total
