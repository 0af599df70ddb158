"""``GET schemas``: what programs need to read the log and to write commands, as JSON Schema."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from boards.api import bodies
from boards.api.documents import PROBLEM, RECEIPT
from boards.api.forms import EVENT
from boards.events import EVENTS, EventData
from boards.schemas import COMMANDS, Shape

Json = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
OWN_ROUTES: Final[dict[str, tuple[str, type[Shape]]]] = {
    "attach_evidence": ("POST /boards/{board_id}/evidence", bodies.EvidenceBody),
    "summarize_session": ("POST /sessions/{session_id}/summarize", bodies.SummaryBody),
}
"""Commands whose content AgentLink reads itself: they are not taken by ``POST commands``."""


@cache
def schemas() -> Json:
    """Every event's data by type and version, the event around it, every command's body, receipt and problem."""
    alone = {"anyOf": [RECEIPT, {"type": "null"}]}
    return {
        "dialect": DIALECT,
        "event": EVENT,
        "events": {name: [_event(event)] for name, event in sorted(EVENTS.items())},
        "commands": {kind: _command(kind) for kind in sorted({*bodies.PUBLIC, *OWN_ROUTES})},
        "receipt": RECEIPT,
        "problem": {**PROBLEM, "properties": PROBLEM["properties"] | {"receipt": alone}},
    }


def _event(event: type[EventData]) -> Json:
    """The newest version of an event; a reader of it still parses every older one."""
    data = event.model_json_schema(by_alias=True, mode="serialization")
    return {"version": event.version, "stream": "home" if event.home else "board", "data": data}


def _command(kind: str) -> Json:
    route, body = OWN_ROUTES.get(kind, ("POST /commands", bodies.NAMED.get(kind, Shape)))
    return {
        "route": route,
        "controlled": COMMANDS[kind].controlled,
        "panelOnly": kind in bodies.PANEL_ONLY,
        "body": body.model_json_schema(),
    }
