"""From a request to who acts: the guard in front has proved it, this turns it into an actor."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from boards.models import Node
from boards.people import human_node_id
from boards.schemas import Actor


def actor_of(request: HttpRequest) -> Actor:
    """The actor of a guarded request. Raises ``PermissionError`` when the guard put none there."""
    known: dict[str, Any] | None = getattr(request, "actor", None)
    if known is None:
        raise PermissionError("The request has no actor; it did not come through the guard.")
    return actor_from(known)


def actor_from(known: dict[str, Any]) -> Actor:
    """The guard's finding as an actor: nobody named means the person at this machine."""
    node_id = known.get("node_id") or human_node_id()
    surface = known["surface"]
    node = Node.objects.filter(node_id=node_id).only("session_id").first()
    return Actor(node_id, surface, panel=surface == "panel", session_id=node.session_id if node else "")
