"""A command, start to finish: clean, take the writer's turn, look at receipts, check, decide, append, answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import DatabaseError, models
from pydantic import ValidationError

from boards import log, rows, rules, shapes, words
from boards.commands.cleaning import clean, looks_secret
from boards.commands.store import Memory, find_session, known_sessions, new_id
from boards.events import EVENTS, EventData, PeerRegistered
from boards.models import Event, StoredReceipt, Task
from boards.rules import Decision, Refused, World, tasks
from boards.schemas import Actor, Command, Receipt, TaskCommand
from boards.schemas.sentences import sentence_of
from boards.times import iso
from evidence.redaction import redact
from peers import trust

logger = structlog.get_logger(__name__)

KEY_LIMIT: Final = 200
BEFORE: Final[dict[str, Callable[[Any], None]]] = {}
"""What is looked at outside the writer's turn just before a command: the proof is read again before anything is
called finished (:mod:`boards.proof` puts itself here when the app starts)."""


AFTER: Final[dict[str, Callable[[Any], None]]] = {"erase_payload": lambda _: log.scrub()}
"""What is done outside the writer's turn once a command is applied."""


def service(surface: words.Surface = "timer") -> Actor:
    """The actor for findings of timers, scanner and delivery worker."""
    return Actor(words.SERVICE_NODE, surface)


def execute(
    command: Command,
    actor: Actor,
    *,
    key: str | None = None,
    expected_revision: int | None = None,
    said: Any = None,
) -> Receipt:
    """Gives one command. Never raises for what the rules or the store say: the receipt's outcome tells.

    ``key``: the caller's idempotency key; with the same key the same content is never done twice.
    ``expected_revision``: the board revision that the caller saw; a change of the entity since is a conflict.
    ``said``: what the caller sent, where the command holds what was found besides; a retry is compared by it.
    """
    if key is not None and not 0 < len(key) <= KEY_LIMIT:
        sentence = f"An idempotency key has 1 to {KEY_LIMIT} characters; this one has {len(key)}."
        return Receipt("rejected", command.kind, "bad_key", sentence)
    try:
        wish = _cleaned(command, actor)
        if isinstance(wish, Receipt):
            return wish
        BEFORE.get(command.kind, _nothing)(wish[0])
        with log.writer() as at:
            receipt = _execute(wish[0], actor, at, key, expected_revision, wish[1], said)
        if receipt.outcome == "applied":
            AFTER.get(command.kind, _nothing)(wish[0])
        return receipt
    except (DatabaseError, OSError) as error:  # OSError: not even the writers' queue can be joined
        logger.error("store_failed", command=command.kind, error=str(error))
        why = error.strerror if isinstance(error, OSError) else str(error)
        sentence = f"The store could not take it ({why}); nothing was changed, and the same key may be tried again."
        return Receipt("failed", command.kind, "store_failed", sentence, key=key)


def _nothing(command: Command) -> None:
    """Most commands ask for no look beforehand."""


def repeated(kind: str, actor: Actor, key: str | None, said: Any) -> Receipt | None:
    """The receipt of an earlier call with this key, for edges that read files before they can give the command."""
    return _earlier(kind, actor, key, _digest(kind, said))


def _digest(kind: str, said: Any) -> str:
    return log.sha256(log.canonical([kind, said]))


def _cleaned(command: Command, actor: Actor) -> tuple[Command, list[str]] | Receipt:
    """The redacted command; redaction can leave a text empty, or make it longer than its limit."""
    if looks_secret(command):
        sentence = "The id that you chose looks like a secret, and ids are shown to everybody; choose another."
        return Receipt("rejected", command.kind, "secret_id", sentence)
    try:
        return clean(command, actor)
    except ValidationError as error:
        sentence = f"Once redacted it is not valid: {sentence_of(error.errors())}"
        return Receipt("rejected", command.kind, "not_valid_when_redacted", sentence)


def _execute(
    command: Command,
    actor: Actor,
    at: datetime,
    key: str | None,
    expected: int | None,
    rule_ids: list[str],
    said: Any,
) -> Receipt:
    digest = _digest(command.kind, command.body() if said is None else said)
    earlier = _earlier(command.kind, actor, key, digest)
    if earlier is not None:
        return earlier
    world = _world(at, actor)
    try:
        _check_mode(command)
        if _expire_due(command, world):
            world = _world(at, actor)
        rules.rights.check(command, world)  # before the view is compared: a conflict tells of what it is about
        _check_revision(command, expected)
        decision = rules.DECIDE[command.kind](command, world)
    except Refused as no:
        return _refusal(command, no, key)
    return _apply(command, actor, at, key, digest, decision, rule_ids)


def _world(at: datetime, actor: Actor) -> World:
    return World(at, actor, Memory().fetch, new_id, find_session, known_sessions, rows.count)


def _earlier(kind: str, actor: Actor, key: str | None, digest: str) -> Receipt | None:
    """The receipt of an earlier call with this key, if there was one."""
    columns = ("content_digest", "body")
    stored = rows.last(StoredReceipt, *columns, by="id", actor=actor.node_id, key=_kept(key)) if key else None
    if stored is None:
        return None
    wanted, text = stored
    if wanted != digest:
        sentence = "This key was used for another command before; use a new key for a new wish."
        return Receipt("rejected", kind, "key_reused", sentence, key=key)
    known = {name: value for name, value in json.loads(text).items() if name in Receipt.__dataclass_fields__}
    return Receipt(**{**known, "outcome": "already_applied", "key": key})


def _kept(key: str) -> str:
    """A caller's key as it is stored: whatever it holds, it cannot be read back."""
    return log.sha256(log.canonical(key))


