"""The routes that give commands; each answers with the receipt and the thing as it is then."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from ninja import Body
from pydantic import ValidationError

from boards import proof, telling
from boards.api import bodies
from boards.api.documents import commands_body, contract_body, write
from boards.api.reading import JsonParser, Malformed, key_of, reader
from boards.api.replies import answer, not_valid, problem
from boards.api.routes.base import patch, post
from boards.commands import execute
from boards.queries import answers
from boards.rules import Refused
from boards.rules.rights import SERVICE_ONLY
from boards.rules.world import unknown
from boards.schemas import Actor, Command, Shape

CHECKED_SURFACES: Final = frozenset({"api", "panel"})
"""Where a controlled command must say which revision the caller saw; CLI and MCP send it only when told."""


def give(request: HttpRequest, kind: str, body: Any, **from_path: str) -> HttpResponse:
    """Gives one command as whoever asks. A board in the address must be one that they may read."""
    actor = reader(request)
    if "board_id" in from_path:
        answers.readable_board(from_path["board_id"], actor)
    try:
        command = bodies.command_from(kind, body, **from_path)
    except ValidationError as error:
        _check_address(error, from_path)
        return not_valid(error)
    key, expected = key_of(request, body.key), body.expected_revision
    lacking = _lacking(command, actor, key, expected)
    if lacking is not None:
        return lacking
    return answer(execute(command, actor, key=key, expected_revision=expected), command)


def _check_address(error: ValidationError, from_path: dict[str, str]) -> None:
    """What cannot be the id of anything is not there. Raises :class:`Refused`."""
    for line in error.errors():
        name = str(line["loc"][0])
        if name in from_path:
            raise unknown(name.removesuffix("_id"), from_path[name], ())


def _lacking(command: Command, actor: Actor, key: str | None, expected: int | None) -> HttpResponse | None:
    """Controlled commands say which view they act on, and can be repeated safely."""
    if not command.controlled or actor.surface not in CHECKED_SURFACES:
        return None
    if key is None:
        sentence = f"{command.kind} needs a key (or the Idempotency-Key header), so that it can be repeated safely."
        return problem(400, "key_required", sentence)
    if expected is None:
        sentence = f"{command.kind} needs expectedRevision: the sourceRevision of the board as you saw it."
        return problem(400, "expected_revision_required", sentence)
    return None


NewPeer = bodies.body_of("register_node")
NewBoard = bodies.body_of("create_board")
NewMessage = bodies.body_of("send_message", "board_id")
NewAnswer = bodies.body_of("acknowledge_message", "board_id", "message_id")
NewContract = bodies.body_of("propose_contract", "board_id")


@post("/peers", summary="Register a mailbox", openapi_extra=write("node", makes=True))
def register(request: HttpRequest, body: Body[NewPeer]) -> HttpResponse:  # type: ignore[valid-type]
    """Makes a node with a name, bound to a session when one is named. Its secret is written to `tokens/<nodeId>` in the
    home, and is in no answer."""
    return give(request, "register_node", body)


@post("/boards", summary="Make a board", openapi_extra=write("board", makes=True))
def create_board(request: HttpRequest, body: Body[NewBoard]) -> HttpResponse:  # type: ignore[valid-type]
    """Whoever makes a board supervises it; everybody in `members` is invited in the same command."""
    return give(request, "create_board", body)


@post("/boards/{board_id}/messages", summary="Send a message", openapi_extra=write("message", makes=True))
def send_message(request: HttpRequest, board_id: str, body: Body[NewMessage]) -> HttpResponse:  # type: ignore[valid-type]
    """`to` names nodes by nodeId, sessionId or name, or `@board`. A discovered session is invited with it."""
    return give(request, "send_message", body, board_id=board_id)


@post("/boards/{board_id}/messages/{message_id}/acknowledgements", summary="Answer a message",
              openapi_extra=write("message"))  # fmt: skip
def acknowledge(request: HttpRequest, board_id: str, message_id: str, body: Body[NewAnswer]) -> HttpResponse:  # type: ignore[valid-type]
    """The recipient's own answer; nothing else ever counts as one. The same answer twice is recorded once."""
    return give(request, "acknowledge_message", body, board_id=board_id, message_id=message_id)


@post("/boards/{board_id}/contracts", summary="Propose a contract", openapi_extra=write("contract", makes=True))
def propose_contract(request: HttpRequest, board_id: str, body: Body[NewContract]) -> HttpResponse:  # type: ignore[valid-type]
    """Says who owns what, and which proof closes it. The proposer's own acceptance is implied."""
    return give(request, "propose_contract", body, board_id=board_id)


