"""Commands on boards and their members."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from boards import words
from boards.schemas.base import BoardCommand, Command, Id, Ref, Text, Title


class CreateBoard(Command, kind="create_board", entity=("board", "board_id")):
    """Makes a board; each member named is invited as a worker (or with the role given)."""

    title: Title
    objective: Text = ""
    board_id: Id | None = None
    members: dict[Ref, words.Role] = Field(default_factory=dict, max_length=words.LIST_LIMIT)


class UpdateBoard(BoardCommand, kind="update_board", entity=("board", "board_id")):
    """Changes title or objective."""

    title: Title | None = None
    objective: Text | None = None


class Invite(BoardCommand, kind="invite"):
    """Gives a node (or a discovered session) a role on the board."""

    node: Ref
    role: Literal["observer", "worker", "supervisor"] = "worker"


class JoinBoard(BoardCommand, kind="join_board"):
    """An invited node says that it is there."""


class LeaveBoard(BoardCommand, kind="leave_board"):
    """A member leaves; what it holds must be released first."""


class CloseBoard(BoardCommand, kind="close_board", entity=("board", "board_id"), controlled=True):
    """Asks the gate and, when nothing is missing, stores the final report."""

    note: Text = ""
