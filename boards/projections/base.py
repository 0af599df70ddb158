"""Which function writes what an event changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from boards.events import EventData, Recorded
from boards.models import Board
from boards.rows import update

Projector = Callable[[Recorded, Any], None]
P = TypeVar("P", bound=Projector)
PROJECTORS: dict[type[EventData], Projector] = {}


def on(*kinds: type[EventData]) -> Callable[[P], P]:
    """Registers a function as what an event of these kinds does."""

    def register(function: P) -> P:
        for kind in kinds:
            PROJECTORS[kind] = function
        return function

    return register


def apply(event: Recorded) -> None:
    """Writes what the event changes; on a board also moves the board's head."""
    PROJECTORS[type(event.data)](event, event.data)
    if event.board_id:
        update(Board, event.board_id, head=event.revision, updated_at=event.at)
