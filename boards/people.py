"""Who is at home: the one human node."""

from __future__ import annotations

from boards.models import Node


def human_node_id() -> str:
    """The node of the person whose home this is."""
    return Node.objects.values_list("node_id", flat=True).get(kind="human")
