"""How a peer is reached, known before anything is sent."""

from __future__ import annotations

from boards.models import Node
from peers import queries as peers
from peers.adapters.base import Reach
from peers.models import Session


def reach_of(ref: Node | str) -> Reach:
    """How a message reaches a node (or a session by its id), before anything is sent."""
    node = ref if isinstance(ref, Node) else None
    session_id = node.session_id if node else str(ref)
    return reach_by(node, peers.session(session_id) if session_id else None)


def reach_by(node: Node | None, session: Session | None) -> Reach:
    """The same for a node whose session was looked up already; without a node, how the session is reached."""
    if node is not None and node.kind == "human":
        return Reach("push", False, 200_000, "reads it in this panel", None)
    if node is not None and not node.session_id:
        return Reach("pull", False, 200_000, "waits until it asks for its messages", None)
    if session is None:
        return Reach("none", False, 0, "no such session is on this machine", None)
    shape = session.reach
    return Reach(
        shape.get("kind", "none"),
        bool(shape.get("wakesIdle")),
        int(shape.get("maxBytes", 0)),
        str(shape.get("sentence", "not known yet")),
        shape.get("resumeCommand"),
    )
