"""Who acts, and what became of a command."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from boards import words

Outcome = Literal["applied", "already_applied", "conflict", "rejected", "failed"]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, and through which edge; only the person with the panel's cookie comes through ``panel``."""

    node_id: str
    surface: words.Surface = "api"
    session_id: str = ""
    host: str = "local"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a command; only ``applied`` changed anything, and only it is stored."""

    outcome: Outcome
    command: str
    code: str = "ok"
    detail: str = ""
    key: str | None = None
    board_id: str | None = None
    revision: int | None = None
    entity: dict[str, Any] | None = None
    events: list[str] = field(default_factory=list)
    current: dict[str, Any] | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def accepted(self) -> bool:
        """Whether the wish holds now (by this call or by an earlier one with the same key)."""
        return self.outcome in ("applied", "already_applied")

    def body(self) -> dict[str, Any]:
        """The JSON form of interfaces.md."""
        return {
            "outcome": self.outcome,
            "code": self.code,
            "detail": self.detail,
            "command": self.command,
            "key": self.key,
            "boardId": self.board_id,
            "revision": self.revision,
            "entity": self.entity,
            "events": self.events,
            "current": self.current,
            **self.extra,
        }
