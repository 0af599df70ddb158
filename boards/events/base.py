"""What all events share: name, version, entity, and the form that is stored and digested.

Events are the seed's names (and what the rules need besides), each prefixed ``agentlink.``. Their data carries all
that a projection needs, so that a projection reads its event and its own row and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, PlainSerializer
from pydantic.alias_generators import to_camel

from boards.times import iso

Instant = Annotated[datetime, PlainSerializer(iso, when_used="json")]


class EventData(BaseModel):
    """Base of all event data. A newer reader must still parse every older version (golden files hold that)."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)

    type: ClassVar[str] = ""
    version: ClassVar[int] = 1
    home: ClassVar[bool] = False
    entity: ClassVar[tuple[str, str] | None] = None
    """Kind and id field of the row whose own revision this event moves; none where it moves none."""

    def __init_subclass__(
        cls,
        name: str = "",
        home: bool = False,
        entity: tuple[str, str] | None = None,
        version: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)
        if name:
            cls.type, cls.home, cls.entity, cls.version = f"agentlink.{name}", home, entity, version
            EVENTS[cls.type] = cls

    def body(self) -> dict[str, Any]:
        """The JSON form that is stored and digested."""
        return self.model_dump(mode="json", by_alias=True)


class Shape(BaseModel):
    """Base of what stands inside event data: no limits, so that an old log parses whatever commands ask today."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)


class Item(Shape):
    """An allowed action, a stop condition or a required piece of evidence."""

    id: str
    text: str


class FilePointer(Shape):
    """A file by root and relative path."""

    root: str
    path: str
    session_id: str = ""
    size_bytes: int | None = None
    sha256: str | None = None


class EventPointer(Shape):
    """A session's event."""

    session_id: str
    event_type: str
    timestamp: str


class Check(Shape):
    """One line of a verification."""

    name: str
    verdict: str
    detail: str


EVENTS: dict[str, type[EventData]] = {}
"""Every event class by its type."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event as a projection sees it: the data, and where in the log it stands."""

    board_id: str
    revision: int
    position: int
    at: datetime
    actor: str
    data: EventData
