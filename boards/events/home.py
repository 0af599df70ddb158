"""Events of the home stream: identities, discoveries and nodes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from boards.events.base import EventData


class IdentityCreated(EventData, name="identity.created", home=True, entity=("node", "node_id")):
    """The human or the service node of this home."""

    node_id: str
    kind: Literal["human", "service"]
    name: str


class PeerDiscovered(EventData, name="peer.discovered", home=True):
    """A session was found in a store for the first time."""

    session_id: str
    source: str
    title: str
    project_name: str = ""


class PeerRegistered(EventData, name="peer.registered", home=True, entity=("node", "node_id")):
    """A node exists from now on."""

    node_id: str
    name: str
    kind: Literal["agent", "human", "service"] = "agent"
    session_id: str = ""
    source: str = ""
    role: str = ""
    capabilities: list[str] = Field(default_factory=list)
    constraints: list[str] = Field(default_factory=list)
    trust: str = "same-user-local"
    project_name: str = ""
    project_key: str = ""


class PeerUpdated(EventData, name="peer.updated", home=True, entity=("node", "node_id")):
    """What a node says of itself, whole."""

    node_id: str
    name: str
    role: str
    capabilities: list[str]
    constraints: list[str]
