"""Commands on what comes in through the board folder: lines that another program wrote, said by somebody unproven."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from boards import words
from boards.schemas.base import BoardCommand, BoardId, Command, FilePointer, FullText, Id, Text, Title

Stated = Annotated[str, Field(max_length=200)]
"""Who or what somebody says it is; shown as said, never used to act."""


class AdoptBoard(Command, kind="adopt_board", entity=("board", "board_id")):
    """Takes over a board that another program made in the folder; its lines come in as untrusted ones."""

    board_id: BoardId
    title: Title
    objective: Text = ""
    stated_creator: Stated = ""


class TakeMessage(BoardCommand, kind="take_message"):
    """A foreign line of messages.jsonl."""

    message_id: Id
    type: words.MessageType
    content: FullText
    priority: words.Priority = "normal"
    stated_sender: Stated = ""
    stated_to: Stated = ""
    stated_kind: Stated = ""
    stated_at: Stated = ""


class TakeEvidence(BoardCommand, kind="take_evidence"):
    """A foreign line of evidence.jsonl about a contract of this board."""

    evidence_id: Id
    contract_id: Id
    kind_of: str = Field(max_length=40, alias="evidenceKind")
    summary: FullText
    artifacts: list[FilePointer] = Field(default_factory=list, max_length=1)
    url: str = Field(default="", max_length=2000)
    stated_sender: Stated = ""


class TakeContract(BoardCommand, kind="take_contract"):
    """A foreign file of contracts/: a proposal when its contract is new, else what somebody claims about it."""

    contract_id: Id
    message_id: Id
    title: FullText
    instructions: Text = ""
    stated_owner: Stated = ""
    stated_status: Stated = ""
