"""Who is at home, and who takes part in a board."""

from __future__ import annotations

from django.db.models import QuerySet

from boards.models import Member, Node


def human_node_id() -> str:
    """The node of the person whose home this is."""
    return Node.objects.values_list("node_id", flat=True).get(kind="human")


def memberships() -> QuerySet[Member]:
    """Everybody's part in every board, without those who left."""
    return Member.objects.exclude(state="left")


def members(board_id: str) -> QuerySet[Member]:
    """Who takes part in a board: invited or joined, and not gone."""
    return memberships().filter(board_id=board_id)


def is_member(board_id: str, node_id: str) -> bool:
    """Whether the node takes part in the board."""
    return members(board_id).filter(node_id=node_id).exists()
