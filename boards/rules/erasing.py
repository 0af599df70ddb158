"""Erasing a payload: the texts of events go, their digests and what they did stay."""

from __future__ import annotations

import json

from boards import schemas as c
from boards import words
from boards.digests import canonical, remainder, sha256
from boards.events import Erased, PayloadErased
from boards.models import Event
from boards.rules.world import Decision, Refused, World


def erase_payload(command: c.ErasePayload, world: World) -> Decision:
    """A leaked text is taken out of the log and of every row made of it; the chain still verifies."""
    stream = world.board(command.board_id, open_only=False).board_id if command.board_id else words.HOME_STREAM
    rows = world.fetch(Event, stream=stream, event_id__in=command.event_ids)
    known = {row.event_id for row in rows}
    lacking = [event_id for event_id in command.event_ids if event_id not in known]
    if lacking:
        where = f"The board {stream!r}" if stream else "The home stream"
        raise Refused("unknown_event", f"{where} has no event {lacking[0]!r}; its log lists them.")
    if any(row.type == PayloadErased.type for row in rows):
        raise Refused("not_erasable", "What an erasure says of itself is needed to verify the log; it stays.")
    erased = [_erased(row) for row in rows if canonical(remainder(json.loads(row.data))) != row.data]
    if not erased:
        raise Refused("already_erased", "Nothing is left in them to erase.", outcome="already_applied")
    event = PayloadErased(node_id=world.actor.node_id, reason=command.reason, erased=erased)
    return Decision([event], stream, None, {"erased": [one.event_id for one in erased]})


def _erased(row: Event) -> Erased:
    rest = sha256(canonical(remainder(json.loads(row.data))))
    return Erased(event_id=row.event_id, position=row.position, data_digest=row.data_digest, remainder_digest=rest)
