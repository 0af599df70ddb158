"""View models: what each page and region shows, read from the rows; the templates only lay it out.

``at`` is the present of a page, in steps of :data:`STEP`: a region that is fetched again within a step is the same.
"""

from __future__ import annotations

from boards.queries.pages.board import BoardHead, Composer, Tab, board_head, composer, tabs
from boards.queries.pages.contracts import contract_lanes
from boards.queries.pages.evidence import blocker_cards, evidence_cards, ownership
from boards.queries.pages.home import BoardLine, Collaborator, Listed, boards_list, collaborators, found_sessions
from boards.queries.pages.messages import MessageCard, message_cards, message_list, older_messages
from boards.queries.pages.needs import home_needs, need_cards
from boards.queries.pages.snapshot import STEP, Snapshot, present

__all__ = [
    "STEP",
    "BoardHead",
    "BoardLine",
    "Collaborator",
    "Composer",
    "Listed",
    "MessageCard",
    "Snapshot",
    "Tab",
    "blocker_cards",
    "board_head",
    "boards_list",
    "collaborators",
    "composer",
    "contract_lanes",
    "evidence_cards",
    "found_sessions",
    "home_needs",
    "message_cards",
    "message_list",
    "need_cards",
    "older_messages",
    "ownership",
    "present",
    "tabs",
]
