"""The forms of whole answers, by the name that the OpenAPI document gives them."""

from __future__ import annotations

from typing import Final

from boards import words
from boards.api.forms.base import (
    FLAG,
    TEXT,
    TEXTS,
    TIME,
    WHOLE,
    Json,
    also,
    closed,
    many,
    one_of,
    ref,
    some,
)
from boards.api.forms.parts import PROBLEMS
from boards.api.forms.rows import KINDS, ROWS

CURSOR = {**some(TEXT), "description": "Asks for the next page; null: this is the last."}
_SEEN = {"boardId": TEXT, "sourceRevision": WHOLE}
_LISTS = {
    "members": "Member", "contracts": "Contract", "tasks": "Task", "blockers": "Blocker", "evidence": "Evidence",
    "summaries": "Summary",
}  # fmt: skip


def page(name: str, item: str, **more: Json) -> Json:
    """A page of a list."""
    return closed({**more, name: many(ref(item)), "nextCursor": CURSOR, "generatedAt": TIME})


_FOREIGN = {
    **many(
        closed(
            {
                "boardId": TEXT, "title": TEXT, "objective": TEXT, "statedCreator": TEXT, "updatedAt": TEXT,
                "counts": closed({"messages": WHOLE, "evidence": WHOLE, "contracts": WHOLE}), "atLeast": FLAG,
                "restorable": FLAG, "trust": one_of(words.Trust),
            }
        )
    ),
    "description": "Boards that other programs made in the board folder: as they say, unchecked. For the person, with "
    "the first page; the panel adopts them.",
}  # fmt: skip


def thing(kind: str) -> Json:
    """One thing by its id."""
    return also(ROWS[KINDS[kind]], sourceRevision=WHOLE, generatedAt=TIME)


def applied(kind: str) -> Json:
    """What a command gives that speaks of such a thing: the thing as it is now, and the receipt."""
    return also(ROWS[KINDS[kind]], receipt=ref("Receipt"))


BARE_RECEIPT = closed({"receipt": ref("Receipt")}, about="For a command that held already and speaks of no one thing.")


def _board_answer() -> Json:
    names = [*_LISTS, "messages"]
    lists = {name: many(ref(item)) for name, item in _LISTS.items()} | {"messages": many(ref("Message"))}
    older = closed(dict.fromkeys(names, WHOLE), about="How many of each list are not shown.")
    following = closed(
        dict.fromkeys(names, some(TEXT)),
        about="The cursor that each list's own route goes on with; messages: `before`.",
    )
    return also(ROWS["Board"], generatedAt=TIME, counts=ref("Counts"), **lists, older=older, next=following)


_GATE = closed(
    {
        **_SEEN, "status": TEXT, "state": {"enum": ["ready", "blocked", "not_ready"]}, "finalStatus": some(TEXT),
        "missing": many(ref("Missing")), "missingCount": WHOLE, "nextCursor": CURSOR,
        "standingIn": {**TEXTS, "description": "Blockers whose proof stands in for one that is missing."},
        "standingInCount": WHOLE, "generatedAt": TIME,
    }
)  # fmt: skip
_STATUS = closed(
    {
        "product": {"const": "agentlink"}, "version": TEXT, "mode": TEXT, "nodeId": TEXT,
        "surface": one_of(words.Surface), "counts": closed({"boards": WHOLE, "peers": WHOLE, "needsYou": WHOLE}),
        "scannedAt": some(TIME), "problems": PROBLEMS, "position": WHOLE, "generatedAt": TIME,
    }
)  # fmt: skip
_EVENTS_EVERYWHERE = closed(
    {
        "events": many(ref("Event")),
        "nextAfter": {**some(WHOLE), "description": "Asks for the next page; null: these are all up to `position`."},
        "position": {**WHOLE, "description": "Where the log ended; ask after this next time."}, "generatedAt": TIME,
    }
)  # fmt: skip
_SCHEMA = {"type": "object", "description": "A JSON Schema."}
_EVENT_DATA = closed({"version": WHOLE, "stream": {"enum": ["home", "board"]}, "data": _SCHEMA})
_SCHEMAS = closed(
    {
        "dialect": TEXT, "event": _SCHEMA, "receipt": _SCHEMA, "problem": _SCHEMA,
        "events": {
            "type": "object",
            "additionalProperties": many(_EVENT_DATA),
        },
        "commands": {
            "type": "object",
            "additionalProperties": closed({"route": TEXT, "controlled": FLAG, "panelOnly": FLAG, "body": _SCHEMA}),
        },
    }
)  # fmt: skip

ANSWERS: Final[dict[str, Json]] = {
    "StatusAnswer": _STATUS,
    "PeersAnswer": page("peers", "Peer"),
    "BoardsAnswer": page("boards", "BoardHead", foreign=_FOREIGN),
    "BoardAnswer": _board_answer(),
    **{f"{name.capitalize()}Answer": page(name, item, **_SEEN) for name, item in _LISTS.items()},
    "MessagesAnswer": closed(
        {
            **_SEEN, "messages": many(ref("Message")),
            "nextBefore": {**some(TEXT), "description": "Asks for the messages before these; null: there are none."},
            "generatedAt": TIME,
        }
    ),
    "EventsAnswer": closed(
        {
            **_SEEN, "events": many(ref("Event")),
            "nextAfter": {**some(WHOLE), "description": "Asks for the next page; null: these are all."},
            "generatedAt": TIME,
        }
    ),
    "AllEventsAnswer": _EVENTS_EVERYWHERE,
    "GateAnswer": _GATE,
    "NeedsAnswer": page("needs", "Need"),
    "BoardNeedsAnswer": page("needs", "Need", **_SEEN),
    "InboxAnswer": page("inbox", "InboxItem", total={**WHOLE, "description": "How many there are in all."}),
    "ArtifactsAnswer": page("artifacts", "Artifact", selectedId=TEXT),
    "SchemasAnswer": _SCHEMAS,
    **{f"One{KINDS[kind]}": thing(kind) for kind in ("contract", "task", "message", "evidence", "blocker")},
    **{f"Applied{form}": applied(kind) for kind, form in KINDS.items()},
    "AppliedNothing": BARE_RECEIPT,
}  # fmt: skip
