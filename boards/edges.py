"""What every edge does the same: from a request to who acts, and from an outcome to an HTTP status."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest

from boards.models import Node
from boards.people import human_node_id
from boards.schemas import Actor, Outcome

STATUS: Final[dict[Outcome, int]] = {
    "applied": 200,
    "already_applied": 200,
    "conflict": 409,
    "rejected": 422,
    "failed": 503,
}
"""Each outcome's HTTP status; the API is finer about what was made and about some refusals."""


def actor_of(request: HttpRequest) -> Actor:
    """Who acts: the guard in front has proved it. Raises ``PermissionError`` when the guard put none there."""
    known: dict[str, Any] | None = getattr(request, "actor", None)
    if known is None:
        raise PermissionError("The request has no actor; it did not come through the guard.")
    return actor_from(known)


def actor_from(known: dict[str, Any]) -> Actor:
    """The guard's finding as an actor: nobody named means the person at this machine."""
    node_id = known.get("node_id") or human_node_id()
    surface = known["surface"]
    node = Node.objects.filter(node_id=node_id).only("session_id").first()
    return Actor(node_id, surface, session_id=node.session_id if node else "")
