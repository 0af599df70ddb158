"""Redaction before anything is stored: every text of a command goes through the redactor, ids do not."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from boards import rows
from boards.digests import KEPT
from boards.models import Node
from boards.schemas import Actor, Command
from evidence.redaction import RedactionContext, redact
from peers import queries as peers

RESOLVED: Final[frozenset[str]] = frozenset(
    {
        "blocker_id",
        "board_id",
        "contract_id",
        "eligible",
        "event_ids",
        "evidence_id",
        "evidence_ids",
        "message_id",
        "node",
        "node_id",
        "reply_to",
        "requirement_id",
        "session_id",
        "stop_condition_id",
        "task_id",
        "to",
    }
)
"""Fields that name something which must exist: what names nothing is refused, so nothing of them is ever stored."""
LISTED: Final[frozenset[str]] = frozenset(
    {"answer", "node_kind", "priority", "role", "root", "sha256", "stands_for", "step", "timestamp", "type", "verdict"}
)
"""Fields whose values come from a fixed list or fit a narrow pattern."""
OPEN: Final[frozenset[str]] = frozenset({"refs", "summary"})
"""Fields whose inner names are the sender's own: there no name exempts anything, and the names are redacted too."""
READ: Final[frozenset[str]] = frozenset({"discover_peers"})
"""Commands of the scanner, whose texts were redacted when they were read."""

NEW_IDS: Final[dict[str, str]] = {
    "adopt_board": "board_id",
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
    if command.kind in READ:
        return command, []
    context = context_for(actor.node_id)
    hits: set[str] = set()

    def text(value: str) -> str:
        result = redact(value, context=context)
        hits.update(result.rule_ids)
        return result.text

    given = command.model_dump()
    kept = {
        name: value if _exempt(command, name) else _walk(value, text, name in OPEN) for name, value in given.items()
    }
    cleaned = command if kept == given else type(command).model_validate(kept)
    return cleaned, sorted(hits)


def _exempt(command: Command, name: str) -> bool:
    """``role`` is a word of a list where somebody is invited, and free text where a node describes itself."""
    free_role = name == "role" and command.kind in ("register_node", "update_node")
    return name in RESOLVED | LISTED and not free_role


def _walk(value: Any, text: Callable[[str], str], opened: bool) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return [_walk(item, text, opened) for item in value]
    if not isinstance(value, dict):
        return value
    if opened:
        return {text(str(name)): _walk(item, text, opened) for name, item in value.items()}
    return {name: item if name in RESOLVED | LISTED else _walk(item, text, opened) for name, item in value.items()}


def clean_data(data: dict[str, Any]) -> dict[str, Any]:
    """An event's data that comes from outside, with its texts redacted; ids, times and words of a list stay."""
    context = RedactionContext(home=_home(), key=_key())
    cleaned: dict[str, Any] = _texts("", data, lambda value: redact(value, context=context).text)
    return cleaned


def _texts(name: str, value: Any, text: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: _texts(key, item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [_texts(name, item, text) for item in value]
    return text(value) if isinstance(value, str) and name not in KEPT else value


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
