"""The forms of what answers hold besides rows: peers, needs, inbox items, events."""

from __future__ import annotations

from boards import events, words
from boards.api.forms.base import (
    ANYTHING,
    FLAG,
    TEXT,
    TEXTS,
    TIME,
    WHOLE,
    also,
    but,
    closed,
    many,
    one_of,
    ref,
    some,
)
from boards.api.forms.rows import ROWS

REACH = closed(
    {"kind": {"enum": ["push", "pull", "none"]}, "sentence": TEXT, "resumeCommand": some(TEXT)},
    about="How a message gets there.",
)
MISSING = closed(
    {
        "category": {
            "enum": ["peer_status", "peer_evidence", "contract_status", "ownership_boundary", "blocker_from_peer"]
        },
        "contractId": TEXT,
        "requirementId": some(TEXT),
        "detail": TEXT,
    },
    about="One thing that the gate still misses.",
)
COUNTS = closed(dict.fromkeys(("unclaimed", "blocked", "needsYou", "unverified"), WHOLE))
PROBLEMS = many({"type": "object", "additionalProperties": TEXT})
MEMBER = also(
    ROWS["Membership"], name=TEXT, kind={"enum": ["human", "agent", "service"]}, sessionId=some(TEXT),
    source=some(TEXT), trust=one_of(words.Trust), status=TEXT, reason=TEXT, lastActivityAt=some(TIME),
    reach=ref("Reach"),
)  # fmt: skip
_ONLY_OF_SESSIONS = {
    "title": TEXT, "goal": TEXT, "provider": TEXT, "model": TEXT, "result": TEXT, "error": TEXT, "observedAt": TIME,
    "problems": PROBLEMS,
}  # fmt: skip
PEER = closed(
    {
        "nodeId": some(TEXT), "name": TEXT, "kind": {"enum": ["human", "agent"]}, "role": TEXT,
        "trust": one_of(words.Trust), "sessionId": some(TEXT), "source": some(TEXT), "projectName": TEXT,
        "status": TEXT, "reason": TEXT, "lastActivityAt": some(TIME), "capabilities": TEXTS, "constraints": TEXTS,
        "reach": ref("Reach"), **_ONLY_OF_SESSIONS,
    },
    optional=tuple(_ONLY_OF_SESSIONS),
    about="A person, a mailbox, or a session of an agent; the fields of sessions are left out for the others.",
)  # fmt: skip
NEED = closed(
    {
        "kind": {**TEXT, "description": "What would settle it, e.g. `answer`, `acceptance`, `lease`, `hand_over`."},
        "boardId": TEXT, "since": TIME, "nodeId": {**TEXT, "description": "Whom it is about."},
        "text": {**TEXT, "description": "The first 500 characters of what it speaks of."},
        "cut": {**FLAG, "description": "Whether there is more of the text."}, "revision": WHOLE,
        "contractId": some(TEXT), "taskId": some(TEXT), "messageId": some(TEXT), "blockerId": some(TEXT),
        "until": some(TIME), "fencing": some(WHOLE),
    }
)  # fmt: skip
INBOX_ITEM = also(
    but(ROWS["Message"], "content", "deliveries"),
    preview={**TEXT, "description": "The first 500 characters; `GET messages/{messageId}` has all of it."},
    contentLength={**WHOLE, "description": "Characters of the whole text."},
    copy=ref("Delivery"),
)
EVENT = closed(
    {
        "eventId": TEXT, "position": WHOLE, "boardId": some(TEXT), "revision": WHOLE,
        "type": {"enum": sorted(events.EVENTS)}, "version": WHOLE, "at": TIME, "actor": TEXT,
        "origin": closed(
            {"surface": one_of(words.Surface), "host": TEXT, "sessionId": TEXT, "redacted": TEXTS},
            optional=("sessionId", "redacted"),
        ),
        "data": {**ANYTHING, "description": "As `GET schemas` says for the type."},
        "dataDigest": TEXT, "previous": TEXT, "digest": TEXT,
    },
    about="One line of the log. `boardId` is null in the home stream.",
)  # fmt: skip
ARTIFACT = closed(
    {
        "id": TEXT, "sessionId": TEXT, "kind": TEXT, "title": TEXT, "path": TEXT, "preview": TEXT, "source": TEXT,
        "tab": TEXT, "createdAt": TEXT, "selected": FLAG, "mime": TEXT,
    }
)  # fmt: skip
