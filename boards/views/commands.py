"""``POST /boards/<id>/do/<command>``: one view for every form. It answers with the receipt, never with a guess."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_POST

from boards import proof, telling
from boards.commands import execute
from boards.edges import STATUS, actor_of
from boards.models import Node
from boards.people import members
from boards.rules import Refused
from boards.schemas import Actor, Receipt
from boards.views import forms
from boards.views.access import board_or_404, panel
from boards.views.forms import FORMS, Unreadable, command_from


@panel
@require_POST
def do(request: HttpRequest, board_id: str, kind: str) -> HttpResponse:
    """Gives the command that a form means, and shows what became of it."""
    board_or_404(board_id)
    if kind not in FORMS and kind not in ASKED:
        raise Http404(f"The panel has no form {kind[:80]!r}.")
    expected = None
    try:
        expected = forms.number(request.POST, "expectedRevision")
        receipt = _give(kind, board_id, request, expected)
    except Unreadable as wrong:
        receipt = Receipt("rejected", kind, "malformed", " ".join(wrong.sentences), board_id=board_id)
    except Refused as no:
        receipt = Receipt(no.outcome, kind, no.code, no.sentence, board_id=board_id)
    return receipt_response(request, receipt, expected)


def _give(kind: str, board_id: str, request: HttpRequest, expected: int | None) -> Receipt:
    actor, key = actor_of(request), key_of(request.POST)
    if kind in ASKED:
        return ASKED[kind](actor, board_id, request.POST, key)
    return execute(command_from(kind, board_id, request.POST), actor, key=key, expected_revision=expected)


def key_of(post: QueryDict) -> str:
    """The form's own key; a form without one is a new wish each time."""
    return post.get("key", "") or f"panel-{uuid.uuid4()}"


def receipt_response(request: HttpRequest, receipt: Receipt, expected: int | None = None, **more: Any) -> HttpResponse:
    """The receipt's line, with its outcome's HTTP status; ``AgentLink-Outcome`` tells the form whether to empty."""
    context = {"receipt": receipt, "expected": expected, "missing": _missing(receipt), **more}
    response = render(request, "boards/_receipt.html", context, status=STATUS[receipt.outcome])
    response.headers["AgentLink-Outcome"] = receipt.outcome
    response.headers["AgentLink-Code"] = receipt.code
    return response


def _missing(receipt: Receipt) -> list[str]:
    """What the gate still asks for, line by line."""
    return [item["detail"] for item in (receipt.current or {}).get("missing", [])]


# --- what is asked for without being one command of the board ------------------------------------------------------


def _resend(actor: Actor, board_id: str, post: QueryDict, key: str) -> Receipt:
    return execute(forms.again(board_id, post), actor, key=key)


def _recheck(actor: Actor, board_id: str, post: QueryDict, key: str) -> Receipt:
    return proof.recheck(board_id, post.get("evidenceId", ""))


def _request_status(actor: Actor, board_id: str, post: QueryDict, key: str) -> Receipt:
    """Of one session, or of every session of the board (one key each, so that a repeat asks nobody twice)."""
    wanted = post.get("node", "")
    receipts = [
        telling.request_status(actor, board_id=board_id, node=node, key=f"{key[:100]}-{node}")
        for node in ([wanted] if wanted else _agents(board_id))
    ]
    refused = [receipt for receipt in receipts if not receipt.accepted]
    return (refused or receipts)[-1]


def _agents(board_id: str) -> list[str]:
    agents = Node.objects.filter(node_id__in=members(board_id).values("node_id"), kind="agent")
    found = list(agents.values_list("node_id", flat=True))
    if not found:
        raise Refused("nobody_there", "This board has no session as a member; invite one first.")
    return sorted(found)


def _summarize(actor: Actor, board_id: str, post: QueryDict, key: str) -> Receipt:
    return telling.summarize(actor, board_id=board_id, node=post.get("node", ""), key=key)


ASKED: Final[dict[str, Callable[[Actor, str, QueryDict, str], Receipt]]] = {
    "resend": _resend,
    "recheck": _recheck,
    "request_status": _request_status,
    "summarize": _summarize,
}
