"""Asking a peer for its status, and summarising a session for its peers: facts from events, never raw messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from boards.commands import execute
from boards.models import Blocker, Evidence, Node
from boards.people import is_member
from boards.proof import cleaner
from boards.schemas import Actor, Receipt, SendMessage, SummarizeSession
from boards.times import iso
from evidence.summary import Line, Summary, SummaryFacts
from evidence.summary import summarize as summary_of
from peers import queries as peers
from peers.adapters import adapter

STATUS_QUESTION: Final = "Please report your status: what is done, what comes next, and what stands in the way."
NO_SUMMARY: Final = "no_session"


def request_status(actor: Actor, *, board_id: str, node: str, key: str | None = None) -> Receipt:
    """Sends a ``status_request``; the answer is the peer's own."""
    wish = {"boardId": board_id, "to": [node], "type": "status_request", "content": STATUS_QUESTION}
    return execute(SendMessage.model_validate(wish), actor, key=key)


def summarize(actor: Actor, *, board_id: str, node: str, key: str | None = None) -> Receipt:
    """Summarises a member's session and stores it on the board, each line with the event that it was read from."""
    who = _member(board_id, node)
    if who is None or not who.session_id:
        sentence = f"{node[:80]!r} is no member with a session on {board_id!r}; there is nothing to summarise."
        return Receipt("rejected", "summarize_session", NO_SUMMARY, sentence, board_id=board_id)
    summary = _summary(board_id, who)
    wish = {"boardId": board_id, "node": who.node_id, "summary": summary.as_json(), "text": as_text(summary)}
    return execute(SummarizeSession.model_validate(wish), actor, key=key)


def _member(board_id: str, ref: str) -> Node | None:
    node = (
        Node.objects.filter(node_id=ref).first() or Node.objects.filter(session_id=ref).exclude(session_id="").first()
    )
    if node is None:
        return None
    return node if is_member(board_id, node.node_id) else None


def _summary(board_id: str, who: Node) -> Summary:
    row, roots = peers.session(who.session_id), peers.roots(who.session_id)
    facts = SummaryFacts(
        node=who.node_id,
        role=who.role,
        status=row.status if row else "unknown",
        session_id=who.session_id,
        events=adapter(who.source).events(who.session_id) if row else (),
        project_root=Path(roots.project_root) if roots and roots.project_root else None,
        command_cwd=Path(roots.command_cwd) if roots and roots.command_cwd else None,
        evidence=tuple(_evidence(board_id, who.node_id)),
        blockers=tuple(_blockers(board_id, who.node_id)),
    )
    return summary_of(facts, cleaner(who.session_id))


def _evidence(board_id: str, node_id: str) -> list[str]:
    rows = Evidence.objects.filter(board_id=board_id, node_id=node_id).order_by("-created_at")
    return list(rows.values_list("evidence_id", flat=True)[:20])


def _blockers(board_id: str, node_id: str) -> list[Line]:
    rows = Blocker.objects.filter(board_id=board_id, opened_by=node_id, status="open").order_by("opened_at")
    return [Line(row.summary, "agentlink.blocker.opened", iso(row.opened_at)) for row in rows]


def as_text(summary: Summary) -> str:
    """The same facts as plain lines, for people and for pages."""
    shape: dict[str, Any] = summary.as_json()
    lines = [f"node: {summary.node}", f"role: {summary.role or 'not given'}", f"status: {summary.status}"]
    lines += [f"objective: {summary.objective.text}"] if summary.objective else []
    for title, name in (("done", "done"), ("next", "next"), ("blocker", "blockers"), ("file", "filesChanged")):
        lines += [
            f"{title}: {line['text']} ({line['event']['type']} {line['event']['timestamp']})" for line in shape[name]
        ]
    lines += [f"evidence: {evidence_id}" for evidence_id in summary.evidence]
    lines += [f"{summary.left_out} further lines did not fit."] if summary.left_out else []
    return "\n".join(lines)
