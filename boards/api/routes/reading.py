"""The routes that only read: looking never changes anything, and every list is a page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query

from boards import folder, proof
from boards.api import bodies
from boards.api.documents import read
from boards.api.forms import KINDS
from boards.api.reading import reader
from boards.api.replies import ok
from boards.api.routes.base import get
from boards.api.schemas import schemas as all_schemas
from boards.commands import store
from boards.models import Node
from boards.queries import answers
from boards.queries.answers import Page
from boards.queries.answers.lists import dated
from boards.rows import fetch
from boards.rules import Refused, World
from boards.schemas import Actor
from boards.times import now

# --- the home --------------------------------------------------------------------------------------------------------


@get("/peers", summary="Who is there", openapi_extra=read("PeersAnswer"))
def peers(request: HttpRequest, query: Query[bodies.ListQuery]) -> HttpResponse:
    """People, mailboxes and every session found on this machine, each with status, age and how it is reached."""
    reader(request, bodies.ListQuery)
    return ok(answers.peers(Page(query.limit, query.cursor)))


@get("/inbox", summary="What was sent to you", openapi_extra=read("InboxAnswer", finds=True))
def inbox(request: HttpRequest, query: Query[bodies.InboxQuery]) -> HttpResponse:
    """Copies addressed to you: `asap` first, then `high`, then the newest. `open` (the usual) leaves out those that
    are settled. Looking changes nothing: only your acknowledgement does."""
    actor = reader(request, bodies.InboxQuery)
    return ok(answers.inbox(actor, Page(query.limit, query.cursor), board_id=query.board, state=query.state))


@get("/needs", summary="What waits for you", openapi_extra=read("NeedsAnswer"))
def needs(request: HttpRequest, query: Query[bodies.ListQuery]) -> HttpResponse:
    """Oldest first. The person sees what needs a person on any board; an agent what waits for itself: messages to
    answer, proposals to accept, leases that end soon, tasks that are offered to it."""
    actor = reader(request, bodies.ListQuery)
    return ok(answers.needs(actor, Page(query.limit, query.cursor)))


@get("/events", summary="Everything that happened", openapi_extra=read("AllEventsAnswer"))
def all_events(request: HttpRequest, query: Query[bodies.AllEventsQuery]) -> HttpResponse:
    """The events of every board that you may read, by their position in the whole log; the person also sees the home's
    own. `nextAfter` goes on; when it is null, ask again after `position`."""
    actor = reader(request, bodies.AllEventsQuery)
    return ok(answers.events_everywhere(actor, after=query.after, limit=query.limit))


@get("/schemas", summary="Events and commands as JSON Schema", openapi_extra=read("SchemasAnswer"))
def schemas(request: HttpRequest) -> HttpResponse:
    """The data of every event by type and version, the event around it, and the body of every command."""
    reader(request)
    return ok(all_schemas())


@get("/boards", summary="Boards", openapi_extra=read("BoardsAnswer", finds=True))
def boards(request: HttpRequest, query: Query[bodies.BoardsQuery]) -> HttpResponse:
    """The boards that you may read, latest change first, each with counts. Agents see those they are members of."""
    actor = reader(request, bodies.BoardsQuery)
    page = Page(query.limit, query.cursor)
    refs = [ref.strip() for ref in query.shared_with.split(",") if ref.strip()]
    nodes = _node_ids(actor, refs)
    found = answers.boards(actor, page, nodes) if nodes is not None else dated(answers.listed("boards", [], page, dict))
    return ok({**found, "foreign": _foreign(actor) if not (query.cursor or refs) else []})


def _foreign(actor: Actor) -> list[dict[str, Any]]:
    """Boards of other programs: the person's alone to see, because nobody is a member of them."""
    human = Node.objects.filter(node_id=actor.node_id, kind="human").exists()
    return [board.body() for board in folder.foreign_boards()] if human else []


def _node_ids(actor: Actor, refs: list[str]) -> list[str] | None:
    """The nodes that are meant; None when one is a session that is no node yet and so shares no board."""
    world = World(now(), actor, fetch, store.new_id, store.find_session, store.known_sessions)
    found = [world.resolve(ref) for ref in refs]
    nodes = [who.node_id for who in found if isinstance(who, Node)]
    return nodes if len(nodes) == len(found) else None


# --- one board -------------------------------------------------------------------------------------------------------


@get("/boards/{board_id}", summary="One board", openapi_extra=read("BoardAnswer", finds=True))
def board(request: HttpRequest, board_id: str, query: Query[bodies.BoardQuery]) -> HttpResponse:
    """The board with the first page of each of its lists: what is open first, then the newest; messages are the last
    ones, oldest first. `older` counts the rest, `next` goes on at each list's own route. `sourceRevision` is what a
    controlled command sends back as `expectedRevision`."""
    actor = reader(request, bodies.BoardQuery)
    return ok(answers.board(board_id, actor, limit=query.limit))


