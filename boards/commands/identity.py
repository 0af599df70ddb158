"""First start: one human node and one service node."""

from __future__ import annotations

import getpass

from boards import words
from boards.commands.execution import execute, service
from boards.models import Node
from boards.people import human_node_id
from boards.rules.world import slug
from boards.schemas import CreateIdentity


def ensure_identity() -> str:
    """Makes this home's human and service nodes once; returns the human's node id."""
    human = Node.objects.filter(kind="human").values_list("node_id", flat=True).first()
    if human is not None and Node.objects.filter(kind="service").exists():
        return human
    service_node = CreateIdentity(node_id=words.SERVICE_NODE, name="AgentLink", node_kind="service")
    execute(service_node, service())
    if human is None:
        name = _user()
        execute(CreateIdentity(node_id=name, name=name, node_kind="human"), service())
    return human_node_id()


def _user() -> str:
    try:
        name = slug(getpass.getuser(), "human")
    except (OSError, KeyError):  # no passwd entry for this uid, as in some containers
        name = "human"
    return f"{name}-human" if name == words.SERVICE_NODE else name
