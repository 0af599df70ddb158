"""Attaching evidence: choose an artifact, a file or a URL, say what it answers, and see it being checked."""

from __future__ import annotations

from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods, require_safe
from pydantic import ValidationError

from boards import proof
from boards.edges import actor_of
from boards.models import Board, Contract, Evidence, Node
from boards.people import members
from boards.queries import pages
from boards.queries.pages.evidence import check_lines
from boards.rules import Refused
from boards.schemas import Receipt
from boards.views import forms
from boards.views.access import board_or_404, panel
from boards.views.commands import key_of, receipt_response
from boards.views.forms import Unreadable
from boards.views.pages import show

SETTLED: Final = ("rejected", "withdrawn")
BLOCKER: Final = "!"
"""In the place of a requirement: the bundle proves what stands in the way."""
SANDBOX: Final = "sandbox; default-src 'none'"


@panel
@require_http_methods(["GET", "HEAD", "POST"])
def attach(request: HttpRequest, board_id: str) -> HttpResponse:
    """The page, and the POST that attaches and shows the checks line by line."""
    board = board_or_404(board_id)
    if request.method == "POST":
        return _attached(request, board)
    sessions = _sessions(board)
    session_id = request.GET.get("session", "") or (sessions[0].session_id if sessions else "")
    context = {
        "board": board,
        "sessions": sessions,
        "session_id": session_id,
        "answers": _answers(board, request.GET.get("contract", ""), request.GET.get("requirement", "")),
        "contract_id": request.GET.get("contract", ""),
        **_artifacts(board, session_id, request.GET.get("artifact", "")),
    }
    return show(request, "boards/attach.html", context)


def _sessions(board: Board) -> list[Node]:
    nodes = Node.objects.filter(node_id__in=members(board.board_id).values("node_id"))
    return list(nodes.exclude(session_id="").order_by("name_key"))


def _artifacts(board: Board, session_id: str, artifact_id: str) -> dict[str, Any]:
    """The artifacts of a member's session, the chosen one (or the session's own choice) and its preview."""
    if not session_id:
        return {"artifacts": None}
    try:
        _check_member(board, session_id)
        found = proof.artifacts(session_id)
        chosen = found.by_id(artifact_id or found.selected_id)
        shown = proof.preview(session_id, chosen.id) if chosen else None
    except Refused as no:
        return {"artifacts": None, "problem": no.sentence}
    return {"artifacts": found, "chosen": chosen, "preview": shown, "lines": _lines(shown)}


def _check_member(board: Board, session_id: str) -> None:
    if session_id not in {node.session_id for node in _sessions(board)}:
        raise Refused("not_a_member", f"The session {session_id[:80]!r} is no member of this board; invite it first.")


def _lines(shown: Any) -> list[tuple[str, str]]:
    """A diff's lines with the class that colours them; other text is one piece."""
    if shown is None or shown.kind != "diff":
        return [("", shown.text)] if shown is not None and shown.text else []
    marks = {"+": "add", "-": "del", "@": "hunk"}
    return [(marks.get(line[:1], ""), f"{line}\n") for line in shown.text.split("\n")]


def _answers(board: Board, contract_id: str, requirement_id: str) -> list[dict[str, Any]]:
    """Each contract that takes evidence with its requirements; the value names both."""
    rows = Contract.objects.filter(board_id=board.board_id).exclude(status__in=SETTLED).order_by("created_at")
    return [
        {
            "contract": row,
            "options": [
                {
                    "value": f"{row.contract_id}/{item['id']}",
                    "label": item["text"],
                    "chosen": row.contract_id == contract_id and item["id"] == requirement_id,
                }
                for item in [
                    *(row.required_evidence or [{"id": "", "text": "one verified bundle of evidence"}]),
                    {"id": BLOCKER, "text": "no requirement: it proves what stands in the way"},
                ]
            ],
        }
        for row in sorted(rows, key=lambda row: (row.contract_id != contract_id, row.status == "done"))
    ]


def _attached(request: HttpRequest, board: Board) -> HttpResponse:
    try:
        receipt = _give(request, board)
    except Unreadable as wrong:
        receipt = Receipt("rejected", "attach_evidence", "malformed", " ".join(wrong.sentences))
    bundle = Evidence.objects.filter(evidence_id=receipt.entity["id"]).first() if receipt.entity else None
    checks = check_lines(bundle) if bundle else []
    failing = sum(1 for line in checks if line.tone in ("bad", "warn"))
    more: dict[str, Any] = {"bundle": bundle, "checks": checks, "failing": failing}
    return receipt_response(request, receipt, board=board, at=pages.present(), **more)


def _give(request: HttpRequest, board: Board) -> Receipt:
    post = request.POST
    contract_id, _, requirement_id = post.get("answers", "").partition("/")
    if not contract_id:
        raise Unreadable(["Answers: choose the requirement that this evidence answers."])
    common = {
        "board_id": board.board_id,
        "contract_id": contract_id,
        "requirement_id": None if requirement_id in ("", BLOCKER) else requirement_id,
        "stands_for": "blocker" if requirement_id == BLOCKER else "proof",
        "summary": forms.whole(post, "summary"),
        "key": key_of(post),
    }
    try:
        return _attach(request, post.get("what", ""), common)
    except ValidationError as error:  # what a bundle cannot hold
        raise forms.unreadable(error) from error


def _attach(request: HttpRequest, what: str, common: dict[str, Any]) -> Receipt:
    actor, post = actor_of(request), request.POST
    if what == "artifact":
        session_id, artifact_id = forms.whole(post, "session"), forms.whole(post, "artifact")
        return proof.attach_artifact(actor, session_id=session_id, artifact_id=artifact_id, **common)
    if what == "file":
        return proof.attach_file(actor, path=forms.whole(post, "path"), **common)
    if what == "url":
        return proof.attach_url(actor, url=forms.whole(post, "url"), **common)
    raise Unreadable(["Choose an artifact, a file or a URL."])


@panel
@require_safe
def artifact_content(request: HttpRequest, board_id: str) -> HttpResponse:
    """An image as its first bytes prove it to be one, in a sandbox; anything else as a download of plain text."""
    board = board_or_404(board_id)
    session_id, artifact_id = request.GET.get("session", ""), request.GET.get("artifact", "")
    try:
        _check_member(board, session_id)
        shown = proof.preview(session_id, artifact_id)
    except Refused as no:
        raise Http404(no.sentence) from no
    if shown.kind == "image":
        response = HttpResponse(shown.data, content_type=shown.mime)
    elif shown.problem or not shown.text:
        raise Http404(shown.problem or shown.note)
    else:
        response = HttpResponse(shown.text.encode("utf-8", "replace"), content_type="text/plain; charset=utf-8")
        response.headers["Content-Disposition"] = 'attachment; filename="artifact.txt"'
    response.headers["Content-Security-Policy"] = SANDBOX
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
