"""Every route of the API but ``status``. Views build what they are asked for; commands decide, queries answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from ninja import Body, Query, Router
from pydantic import ValidationError

from boards import proof, telling
from boards.api import bodies
from boards.api.documents import READ, READ_ONE, WRITE, commands_body
from boards.api.documents import answers as documented
from boards.api.reading import JsonParser, Malformed, key_of, only_known
from boards.api.replies import answer, not_valid, ok, page_of, paged, problem
from boards.commands import execute, store
from boards.edges import actor_of
from boards.models import Node
from boards.queries import answers
from boards.queries.reach import reach_of
from boards.rows import fetch
from boards.rules import Refused, World
from boards.rules.rights import SERVICE_ONLY
from boards.schemas import Actor, Command, Shape
from boards.times import iso, now

router = Router()

CHECKED_SURFACES: Final = frozenset({"api", "panel"})
"""Where a controlled command must say which revision the caller saw; CLI and MCP send it only when told."""


def reader(request: HttpRequest, query: type[Shape] | None = None) -> Actor:
    """Who asks; refuses query parameters that the route does not have."""
    fields = query.model_fields.items() if query else ()
    only_known(request, frozenset(field.alias or name for name, field in fields))
    return actor_of(request)


# --- reading ---------------------------------------------------------------------------------------------------------


@router.get("/peers", summary="Who is there", tags=["read"], openapi_extra=documented(READ, "`peers`, `nextCursor`."))
def peers(request: HttpRequest, query: Query[bodies.ListQuery]) -> HttpResponse:
    """People, mailboxes and every session found on this machine, each with status, age and how it is reached."""
    reader(request, bodies.ListQuery)
    page = page_of(query.limit, query.cursor)
    items, more = answers.peers(page, reach_of)
    return paged("peers", items, more, page, iso(now()))


@router.get(
    "/boards", summary="Boards", tags=["read"], openapi_extra=documented((*READ, 404), "`boards`, `nextCursor`.")
)
def boards(request: HttpRequest, query: Query[bodies.BoardsQuery]) -> HttpResponse:
    """The boards that you may read, latest change first, each with counts. Agents see those they are members of."""
    actor = reader(request, bodies.BoardsQuery)
    page = page_of(query.limit, query.cursor)
    refs = [ref.strip() for ref in query.shared_with.split(",") if ref.strip()]
    nodes = _node_ids(actor, refs)
    items, more = answers.boards(actor, page, nodes) if nodes is not None else ([], False)
    return paged("boards", items, more, page, iso(now()))


def _node_ids(actor: Actor, refs: list[str]) -> list[str] | None:
    """The nodes that are meant; None when one is a session that is no node yet and so shares no board."""
    world = World(now(), actor, fetch, store.new_id, store.find_session, store.known_sessions)
    found = [world.resolve(ref) for ref in refs]
    nodes = [who.node_id for who in found if isinstance(who, Node)]
    return nodes if len(nodes) == len(found) else None


@router.get("/boards/{board_id}", summary="One board", tags=["read"], openapi_extra=documented(READ_ONE))
def board(request: HttpRequest, board_id: str, query: Query[bodies.BoardQuery]) -> HttpResponse:
    """The board with its members, contracts (each with its `actionability`), tasks, and the last messages, evidence and
    blockers. `sourceRevision` is what a controlled command sends back as `expectedRevision`."""
    actor = reader(request, bodies.BoardQuery)
    return ok(answers.board(board_id, actor, reach_of, limit=query.limit))


@router.get("/boards/{board_id}/events", summary="A board's events", tags=["read"], openapi_extra=documented(READ_ONE))
def events(request: HttpRequest, board_id: str, query: Query[bodies.EventsQuery]) -> HttpResponse:
    """The events after a revision, oldest first, each with its digest. `nextAfter` goes on; null: these are all."""
    actor = reader(request, bodies.EventsQuery)
    return ok(answers.events(board_id, actor, after=query.after, limit=query.limit))


@router.get(
    "/boards/{board_id}/gate", summary="What is still missing", tags=["read"], openapi_extra=documented(READ_ONE)
)
def gate(request: HttpRequest, board_id: str) -> HttpResponse:
    """`state` is `ready`, `blocked` (a proven blocker stands in for a proof) or `not_ready` with what is `missing`."""
    return ok(answers.gate(board_id, reader(request)))


def _thing(kind: str, request: HttpRequest, thing_id: str) -> HttpResponse:
    return ok(answers.thing(kind, thing_id, reader(request)))


def _thing_route(kind: str, plural: str) -> None:
    def view(request: HttpRequest, thing_id: str) -> HttpResponse:
        return _thing(kind, request, thing_id)

    view.__name__ = f"one_{kind}"
    view.__doc__ = f"One {kind} by its id, with its `boardId` and the board's `sourceRevision`."
    extra = documented(READ_ONE)
    router.get(f"/{plural}/{{thing_id}}", summary=f"One {kind}", tags=["read"], openapi_extra=extra)(view)


for _kind, _plural in (
    ("contract", "contracts"),
    ("task", "tasks"),
    ("message", "messages"),
    ("evidence", "evidence"),
    ("blocker", "blockers"),
):
    _thing_route(_kind, _plural)


@router.get("/sessions/{session_id}/artifacts", summary="What a session made", tags=["read"],
            openapi_extra=documented(READ_ONE, "`artifacts`, `selectedId`, `nextCursor`."))  # fmt: skip
def artifacts(request: HttpRequest, session_id: str, query: Query[bodies.ListQuery]) -> HttpResponse:
    """The artifacts derived from a session's events, newest first. Agents see those of their own session."""
    actor = reader(request, bodies.ListQuery)
    page = page_of(query.limit, query.cursor)
    _check_may_look(actor, session_id)
    found = proof.artifacts(session_id)
    items = [item.as_json() for item in found.items[page.offset : page.offset + page.limit]]
    return paged("artifacts", items, len(found.items) > page.offset + page.limit, page, iso(now()))


