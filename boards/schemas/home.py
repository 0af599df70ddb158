"""Commands of the home stream."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from boards.schemas.base import Command, Id, Text, Texts, Title


class CreateIdentity(Command, kind="create_identity"):
    """First start only: makes the human node and the service node."""

    node_id: Id
    name: Title
    node_kind: Literal["human", "service"]


class DiscoverPeers(Command, kind="discover_peers"):
    """The scanner's finding: sessions seen for the first time."""

    sessions: list[dict[str, str]]


class RegisterNode(Command, kind="register_node", entity=("node", "node_id")):
    """Makes a durable mailbox with a name, bound to a session when one is named."""

    name: Title
    node_id: Id | None = None
    session_id: str = Field(default="", max_length=200)
    source: str = Field(default="", pattern=r"^[a-z0-9_]{0,40}$")
    role: Text = ""
    capabilities: Texts = Field(default_factory=list)
    constraints: Texts = Field(default_factory=list)


class UpdateNode(Command, kind="update_node", entity=("node", "node_id")):
    """Changes what a node says of itself; what is left out stays."""

    node_id: Id
    name: Title | None = None
    role: Text | None = None
    capabilities: Texts | None = None
    constraints: Texts | None = None
