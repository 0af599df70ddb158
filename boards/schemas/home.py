"""Commands of the home stream."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from boards import words
from boards.schemas.base import BoardId, Command, FullText, Id, Ref, Text, Texts, Title


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


class ErasePayload(Command, kind="erase_payload"):
    """Takes the texts out of events of one stream (a board's, or the home's).

    Ids stay, also those that were made from a title. What left AgentLink, such as a session's inbox, is not reached.
    """

    board_id: BoardId | None = None
    event_ids: Annotated[list[Ref], Field(min_length=1, max_length=words.LIST_LIMIT)]
    reason: FullText
