"""The event of an erased payload."""

from __future__ import annotations

from boards.events.base import EventData, Shape


class Erased(Shape):
    """One event whose texts are gone. ``remainder_digest`` proves what is left of its data."""

    event_id: str
    position: int
    data_digest: str
    remainder_digest: str


class PayloadErased(EventData, name="payload.erased"):
    """A person had the texts of events removed; the chain still verifies."""

    node_id: str
    reason: str
    erased: list[Erased]
