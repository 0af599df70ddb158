"""The JSON answers of the machine edges: the home, boards and what is on them, the inbox, what waits, the log.

Who asks matters: agents read only boards that they are members of, the local human reads all. Reads take no lock; a
board's ``sourceRevision`` is read first, so an answer may hold something newer than it says, never something older.
Every list is a page (:mod:`boards.queries.answers.lists`), however much there is.
"""

from __future__ import annotations

from boards.queries.answers.access import PAGE, BadCursor, Json, Page, readable, readable_board
from boards.queries.answers.boards import LISTS, board, board_list, boards, counts
from boards.queries.answers.home import peers, status
from boards.queries.answers.inbox import inbox
from boards.queries.answers.lists import listed
from boards.queries.answers.log import events, events_everywhere
from boards.queries.answers.messages import messages
from boards.queries.answers.things import shown, thing
from boards.queries.answers.waiting import needs
from boards.queries.answers.work import gate

__all__ = [
    "LISTS",
    "PAGE",
    "BadCursor",
    "Json",
    "Page",
    "board",
    "board_list",
    "boards",
    "counts",
    "events",
    "events_everywhere",
    "gate",
    "inbox",
    "listed",
    "messages",
    "needs",
    "peers",
    "readable",
    "readable_board",
    "shown",
    "status",
    "thing",
]