def _check_mode(command: Command) -> None:
    if settings.AGENTLINK.mode == "off" and command.kind not in rules.rights.SERVICE_ONLY:
        raise Refused(
            "mode_off", "AgentLink is off (AGENTLINK_MODE=off): nothing is discovered and nothing is written."
        )


def _expire_due(command: Command, world: World) -> bool:
    """A lease that has ended is an event before anything else happens to its task; whether there was one."""
    if not isinstance(command, TaskCommand) or command.kind == "expire_task":
        return False
    task = world.one(Task, task_id=command.task_id, board_id=command.board_id)
    if task is None or not tasks.overdue(task, world):
        return False
    _append(service(), world.at, Decision([tasks.expiry(task)], task.board_id), [])
    return True


def _check_revision(command: Command, expected: int | None) -> None:
    """Compares with the entity's own last revision: a message elsewhere never fails a claim."""
    if expected is None or command.entity is None:
        return
    kind, field = command.entity
    given = getattr(command, field)
    row: Any = shapes.find(kind, given) if given else None
    stream = getattr(command, "board_id", None) or words.HOME_STREAM
    if row is not None and expected > row.revision and expected > log.head(stream)[0]:
        sentence = f"There is no revision {expected} yet; send the revision that your view of it had."
        raise Refused("future_revision", sentence)
    if row is not None and row.revision > expected:
        changes = _changes(getattr(row, "board_id", words.HOME_STREAM), field, given, expected)
        sentence = f"{kind} {given} changed since your view (revision {expected}): {_last(changes, row)}"
        current = {**shapes.entity(row), "changes": changes}
        raise Refused("stale_view", sentence, outcome="conflict", current=current)


def _changes(stream: str, field: str, given: str, expected: int) -> list[dict[str, Any]]:
    """What happened to an entity after a revision, oldest first."""
    mention = f'"{shapes.camel(field)}":{json.dumps(given)}'
    moving = [name for name, event in EVENTS.items() if event.entity and event.entity[1] == field]
    later = Event.objects.filter(stream=stream, revision__gt=expected, type__in=moving)
    rows = later.filter(data__contains=mention).order_by("revision")
    return [{"revision": e.revision, "type": e.type, "actor": e.actor, "at": e.at} for e in rows[:20]]


def _last(changes: list[dict[str, Any]], row: models.Model) -> str:
    what = "it moved on."
    if changes:
        last = changes[-1]
        what = f"{last['type'].removeprefix('agentlink.')} by {last['actor']} at revision {last['revision']}."
    if isinstance(row, Task) and row.status == "claimed" and row.lease_until:
        what += f" {row.holder} holds it until {iso(row.lease_until)}."
    return what


def _refusal(command: Command, no: Refused, key: str | None) -> Receipt:
    extra = {"nearest": no.nearest} if no.nearest else {}
    board_id = getattr(command, "board_id", None)
    # The sentence may repeat what was given, and what was given may be a secret.
    sentence = redact(no.sentence).text
    return Receipt(no.outcome, command.kind, no.code, sentence, key, board_id, current=no.current, extra=extra)


def _apply(
    command: Command,
    actor: Actor,
    at: datetime,
    key: str | None,
    digest: str,
    decision: Decision,
    rule_ids: list[str],
) -> Receipt:
    appended = _append(actor, at, decision, rule_ids)
    on_board = [item for item in appended if item.event.board_id == decision.board_id]
    revision = on_board[-1].event.revision if on_board else None
    receipt = Receipt(
        "applied",
        command.kind,
        key=key,
        board_id=decision.board_id or None,
        revision=revision,
        entity=_entity(decision, appended),
        events=[item.event_id for item in appended],
        extra=decision.extra,
    )
    _store(receipt, actor, at, digest)
    return receipt


def _append(actor: Actor, at: datetime, decision: Decision, rule_ids: list[str]) -> list[log.Appended]:
    """Home events first (a node exists before it is invited), then the board's, each in its stream."""
    origin: dict[str, Any] = {"surface": actor.surface, "host": actor.host}
    if actor.session_id:
        origin["sessionId"] = actor.session_id
    if rule_ids:
        origin["redacted"] = rule_ids
    home = [event for event in decision.events if event.home]
    rest = [event for event in decision.events if not event.home]
    appended = []
    for stream, events in ((words.HOME_STREAM, home), (decision.board_id, rest)):
        if events:
            appended += log.append(stream, events, actor=actor.node_id, origin=origin, at=at)
    for event in home:
        if isinstance(event, PeerRegistered) and event.kind == "agent":
            trust.issue(event.node_id)
    return appended


def _entity(decision: Decision, appended: list[log.Appended]) -> dict[str, Any] | None:
    """The row that the command speaks of, at the revision that it has now."""
    if decision.entity is None:
        return None
    kind, entity_id = decision.entity
    moved = [item.event.revision for item in appended if _moves(item.event.data, kind, entity_id)]
    revision = moved[-1] if moved else _stored_revision(kind, entity_id, decision.board_id)
    return {"type": kind, "id": entity_id, "revision": revision}


def _moves(event: EventData, kind: str, entity_id: str) -> bool:
    return event.entity is not None and event.entity[0] == kind and getattr(event, event.entity[1]) == entity_id


def _stored_revision(kind: str, entity_id: str, board_id: str) -> int | None:
    """The revision of a row that no event of this command moved; a summary has none."""
    return getattr(shapes.find(kind, entity_id, board_id), "revision", None)


def _store(receipt: Receipt, actor: Actor, at: datetime, digest: str) -> None:
    if receipt.key is None:
        return
    body = {name: getattr(receipt, name) for name in Receipt.__dataclass_fields__ if name != "key"}
    rows.insert(
        StoredReceipt,
        actor=actor.node_id,
        key=_kept(receipt.key),
        content_digest=digest,
        body=json.dumps(body),
        at=iso(at),
    )
