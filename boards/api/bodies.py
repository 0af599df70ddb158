"""The bodies of the API: each is a command with its key and the revision that the caller saw.

They are made from the commands themselves, so that a field can never be in one and missing in the other.
"""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BeforeValidator, ConfigDict, Field, Strict, create_model

from boards.rules.rights import HUMAN_ONLY, SERVICE_ONLY
from boards.schemas import COMMANDS, Command, FullText, Id, Shape


def _whole(given: Any) -> Any:
    """In JSON ``1.0`` is the integer 1; a text or a truth value is none."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


_EXACT: Final[dict[Any, tuple[Any, ...]]] = {bool: (Strict(),), int: (Strict(), BeforeValidator(_whole))}
Key = Annotated[str, Field(min_length=1, max_length=200)]
Revision = Annotated[int, Strict(), Field(ge=0), BeforeValidator(_whole)]
ENVELOPE: Final = frozenset({"command", "key", "expected_revision", "status"})
"""What a body holds besides its command's fields."""

_SENT: Final[dict[str, Any]] = {
    "key": (Key | None, Field(None, description="Idempotency key; the Idempotency-Key header does the same.")),
    "expected_revision": (
        Revision | None,
        Field(None, description="The board's sourceRevision that you saw; a change of the thing since is a conflict."),
    ),
}


def _exact(annotation: Any) -> Any:
    """The same type without conversions: in JSON ``"1"`` is no number, and 0 is no ``false``."""
    kind, inner = get_origin(annotation), get_args(annotation)
    if kind in (Union, UnionType):
        return Union[tuple(_exact(one) for one in inner)]  # noqa: UP007
    plain, *bounds = inner if kind is Annotated else [annotation]
    return Annotated[(plain, *bounds, *_EXACT[plain])] if plain in (int, bool) else annotation


def body_of(kind: str, *from_path: str) -> type[Shape]:
    """The body of a route that gives one command; the fields ``from_path`` are in the address instead."""
    command = COMMANDS[kind]
    kept = [(name, field) for name, field in command.model_fields.items() if name not in from_path]
    fields: dict[str, Any] = {name: (_exact(field.annotation), field) for name, field in kept} | _SENT
    return create_model(f"{command.__name__}Body", __base__=Shape, __doc__=command.__doc__, **fields)


def named_body_of(kind: str) -> type[Shape]:
    """The body of ``POST commands``: the same, with the command's name in it."""
    name = f"{COMMANDS[kind].__name__}Command"
    literal: Any = (Literal[kind], Field(description="The command's name."))
    return create_model(name, __base__=body_of(kind), __doc__=COMMANDS[kind].__doc__, command=literal)


MADE_HERE: Final = frozenset({"attach_evidence", "summarize_session"})
"""Commands whose content AgentLink itself reads from files and logs: they have routes of their own."""
PUBLIC: Final = tuple(sorted(set(COMMANDS) - SERVICE_ONLY - MADE_HERE))
"""Every command that somebody may send in."""
NAMED: Final = {kind: named_body_of(kind) for kind in PUBLIC}
PANEL_ONLY: Final = HUMAN_ONLY
"""Commands of these that only the panel's person may give."""


def status_body_of(status: str, kind: str) -> type[Shape]:
    """The body of ``PATCH`` on a contract that asks for a status: the command that leads to it."""
    literal: Any = (Literal[status], Field(description=COMMANDS[kind].__doc__))
    base = body_of(kind, "board_id", "contract_id")
    return create_model(f"Contract{status.capitalize()}", __base__=base, __doc__=COMMANDS[kind].__doc__, status=literal)


STATUS_COMMANDS: Final = {
    "accepted": "accept_contract",
    "rejected": "reject_contract",
    "withdrawn": "withdraw_contract",
}
"""Which command leads a contract to a status."""
STATUS_BODIES: Final = {status: status_body_of(status, kind) for status, kind in STATUS_COMMANDS.items()}
EditBody: Final = body_of("edit_contract", "board_id", "contract_id")
"""The other body of ``PATCH`` on a contract: a new text."""
EDITED: Final = frozenset(str(field.alias) for name, field in EditBody.model_fields.items() if name not in ENVELOPE)
"""The fields of a new text, by their names in JSON."""


def command_from(kind: str, body: Shape, **from_path: str) -> Command:
    """The command that a body speaks of. Raises pydantic's ``ValidationError``."""
    given = {name: getattr(body, name) for name in body.model_fields_set if name not in ENVELOPE}
    return COMMANDS[kind].model_validate({**given, **from_path})


class ArtifactRef(Shape):
    """An artifact of a session, as ``GET sessions/{sessionId}/artifacts`` lists them."""

    artifact_id: str = Field(min_length=1, max_length=300)
    session_id: str | None = Field(None, min_length=1, max_length=200, description="Left out: the session of who asks.")


def _both(first: str, second: str) -> dict[str, Any]:
    given = {"not": {"type": "null"}}
    return {"required": [first, second], "properties": {first: given, second: given}}


_AT_MOST_ONE: Final[dict[str, Any]] = {
    "not": {"anyOf": [_both("file", "artifact"), _both("file", "url"), _both("artifact", "url")]}
}


class EvidenceBody(Shape):
    """Evidence from exactly one source: a file, an artifact, a URL, or (none of them) a statement in prose.

    AgentLink reads what is attached, runs the checks and records what they found.
    """

    model_config = ConfigDict(json_schema_extra=_AT_MOST_ONE)

    contract_id: Id
    requirement_id: Id | None = None
    stands_for: Literal["proof", "blocker"] = Field(
        "proof", description="A proof answers a requirement; what proves a blocker answers none."
    )
    summary: FullText
    file: str | None = Field(
        None, min_length=1, max_length=4096, description="Absolute, or relative to a member's project."
    )
    artifact: ArtifactRef | None = None
    url: str | None = Field(None, min_length=1, max_length=2000)
    key: Key | None = _SENT["key"][1]


class SummaryBody(Shape):
    """Asks for a summary of fixed shape, made from the session's own facts."""

    board_id: Id
    key: Key | None = _SENT["key"][1]


class ListQuery(Shape):
    """One page of a list."""

    limit: int = Field(100, ge=1, le=500, description="At most so many items.")
    cursor: str = Field(
        "",
        max_length=500,
        description="The nextCursor of the page before.",
        json_schema_extra={"pattern": "^[A-Za-z0-9_:=-]*$"},
    )


class BoardsQuery(ListQuery):
    """One page of boards, or of the open boards that you share with somebody."""

    shared_with: str = Field(
        "", alias="sharedWith", max_length=1000, description="nodeId, sessionId or name; several with commas."
    )


class BoardQuery(Shape):
    """How much of one board."""

    limit: int = Field(100, ge=1, le=500, description="At most so many items of each list.")


class MessagesQuery(Shape):
    """Which messages of a board."""

    limit: int = Field(100, ge=1, le=500)
    before: str = Field("", max_length=64, description="Only messages before this one: the nextBefore of a page.")


class InboxQuery(ListQuery):
    """Which copies."""

    board: str = Field("", max_length=64, description="Only of this board.")
    state: Literal["open", "all"] = Field("open", description="`open`: those that are not settled.")


class EventsQuery(Shape):
    """Which events of a board."""

    after: int = Field(0, ge=0, le=2**62, description="Only events after this revision.")
    limit: int = Field(100, ge=1, le=500)


class AllEventsQuery(EventsQuery):
    """Which events of all boards."""

    after: int = Field(0, ge=0, le=2**62, description="Only events after this position of the whole log.")
