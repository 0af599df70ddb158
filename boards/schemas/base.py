"""What all commands share: bounded texts, ids, pointers, and the base class that registers each by its name.

A command is a wish; only an accepted receipt says that something changed. Texts and lists are bounded here,
with sentences; what a command may do is decided in :mod:`boards.rules`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from boards import words


def _bounded(text: str) -> str:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > words.TEXT_LIMIT:
        raise ValueError(f"The text has {size:,} bytes; the limit is {words.TEXT_LIMIT:,}. Send a pointer to a file.")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("The text is empty; say something in it.")
    return text


def _short(text: str) -> str:
    text = " ".join(text.split())
    if len(text) > words.TITLE_LIMIT:
        raise ValueError(f"The title has {len(text)} characters; the limit is {words.TITLE_LIMIT}.")
    return text


def _safe_id(value: str) -> str:
    if not words.ID.match(value) or ".." in value:
        raise ValueError(f"{value[:80]!r} is not a valid id; use a-z, 0-9, '.', '_' and '-', at most 64 characters.")
    return value


def _safe_board_id(value: str) -> str:
    """AgInTiFlow's own wider ids are accepted for the boards that it made."""
    if not words.BOARD_ID.match(value) or ".." in value:
        raise ValueError(f"{value[:80]!r} is not a valid board id; use letters, digits, '.', '_', ':' and '-'.")
    return value


def _zoned(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("The time has no zone; write it like 2030-01-31T12:00:00Z.")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("The time is outside the years 1 to 9999; write it like 2030-01-31T12:00:00Z.") from None


def _item_texts(value: Any) -> Any:
    """Plain strings are accepted where listed things have an id and a text; ids are numbered later."""
    if isinstance(value, list):
        return [{"text": item} if isinstance(item, str) else item for item in value]
    return value


_ID_SHAPE = Field(json_schema_extra={"pattern": r"^(?!.*\.\.)[a-z0-9][a-z0-9._-]{0,63}$"})
_BOARD_ID_SHAPE = Field(json_schema_extra={"pattern": r"^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$"})
_SAYS_SOMETHING = Field(json_schema_extra={"pattern": r"\S"})
"""What the validators ask for, as far as JSON Schema can say it."""
Id = Annotated[str, AfterValidator(_safe_id), _ID_SHAPE]
BoardId = Annotated[str, AfterValidator(_safe_board_id), _BOARD_ID_SHAPE]
Text = Annotated[str, AfterValidator(_bounded)]
FullText = Annotated[str, AfterValidator(_bounded), AfterValidator(_not_blank), _SAYS_SOMETHING]
Title = Annotated[str, AfterValidator(_short), AfterValidator(_not_blank), _SAYS_SOMETHING]
Moment = Annotated[datetime, AfterValidator(_zoned)]
Ref = Annotated[str, Field(min_length=1, max_length=200)]
"""How somebody names a node: nodeId, sessionId or name; resolved in the transaction."""
Texts = Annotated[list[Text], Field(max_length=words.LIST_LIMIT)]


class Shape(BaseModel):
    """camelCase outside, snake_case inside; unknown keys are an error, so that a typo is never dropped."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)

    def body(self) -> dict[str, Any]:
        """The JSON form, camelCase, times as ISO text."""
        return self.model_dump(mode="json", by_alias=True)


class Item(Shape):
    """One allowed action, stop condition or required piece of evidence."""

    id: Annotated[str, Field(pattern=r"^([a-z0-9][a-z0-9._-]{0,63})?$")] = ""
    text: FullText


class TaskItem(Shape):
    """One listed task of a contract; without ``eligible`` every owner may claim it."""

    text: FullText
    eligible: list[Ref] = Field(default_factory=list, max_length=words.LIST_LIMIT)


Items = Annotated[list[Item], BeforeValidator(_item_texts), Field(max_length=words.LIST_LIMIT)]
TaskItems = Annotated[list[TaskItem], BeforeValidator(_item_texts), Field(max_length=words.LIST_LIMIT)]


class FilePointer(Shape):
    """A file by root and relative path; the absolute root stays in a local table (never shown)."""

    root: Literal["project", "session", "home", "artifacts"]
    path: str = Field(max_length=1024)
    session_id: str = Field(default="", max_length=200)
    size_bytes: int | None = Field(default=None, ge=0)
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")


class EventPointer(Shape):
    """One event of a session: the exact line that a bundle speaks of."""

    session_id: str = Field(max_length=200)
    event_type: str = Field(pattern=r"^[A-Za-z0-9_.:-]{1,120}$")
    timestamp: str = Field(pattern=r"^[0-9T:.Z+-]{1,40}$")


class Check(Shape):
    """One line of a verification: what was looked at, and what was found."""

    name: str
    verdict: words.Verdict
    detail: str


class Command(Shape):
    """Base of all commands. ``kind`` is the command's name; ``entity`` says which row it speaks of."""

    kind: ClassVar[str]
    entity: ClassVar[tuple[str, str] | None] = None
    controlled: ClassVar[bool] = False
    """Controlled commands need a key and the revision that the caller saw (API and forms)."""

    def __init_subclass__(
        cls, kind: str = "", entity: tuple[str, str] | None = None, controlled: bool = False, **kwargs: Any
    ) -> None:
        super().__init_subclass__(**kwargs)
        if kind:
            cls.kind, cls.entity, cls.controlled = kind, entity, controlled
            COMMANDS[kind] = cls


COMMANDS: dict[str, type[Command]] = {}
"""Every command by its name."""


class BoardCommand(Command):
    """A command on one board."""

    board_id: BoardId
