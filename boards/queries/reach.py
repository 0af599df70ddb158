"""How a peer is reached, known before anything is sent."""

from __future__ import annotations

from boards.models import Node
from peers import queries as peers
from peers.adapters.base import Reach


def reach_of(ref: Node | str) -> Reach:
    """How a message reaches a node (or a session by its id), before anything is sent."""
    if isinstance(ref, Node) and ref.kind == "human":
        return Reach("push", False, 200_000, "reads it in this panel", None)
    session_id = ref.session_id if isinstance(ref, Node) else ref
    if not session_id:
        return Reach("pull", False, 200_000, "waits until it asks for its messages", None)
    row = peers.session(session_id)
    if row is None:
        return Reach("none", False, 0, "no such session is on this machine", None)
    shape = row.reach
    return Reach(
        shape.get("kind", "none"),
        bool(shape.get("wakesIdle")),
        int(shape.get("maxBytes", 0)),
        str(shape.get("sentence", "not known yet")),
        shape.get("resumeCommand"),
    )
