"""The one JSON form that is digested, and what is left of an event's data when its texts are erased."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from boards import words

_encode: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode
ERASED: Final = "[erased]"
KEPT: Final[frozenset[str]] = frozenset(
    {
        "acceptedBy",
        "adapter",
        "answer",
        "blockerId",
        "boardId",
        "cause",
        "chainOrigin",
        "contractId",
        "creatorRole",
        "dataDigest",
        "eligible",
        "eventId",
        "eventType",
        "evidenceId",
        "evidenceIds",
        "expiresAt",
        "finalStatus",
        "fromNode",
        "generatedAt",
        "closedBy",
        "id",
        "judgedBy",
        "leaseUntil",
        "linkId",
        "messageId",
        "messageType",
        "nodeId",
        "nodeIds",
        "offeredTo",
        "outcome",
        "priority",
        "projectKey",
        "proposedBy",
        "remainderDigest",
        "replyTo",
        "requirementId",
        "resumesAs",
        "root",
        "sender",
        "sessionId",
        "sha256",
        "source",
        "standsFor",
        "state",
        "status",
        "step",
        "stopConditionId",
        "taskId",
        "threadId",
        "timestamp",
        "to",
        "trust",
        "verdict",
    }
)
"""Names whose values are ids, times, digests or words of a list; every other text is erased."""
KEPT_WORDS: Final[frozenset[str]] = frozenset({*words.ROLES, "agent", "service"})
"""Values that stay wherever they stand: roles and kinds of nodes."""
EMPTIED: Final[frozenset[str]] = frozenset({"refs"})
"""Lists of somebody's own names and values."""


def canonical(value: Any) -> str:
    """The one JSON form that is digested: ASCII, sorted keys, no spaces."""
    return _encode(value)


def sha256(text: str) -> str:
    """Hex digest of an ASCII text."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def remainder(body: dict[str, Any]) -> dict[str, Any]:
    """An event's data without its texts; what a projection finds rows by stays. A node's name becomes its id."""
    return {name: _erase(name, value, body) for name, value in body.items()}


def _erase(name: str, value: Any, beside: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return remainder(value)
    if isinstance(value, list):
        return [] if name in EMPTIED else [_erase(name, item, beside) for item in value]
    if not isinstance(value, str) or not value or name in KEPT or value in KEPT_WORDS:
        return value
    return beside["nodeId"] if name == "name" and "nodeId" in beside else ERASED
