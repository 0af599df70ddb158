"""Foreign lines and files become commands: untrusted, redacted, once each. What cannot be taken in is reported."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, get_args

from pydantic import ValidationError

from boards import proof, words
from boards.commands import execute, service
from boards.digests import canonical, sha256
from boards.folder.places import EVENTS, EVIDENCE, MESSAGES
from boards.models import Contract, Evidence, Message
from boards.schemas import BoardCommand, Receipt, TakeContract, TakeEvidence, TakeMessage
from boards.schemas.sentences import sentence_of
from evidence.redaction import redact

TYPES: Final = frozenset(get_args(words.MessageType))
KINDS: Final[dict[str, str]] = {"request": "task_request", "evidence": "evidence_attached", "blocker": "task_blocked"}
"""AgInTiFlow's kinds are free words; one that is no type of ours is told beside the message."""
OTHER_KIND: Final = "task_update"
LATER: Final = frozenset({"board_closed", "board_full"})
"""Refusals that hold a line back: it stays in its file and is taken in when it can be."""
SPACE: Final = uuid.UUID("9a2f5f0e-1f64-5d0a-8a3e-6d2f6c0b7e11")
"""Ids that we make for foreign things are made of their own, so that a second reading makes the same."""

Json = dict[str, Any]


class NotNow(Exception):
    """The line cannot be taken in now; it stays where it is. The sentence says why, empty for the store's trouble."""

    def __init__(self, sentence: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a foreign thing; ``problem`` says why it was left out."""

    new: bool = False
    problem: str = ""


def take_line(board_id: str, name: str, record: Json) -> Taken:
    """One foreign line of one of the three files. Raises :class:`NotNow`."""
    return LINES[name](board_id, record)


def _message(board_id: str, record: Json) -> Taken:
    foreign_id, content = _text(record, "messageId"), _text(record, "content")
    if not foreign_id or not content.strip():
        return Taken(problem="has no messageId or no content")
    kind = _text(record, "kind")
    wish = {
        "boardId": board_id,
        "messageId": own_id(Message, board_id, foreign_id, "msg-"),
        "type": kind if kind in TYPES else KINDS.get(kind, OTHER_KIND),
        "content": content,
        "priority": "asap" if record.get("priority") == "asap" else "normal",
        "statedSender": _stated(record, "fromSessionId", "fromNodeId"),
        "statedTo": _stated(record, "toSessionId", "toNodeId"),
        "statedKind": "" if kind in TYPES else kind,
        "statedAt": _text(record, "timestamp"),
    }
    return _give(TakeMessage, wish, f"message:{foreign_id}")


def _evidence(board_id: str, record: Json) -> Taken:
    foreign_id, session_id = _text(record, "evidenceId"), _text(record, "sessionId")
    if not foreign_id:
        return Taken(problem="has no evidenceId")
    contract_id = contract_of(board_id, _text(record, "contractId"))
    if contract_id is None:
        return _said_evidence(board_id, foreign_id, record)
    evidence_id = own_id(Evidence, board_id, foreign_id, "ev-")
    kind = _text(record, "kind")
    file = proof.named_file(_text(record, "path"), session_id)
    wish = {
        "boardId": board_id,
        "evidenceId": evidence_id,
        "contractId": contract_id,
        "evidenceKind": kind if 0 < len(kind) <= 40 else "evidence",
        "summary": _summary(record, located=file is not None),
        "artifacts": [file] if file else [],
        "url": _text(record, "url"),
        "statedSender": _stated(record, "sessionId", "fromNodeId"),
    }
    taken = _give(TakeEvidence, wish, f"evidence:{foreign_id}", said=_said(record))
    if taken.new:
        proof.recheck(board_id, evidence_id)
    return taken


def _summary(record: Json, *, located: bool) -> str:
    """What the line says, and the path where it names no file that may be looked at (the redactor sees it too)."""
    kind, path = _text(record, "kind"), _text(record, "path")
    said = [_text(record, "summary"), f"kind: {kind}" if len(kind) > 40 else "", "" if located else path]
    return "\n".join(text for text in said if text.strip()) or "No summary was given."


def _said_evidence(board_id: str, foreign_id: str, record: Json) -> Taken:
    """Evidence for a contract that this board does not have: a message that says so."""
    about = _text(record, "contractId")
    told = [f"about {about}" if about else "", _summary(record, located=False), _text(record, "url")]
    wish = {
        "boardId": board_id,
        "messageId": own_id(Message, board_id, f"evidence:{foreign_id}", "msg-"),
        "type": "evidence_attached",
        "content": "\n".join(text for text in told if text),
        "statedSender": _stated(record, "sessionId", "fromNodeId"),
        "statedAt": _text(record, "timestamp"),
    }
    return _give(TakeMessage, wish, f"evidence:{foreign_id}", said=_said(record))


def _said(record: Json) -> Json:
    """What a retry is compared by: the file that it names may have changed meanwhile, the line has not."""
    names = ("evidenceId", "sessionId", "fromNodeId", "contractId", "kind", "summary", "path", "url")
    return {name: _text(record, name) for name in names}


def _event(board_id: str, record: Json) -> Taken:
    """Of another program's events only the claims are taken in; what they tell besides stands in files of its own."""
    data = record.get("data")
    if record.get("type") in ("contract.created", "contract.updated") and isinstance(data, dict):
        return take_contract(board_id, data)
    return Taken()


LINES: Final[dict[str, Callable[[str, Json], Taken]]] = {MESSAGES: _message, EVIDENCE: _evidence, EVENTS: _event}


def take_contract(board_id: str, record: Json) -> Taken:
    """A foreign claim, from its file or from its event: both say the same, and it is taken in once."""
    foreign_id = _text(record, "contractId")
    if not foreign_id:
        return Taken(problem="has no contractId")
    told = {name: _text(record, name) for name in ("title", "instructions", "status", "ownerSessionId", "ownerNodeId")}
    digest = sha256(canonical([board_id, foreign_id, told]))
    wish = {
        "boardId": board_id,
        "contractId": contract_of(board_id, foreign_id) or _new_contract_id(board_id, foreign_id),
        "messageId": f"msg-{uuid.uuid5(SPACE, digest)}",
        "title": told["title"] if told["title"].strip() else foreign_id,
        "instructions": told["instructions"],
        "statedOwner": _stated(record, "ownerSessionId", "ownerNodeId"),
        "statedStatus": told["status"][:200],
    }
    return _give(TakeContract, wish, f"contract:{digest}", said=told)


# --- ids -------------------------------------------------------------------------------------------------------------


def own_id(model: type[Message] | type[Evidence], board_id: str, foreign_id: str, prefix: str) -> str:
    """The foreign id where it can be ours and is not another board's; else one made of it."""
    usable = words.ID.match(foreign_id) and ".." not in foreign_id and redact(foreign_id).text == foreign_id
    row = model._default_manager.filter(pk=foreign_id).values_list("board_id", "trust").first() if usable else None
    if usable and (row is None or row == (board_id, "untrusted-imported-summary")):
        return foreign_id
    return f"{prefix}{uuid.uuid5(SPACE, canonical([board_id, foreign_id]))}"


def _plain(foreign_id: str) -> bool:
    return bool(words.ID.match(foreign_id)) and "." not in foreign_id and redact(foreign_id).text == foreign_id


def _made(board_id: str, foreign_id: str) -> str:
    return f"abroad-{sha256(canonical([board_id, foreign_id]))[:12]}"


def contract_of(board_id: str, foreign_id: str) -> str | None:
    """The contract of this board that a foreign id means."""
    known = set(Contract.objects.filter(board_id=board_id).values_list("contract_id", flat=True))
    return next((one for one in (foreign_id, _made(board_id, foreign_id)) if one in known), None)


def _new_contract_id(board_id: str, foreign_id: str) -> str:
    taken = not _plain(foreign_id) or Contract.objects.filter(contract_id=foreign_id).exists()
    return _made(board_id, foreign_id) if taken else foreign_id


# --- giving the command ----------------------------------------------------------------------------------------------


def _give(kind: type[BoardCommand], wish: Json, about: str, said: Any = None) -> Taken:
    """The command, under a key of the foreign thing: a second reading finds it done."""
    try:
        command = kind.model_validate(wish)
    except ValidationError as error:
        return Taken(problem=f"cannot be taken in: {sentence_of(error.errors())}")
    key = f"folder:{sha256(canonical([command.board_id, about]))}"
    receipt = execute(command, service("folder"), key=key, said=said)
    return _outcome(receipt)


def _outcome(receipt: Receipt) -> Taken:
    if receipt.outcome == "failed":
        raise NotNow
    if receipt.code in LATER:
        raise NotNow(receipt.detail)
    if receipt.accepted:
        return Taken(new=receipt.outcome == "applied")
    return Taken(problem=f"was not taken in: {receipt.detail}")


def _text(record: Json, name: str) -> str:
    """A text of the record, without what no store can hold; empty for anything else."""
    value = record.get(name)
    text = value if isinstance(value, str) else ""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\N{SYMBOL FOR NULL}")


def _stated(record: Json, *names: str) -> str:
    """Who the record says it is: the first of these that says anything."""
    return next((text[:200] for text in (_text(record, name).strip() for name in names) if text), "")
