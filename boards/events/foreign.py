"""Events of what comes in through the board folder: said by somebody, proven by nobody."""

from __future__ import annotations

from typing import Literal

from boards.events.base import EventData


class BoardAdopted(EventData, name="board.adopted", entity=("board", "board_id")):
    """A person took over a board that another program made, or a folder whose database was lost."""

    board_id: str
    source: Literal["agintiflow", "import"]
    stated_creator: str = ""
    restored: int = 0
    """Events that were restored from the folder."""


class MessageAnswered(EventData, name="message.answered"):
    """A line of the folder calls itself the answer of this recipient; nobody has verified that."""

    message_id: str
    node_id: str
    answer_id: str
