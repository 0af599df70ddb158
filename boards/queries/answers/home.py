"""The home in one look, and who is there."""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings
from django.db.models import Exists, F, OuterRef, QuerySet

from boards import log
from boards.models import Node
from boards.queries.answers.access import Json, Page, readable
from boards.queries.answers.lists import counted, dated, offset
from boards.queries.answers.waiting import count
from boards.queries.reach import reach_by
from boards.schemas import Actor
from boards.times import iso, now
from peers import queries as peer_queries
from peers.adapters.base import Reach
from peers.models import Session


def status(actor: Actor, version: str) -> Json:
    """The home in one look: who asks, the mode, how many of what, how old the sight of the sessions is."""
    fresh = peer_queries.freshness()
    return dated(
        {
            "product": "agentlink",
            "version": version,
            "mode": settings.AGENTLINK.mode or "local",
            "nodeId": actor.node_id,
            "surface": actor.surface,
            "counts": {
                "boards": readable(actor).filter(status="active").count(),
                "peers": Session.objects.filter(present=True).count(),
                "needsYou": count(actor, now()),
            },
            "scannedAt": iso(fresh.scanned_at) if fresh.scanned_at else None,
            "problems": fresh.problems,
            "position": log.last_position(),
        }
    )


# --- peers -----------------------------------------------------------------------------------------------------------


def peers(page: Page) -> Json:
    """Who is there: nodes without a session here first, then sessions by latest activity."""
    alone, sessions = _alone(), _sessions()
    start, nodes_alone = offset("peers", page), alone.count()
    end = start + page.limit
    nodes = list(alone[start:end])
    rows = list(sessions.defer("details", "life")[max(0, start - nodes_alone) : max(0, end - nodes_alone)])
    bound = sessions_of(nodes)
    items = [_node_peer(node, reach_by(node, bound.get(node.session_id))) for node in nodes]
    by_session = {(node.source, node.session_id): node for node in _nodes_of(rows)}
    items += [_session_peer(row, by_session.get((row.source, row.session_id))) for row in rows]
    return dated(counted("peers", items, nodes_alone + sessions.count(), page))


def _sessions() -> QuerySet[Session]:
    return Session.objects.filter(present=True).order_by(F("last_activity_at").desc(nulls_last=True), "key")


def _alone() -> QuerySet[Node]:
    """People, mailboxes, and nodes whose session is gone."""
    there = Session.objects.filter(present=True, source=OuterRef("source"), session_id=OuterRef("session_id"))
    return Node.objects.exclude(kind="service").exclude(Exists(there)).order_by("name_key")


def _nodes_of(rows: list[Session]) -> QuerySet[Node]:
    return Node.objects.filter(session_id__in=[row.session_id for row in rows])


def sessions_of(nodes: Iterable[Node]) -> dict[str, Session]:
    """The sessions that nodes are bound to, gone ones too, by session id: for each id the one that is there."""
    ids = {node.session_id for node in nodes if node.session_id}
    rows = Session.objects.filter(session_id__in=ids).order_by("present", "-key").defer("details", "life")
    return {row.session_id: row for row in rows}


def _session_peer(row: Session, node: Node | None) -> Json:
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
        "reach": reach(reach_by(None, row)),
        "problems": row.problems,
    }


def _node_peer(node: Node, how: Reach) -> Json:
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
        "reach": reach(how),
    }


def reach(how: Reach) -> Json:
    """How somebody is reached, in JSON."""
    return {"kind": how.kind, "sentence": how.sentence, "resumeCommand": how.resume_command}
