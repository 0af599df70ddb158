"""Redaction before anything is stored: every text of a command goes through the redactor, ids do not."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from boards import rows
from boards.models import Node
from boards.schemas import Actor, Command
from evidence.redaction import RedactionContext, redact
from peers import queries as peers

IDENTIFYING: Final[frozenset[str]] = frozenset(
    {
        "answer",
        "adapter",
        "blocker_id",
        "board_id",
        "contract_id",
        "eligible",
        "event_type",
        "evidence_id",
        "evidence_ids",
        "id",
        "message_id",
        "node",
        "node_id",
        "node_kind",
        "priority",
        "reply_to",
        "requirement_id",
        "role_on_board",
        "root",
        "session_id",
        "sessionId",
        "sha256",
        "source",
        "step",
        "stop_condition_id",
        "task_id",
        "timestamp",
        "to",
        "type",
        "verdict",
    }
)
"""Fields that name things; each is checked against a pattern or a list, and none is free text."""


NEW_IDS: Final[dict[str, str]] = {
    "create_board": "board_id",
    "propose_contract": "contract_id",
    "register_node": "node_id",
}
"""Ids that somebody chooses: one that looks like a secret is refused, because ids are shown and never redacted."""


def looks_secret(command: Command) -> bool:
    """Whether the id that a command chooses holds what the redactor would hide."""
    chosen = getattr(command, NEW_IDS.get(command.kind, ""), None)
    return isinstance(chosen, str) and redact(chosen).text != chosen


def clean(command: Command, actor: Actor) -> tuple[Command, list[str]]:
    """The command with its texts redacted, and the ids of the rules that hit."""
    context = context_for(actor.node_id)
    hits: set[str] = set()

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            result = redact(value, context=context)
            hits.update(result.rule_ids)
            return result.text
        if isinstance(value, dict):
            return {key: item if key in IDENTIFYING else walk(item) for key, item in value.items()}
        return [walk(item) for item in value] if isinstance(value, list) else value

    given = command.model_dump()
    kept = {name: value if name in IDENTIFYING else walk(value) for name, value in given.items()}
    cleaned = command if kept == given else type(command).model_validate(kept)
    return cleaned, sorted(hits)


def context_for(node_id: str) -> RedactionContext:
    """What is private depends on whose text it is: its project root becomes relative, other paths vanish."""
    node = rows.last(Node, "session_id", by="node_id", node_id=node_id)
    roots = peers.roots(node[0]) if node and node[0] else None
    root = roots.project_root if roots else None
    return RedactionContext(project_root=root or None, home=_home(), key=_key())


@cache
def _home() -> str:
    return str(Path.home())


@cache
def _key() -> bytes:
    """Keeps equal values recognisable within this home without telling what they are."""
    return str(settings.SECRET_KEY).encode()