CONTRACT_EXTRA = {**write("contract"), "requestBody": contract_body()}


@patch("/boards/{board_id}/contracts/{contract_id}", summary="Change a contract", openapi_extra=CONTRACT_EXTRA)
def change_contract(request: HttpRequest, board_id: str, contract_id: str) -> HttpResponse:
    """Either a new text (what is left out stays, and every acceptance lapses) or the `status` that it shall have:
    `accepted`, `rejected` with a `reason`, or `withdrawn`. Asking for a status is controlled like its command."""
    given = JsonParser().parse_body(request)
    status = given.get("status")
    if "status" in given and (not isinstance(status, str) or status not in bodies.STATUS_BODIES):
        raise Malformed(f"The field status must be one of: {', '.join(bodies.STATUS_BODIES)}.")
    if texts := sorted(bodies.EDITED & set(given)) if status else []:
        raise Malformed(f"Give either a status or a new text, not both: here status with {', '.join(texts)}.")
    kind = bodies.STATUS_COMMANDS[status] if status else "edit_contract"
    return _give_read(request, kind, bodies.STATUS_BODIES.get(status or "", bodies.EditBody), given,
                      board_id=board_id, contract_id=contract_id)  # fmt: skip


def _give_read(request: HttpRequest, kind: str, model: type[Shape], given: Any, **from_path: str) -> HttpResponse:
    """Gives a command from a body whose form only its own content tells."""
    try:
        body = model.model_validate(given)
    except ValidationError as error:
        return not_valid(error)
    return give(request, kind, body, **from_path)


@post("/boards/{board_id}/evidence", summary="Attach evidence", openapi_extra=write("evidence", makes=True))
def attach_evidence(request: HttpRequest, board_id: str, body: Body[bodies.EvidenceBody]) -> HttpResponse:
    """Attaching proves nothing: the checks run at once, and people judge by name."""
    actor = reader(request)
    answers.readable_board(board_id, actor)
    attach = _source(actor, body)
    try:
        receipt = attach(
            actor,
            board_id=board_id,
            contract_id=body.contract_id,
            requirement_id=body.requirement_id,
            stands_for=body.stands_for,
            summary=body.summary,
            key=key_of(request, body.key),
        )
    except ValidationError as error:  # what a bundle cannot hold, such as a path of 2,000 characters
        return not_valid(error)
    return answer(receipt)


def _source(actor: Actor, body: bodies.EvidenceBody) -> Callable[..., Any]:
    """What is attached, and how. Raises :class:`Malformed` unless it is at most one thing."""
    if sum(given is not None for given in (body.file, body.artifact, body.url)) > 1:
        raise Malformed("Give only one of file, artifact and url; attach the others as bundles of their own.")
    if body.file is not None:
        return partial(proof.attach_file, path=body.file)
    if body.url is not None:
        return partial(proof.attach_url, url=body.url)
    if body.artifact is None:
        return proof.attach_text
    session_id = body.artifact.session_id or actor.session_id
    if not session_id:
        raise Refused("no_session", f"{actor.node_id} has no session of its own; name one in artifact.sessionId.")
    return partial(proof.attach_artifact, session_id=session_id, artifact_id=body.artifact.artifact_id)


@post("/sessions/{session_id}/summarize", summary="Summarize a session",
              openapi_extra=write("summary", makes=True))  # fmt: skip
def summarize(request: HttpRequest, session_id: str, body: Body[bodies.SummaryBody]) -> HttpResponse:
    """Stores a summary of fixed shape on a board, made from the session's own facts; never raw messages."""
    actor = reader(request)
    answers.readable_board(body.board_id, actor)
    return answer(telling.summarize(actor, board_id=body.board_id, node=session_id, key=key_of(request, body.key)))


COMMANDS_EXTRA = {**write(makes=True), "requestBody": commands_body()}


@post("/commands", summary="Any command", openapi_extra=COMMANDS_EXTRA)
def commands(request: HttpRequest) -> HttpResponse:
    """One command by its name. Those that change who owns or decides something need `key` and `expectedRevision`."""
    given = JsonParser().parse_body(request)
    kind = given.get("command")
    if not isinstance(kind, str) or kind not in bodies.NAMED:
        raise _no_such_command(kind)
    return _give_read(request, kind, bodies.NAMED[kind], given)


def _no_such_command(kind: object) -> Exception:
    if isinstance(kind, str) and kind in SERVICE_ONLY:
        return Refused("not_allowed", f"{kind} is recorded by AgentLink itself and cannot be sent in.")
    sentence = f"The field command must be one of: {', '.join(bodies.PUBLIC)}."
    return Malformed(sentence, code="unknown_command")