@get("/boards/{board_id}/messages", summary="A board's messages",
             openapi_extra=read("MessagesAnswer", finds=True))  # fmt: skip
def messages(request: HttpRequest, board_id: str, query: Query[bodies.MessagesQuery]) -> HttpResponse:
    """The last messages, oldest first, each with its recipients' steps. `nextBefore` asks for those before them."""
    actor = reader(request, bodies.MessagesQuery)
    return ok(answers.messages(board_id, actor, before=query.before, limit=query.limit))


@get("/boards/{board_id}/events", summary="A board's events", openapi_extra=read("EventsAnswer", finds=True))
def events(request: HttpRequest, board_id: str, query: Query[bodies.EventsQuery]) -> HttpResponse:
    """The events after a revision, oldest first, each with its digest. `nextAfter` goes on; null: these are all."""
    actor = reader(request, bodies.EventsQuery)
    return ok(answers.events(board_id, actor, after=query.after, limit=query.limit))


@get("/boards/{board_id}/gate", summary="What is still missing", openapi_extra=read("GateAnswer", finds=True))
def gate(request: HttpRequest, board_id: str, query: Query[bodies.ListQuery]) -> HttpResponse:
    """`state` is `ready`, `blocked` (a proven blocker stands in for a proof) or `not_ready` with what is `missing`."""
    actor = reader(request, bodies.ListQuery)
    return ok(answers.gate(board_id, actor, Page(query.limit, query.cursor)))


@get("/boards/{board_id}/needs", summary="What waits for you on a board",
             openapi_extra=read("BoardNeedsAnswer", finds=True))  # fmt: skip
def board_needs(request: HttpRequest, board_id: str, query: Query[bodies.ListQuery]) -> HttpResponse:
    """The same as `GET needs`, of this board alone."""
    actor = reader(request, bodies.ListQuery)
    return ok(answers.needs(actor, Page(query.limit, query.cursor), board_id))


_LISTS = {
    "members": "Who takes part, by nodeId.",
    "contracts": "Open ones first, then the newest; each with its `actionability` and what its gate still misses.",
    "tasks": "What is not done first, by taskId; each with its holder and lease.",
    "evidence": "The newest first, each with its checks.",
    "blockers": "Open ones first, then the newest.",
    "summaries": "Each node's newest summary, the newest first.",
}


def _list_route(name: str, about: str) -> None:
    def view(request: HttpRequest, board_id: str, query: Query[bodies.ListQuery]) -> HttpResponse:
        actor = reader(request, bodies.ListQuery)
        return ok(answers.board_list(name, board_id, actor, Page(query.limit, query.cursor)))

    view.__name__, view.__doc__ = f"board_{name}", about
    extra = read(f"{name.capitalize()}Answer", finds=True)
    get(f"/boards/{{board_id}}/{name}", summary=f"A board's {name}", openapi_extra=extra)(view)


for _name, _about in _LISTS.items():
    _list_route(_name, _about)


# --- one thing -------------------------------------------------------------------------------------------------------


def _thing_route(kind: str, plural: str) -> None:
    def view(request: HttpRequest, thing_id: str) -> HttpResponse:
        return ok(answers.thing(kind, thing_id, reader(request)))

    view.__name__ = f"one_{kind}"
    view.__doc__ = f"One {kind} by its id, with its `boardId` and the board's `sourceRevision`."
    extra = read(f"One{KINDS[kind]}", finds=True)
    get(f"/{plural}/{{thing_id}}", summary=f"One {kind}", openapi_extra=extra)(view)


for _kind, _plural in (
    ("contract", "contracts"),
    ("task", "tasks"),
    ("message", "messages"),
    ("evidence", "evidence"),
    ("blocker", "blockers"),
):
    _thing_route(_kind, _plural)


@get("/sessions/{session_id}/artifacts", summary="What a session made",
             openapi_extra=read("ArtifactsAnswer", finds=True))  # fmt: skip
def artifacts(request: HttpRequest, session_id: str, query: Query[bodies.ListQuery]) -> HttpResponse:
    """The artifacts derived from a session's events, newest first. Agents see those of their own session."""
    actor = reader(request, bodies.ListQuery)
    _check_may_look(actor, session_id)
    found = proof.artifacts(session_id)
    page = answers.listed("artifacts", found.items, Page(query.limit, query.cursor), lambda item: item.as_json())
    return ok(dated({**page, "selectedId": found.selected_id}))


def _check_may_look(actor: Actor, session_id: str) -> None:
    me = Node.objects.get(node_id=actor.node_id)
    if me.kind == "human" or me.session_id == session_id:
        return
    sentence = f"{actor.node_id} may look at what its own session made; what peers made is shown as evidence."
    raise Refused("not_yours", sentence)