def _check_may_look(actor: Actor, session_id: str) -> None:
    me = Node.objects.get(node_id=actor.node_id)
    if me.kind == "human" or me.session_id == session_id:
        return
    sentence = f"{actor.node_id} may look at what its own session made; what peers made is shown as evidence."
    raise Refused("not_yours", sentence)


# --- commands --------------------------------------------------------------------------------------------------------


def give(request: HttpRequest, kind: str, body: Any, **from_path: str) -> HttpResponse:
    """Gives one command as whoever asks. A board in the address must be one that they may read."""
    actor = reader(request)
    if "board_id" in from_path:
        answers.readable_board(from_path["board_id"], actor)
    try:
        command = bodies.command_from(kind, body, **from_path)
    except ValidationError as error:
        return not_valid(error)
    key, expected = key_of(request, body.key), body.expected_revision
    lacking = _lacking(command, actor, key, expected)
    if lacking is not None:
        return lacking
    return answer(execute(command, actor, key=key, expected_revision=expected), command)


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


NewBoard = bodies.body_of("create_board")
NewMessage = bodies.body_of("send_message", "board_id")
NewContract = bodies.body_of("propose_contract", "board_id")


@router.post("/boards", summary="Make a board", tags=["write"], openapi_extra=documented(WRITE, "The board."))
def create_board(request: HttpRequest, body: Body[NewBoard]) -> HttpResponse:  # type: ignore[valid-type]
    """Whoever makes a board supervises it; everybody in `members` is invited in the same command."""
    return give(request, "create_board", body)


@router.post("/boards/{board_id}/messages", summary="Send a message", tags=["write"],
             openapi_extra=documented(WRITE, "The message with each recipient's steps."))  # fmt: skip
def send_message(request: HttpRequest, board_id: str, body: Body[NewMessage]) -> HttpResponse:  # type: ignore[valid-type]
    """`to` names nodes by nodeId, sessionId or name, or `@board`. A discovered session is invited with it."""
    return give(request, "send_message", body, board_id=board_id)


@router.post("/boards/{board_id}/contracts", summary="Propose a contract", tags=["write"],
             openapi_extra=documented(WRITE, "The contract."))  # fmt: skip
def propose_contract(request: HttpRequest, board_id: str, body: Body[NewContract]) -> HttpResponse:  # type: ignore[valid-type]
    """Says who owns what, and which proof closes it. The proposer's own acceptance is implied."""
    return give(request, "propose_contract", body, board_id=board_id)


@router.post("/boards/{board_id}/evidence", summary="Attach evidence", tags=["write"],
             openapi_extra=documented(WRITE, "The bundle with its checks."))  # fmt: skip
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
        raise Malformed("artifact.sessionId: name the session, because whoever asks has none.")
    return partial(proof.attach_artifact, session_id=session_id, artifact_id=body.artifact.artifact_id)


@router.post("/sessions/{session_id}/summarize", summary="Summarize a session", tags=["write"],
             openapi_extra=documented(WRITE, "The summary."))  # fmt: skip
def summarize(request: HttpRequest, session_id: str, body: Body[bodies.SummaryBody]) -> HttpResponse:
    """Stores a summary of fixed shape on a board, made from the session's own facts; never raw messages."""
    actor = reader(request)
    answers.readable_board(body.board_id, actor)
    return answer(telling.summarize(actor, board_id=body.board_id, node=session_id, key=key_of(request, body.key)))


COMMANDS_EXTRA = {**documented(WRITE, "What the command speaks of."), "requestBody": commands_body()}


@router.post("/commands", summary="Any command", tags=["write"], openapi_extra=COMMANDS_EXTRA)
def commands(request: HttpRequest) -> HttpResponse:
    """One command by its name. Those that change who owns or decides something need `key` and `expectedRevision`."""
    given = JsonParser().parse_body(request)
    kind = given.get("command")
    if not isinstance(kind, str) or kind not in bodies.NAMED:
        raise _no_such_command(kind)
    try:
        body = bodies.NAMED[kind].model_validate(given)
    except ValidationError as error:
        return not_valid(error)
    return give(request, kind, body)


def _no_such_command(kind: object) -> Exception:
    if isinstance(kind, str) and kind in SERVICE_ONLY:
        return Refused("not_allowed", f"{kind} is recorded by AgentLink itself and cannot be sent in.")
    sentence = f"The field command must be one of: {', '.join(bodies.PUBLIC)}."
    return Malformed(sentence, code="unknown_command")
