"""Events of a board and its members."""

from __future__ import annotations

from typing import Any, Literal

from boards.events.base import EventData


class BoardCreated(EventData, name="board.created", entity=("board", "board_id")):
    """A board for one objective."""

    board_id: str
    title: str
    objective: str
    link_id: str
    trust: str
    creator_role: str
    project_name: str = ""
    project_key: str = ""


class BoardUpdated(EventData, name="board.updated", entity=("board", "board_id")):
    """Title and objective, whole."""

    board_id: str
    title: str
    objective: str


class BoardInvited(EventData, name="board.invited"):
    """A node has a role from now on."""

    node_id: str
    role: str


class BoardJoined(EventData, name="board.joined"):
    """The node said that it is there."""

    node_id: str


class BoardLeft(EventData, name="board.left"):
    """The node is no member any more."""

    node_id: str


class BoardClosed(EventData, name="board.closed", entity=("board", "board_id")):
    """The gate let the board close; the report is part of the event."""

    board_id: str
    final_status: Literal["completed", "finished_blocked", "empty"]
    report: dict[str, Any]
    note: str = ""
