"""From a receipt, a refusal or a fault to an HTTP answer; the tables here are the whole mapping."""

from __future__ import annotations

import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

from django.http import HttpResponse
from pydantic import ValidationError

from boards import shapes
from boards.api.reading import Malformed
from boards.edges import STATUS
from boards.queries import answers
from boards.queries.answers import Json
from boards.rules import Refused
from boards.schemas import Command, Receipt
from boards.schemas.sentences import sentence_of

FORBIDDEN: Final = frozenset(
    {"not_allowed", "not_a_member", "role_too_low", "not_yours", "panel_only", "trust_too_low"}
)
"""Codes that say: not you."""
CREATES: Final = frozenset(
    {
        "create_board",
        "register_node",
        "propose_contract",
        "send_message",
        "attach_evidence",
        "open_blocker",
        "summarize_session",
    }
)
"""Commands that make something new: 201 when applied."""


def status_of(receipt: Receipt) -> int:
    """The HTTP status of a receipt."""
    if receipt.outcome == "applied" and receipt.command in CREATES:
        return HTTPStatus.CREATED
    if receipt.outcome == "rejected":
        return rejected_status(receipt.code)
    return STATUS[receipt.outcome]


def rejected_status(code: str) -> int:
    """404 for what does not exist, 403 for who may not, 422 for everything else that the rules refuse."""
    if code.startswith("unknown_"):
        return HTTPStatus.NOT_FOUND
    return HTTPStatus.FORBIDDEN if code in FORBIDDEN else HTTPStatus.UNPROCESSABLE_ENTITY


def ok(body: Json, status: int = 200) -> HttpResponse:
    """A JSON answer. ASCII escapes, so that agents' text cannot write to a terminal."""
    return HttpResponse(json.dumps(body), status=status, content_type="application/json")


def problem(
    status: int, code: str, detail: str, *, receipt: Json | None = None, nearest: Iterable[str] = ()
) -> HttpResponse:
    """An RFC 9457 problem with our ``code`` and, for a command, its ``receipt``."""
    body: Json = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": int(status), "detail": detail}
    body |= {"code": code, "receipt": receipt}
    if nearest:
        body["nearest"] = list(nearest)
    return HttpResponse(json.dumps(body), status=int(status), content_type="application/problem+json")


def refused(no: Refused) -> HttpResponse:
    """A read that the rules refuse."""
    return problem(rejected_status(no.code), no.code, no.sentence, nearest=no.nearest)


def answer(receipt: Receipt, command: Command | None = None) -> HttpResponse:
    """What became of a command: the thing that it speaks of with the receipt, or a problem with it."""
    status, shape = status_of(receipt), receipt.body()
    if not receipt.accepted:
        nearest = receipt.extra.get("nearest", ())
        return problem(status, receipt.code, receipt.detail, receipt=shape, nearest=nearest)
    return ok({**(_thing(receipt, command) or {}), "receipt": shape}, status)


def _thing(receipt: Receipt, command: Command | None) -> Json | None:
    """What was made or changed, as it is now; for an answer that changed nothing, what the command names."""
    kind, thing_id = None, None
    if receipt.entity:
        kind, thing_id = receipt.entity["type"], receipt.entity["id"]
    elif command is not None and command.entity:
        kind, thing_id = command.entity[0], getattr(command, command.entity[1])
    if kind is None or thing_id is None:
        return None
    row = shapes.find(kind, thing_id, receipt.board_id)
    return answers.shown(kind, row) if row is not None else None


# --- what was not understood -----------------------------------------------------------------------------------------


def malformed(error: Malformed) -> HttpResponse:
    """A request that cannot be understood."""
    return problem(error.status, error.code, error.sentence)


def not_valid(error: ValidationError) -> HttpResponse:
    """A command whose fields are wrong."""
    return problem(400, "malformed", sentence_of(error.errors()))
