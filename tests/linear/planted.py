"""Faults that are put into the product's code in memory, each in a child process of its own."""

from __future__ import annotations

import contextlib
import copy
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

Install = Callable[[], None]
PRODUCT: Final = ("boards", "agentlink_site", "peers", "evidence")
EARLY: Final = timedelta(seconds=20)


def swap(original: Any, new: Any) -> None:
    """Everywhere where the product names the original, in its modules and in their tables, the new one stands."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in PRODUCT:
            for owner in [vars(module), *(value for value in vars(module).values() if isinstance(value, dict))]:
                for key in [key for key, value in owner.items() if value is original]:
                    owner[key] = new


def seen_as(world: Any, model: type[Any], **columns: Any) -> Any:
    """The world in which every row of a model has these values."""

    def fetch(asked: type[Any], **filters: Any) -> list[Any]:
        found = [copy.copy(row) for row in world.fetch(asked, **filters)]
        for row in found if asked is model else ():
            vars(row).update(columns)
        return found

    return replace(world, fetch=fetch)


def no_compare_and_set() -> None:
    """A claim does not look whether the task is open."""
    from boards.models import Task
    from boards.rules import tasks

    real = tasks.claim_task
    swap(real, lambda command, world: real(command, seen_as(world, Task, status="open", holder="")))


def compared_outside() -> None:
    """A claim is decided before the writer's turn, by the rows of that moment."""
    from boards import log
    from boards.commands import execution
    from boards.rules import Refused, tasks

    real, decide = execution.execute, tasks.claim_task
    ready: list[Any] = []

    def execute(command: Any, actor: Any, **rest: Any) -> Any:
        ready.clear()
        if command.kind == "claim_task":
            with contextlib.suppress(Refused):
                ready.append(decide(command, execution._world(log.now(), actor)))
        return real(command, actor, **rest)

    swap(decide, lambda command, world: ready[0] if ready else decide(command, world))
    swap(real, execute)


def receipt_after_commit() -> None:
    """The receipt has a transaction of its own, after the command's."""
    from boards import log
    from boards.commands import execution

    real, store = execution.execute, execution._store
    late: list[Any] = []

    def execute(*given: Any, **rest: Any) -> Any:
        receipt = real(*given, **rest)
        while late:
            with log.writer():
                store(*late.pop())
        return receipt

    swap(store, lambda *given: late.append(given))
    swap(real, execute)


def stale_read() -> None:
    """A process reads a task anew only when it has changed something itself."""
    from boards.commands import execution
    from boards.commands.store import Memory
    from boards.models import Task

    real, fetch = execution.execute, Memory.fetch
    kept: dict[str, list[Any]] = {}

    def remembered(self: Any, model: type[Any], **filters: Any) -> list[Any]:
        if model is not Task:
            return fetch(self, model, **filters)
        return list(kept.setdefault(repr(filters), fetch(self, model, **filters)))

    def execute(*given: Any, **rest: Any) -> Any:
        receipt = real(*given, **rest)
        if receipt.outcome == "applied":
            kept.clear()
        return receipt

    Memory.fetch = remembered  # type: ignore[method-assign]
    swap(real, execute)


def double_lease() -> None:
    """A lease counts for its holder only: anybody else gets one beside it."""
    from boards.rules import tasks

    real = tasks.held
    swap(real, lambda task, world: real(task, world) and task.holder == world.actor.node_id)


def gate_without_verdicts() -> None:
    """What is attached counts as proved."""
    from boards.models import Evidence
    from boards.rules import gate

    real = gate.contract_gate
    swap(real, lambda world, contract, **rest: real(seen_as(world, Evidence, verdict="verified"), contract, **rest))


def key_reuse_accepted() -> None:
    """A key alone finds its receipt, whatever is asked under it."""
    from boards.commands import execution

    swap(execution._digest, lambda kind, said: "")


def own_evidence_verified() -> None:
    """Nobody asks who attached it."""
    from boards.rules import evidence

    real = evidence._judged

    def judged(command: Any, world: Any) -> Any:
        bundle, me = real(command, world)
        bundle = copy.copy(bundle)
        bundle.node_id = ""
        return bundle, me

    swap(real, judged)


def fencing_ignored() -> None:
    """Whoever holds the task may write with any number."""
    from boards.rules import tasks

    real = tasks._fenced

    def fenced(command: Any, world: Any) -> Any:
        return real(command.model_copy(update={"fencing": tasks._task(command, world)[0].fencing}), world)

    swap(real, fenced)


def expiry_early() -> None:
    """A lease ends before its end."""
    from boards.rules import tasks

    real = tasks.held
    swap(real, lambda task, world: real(task, replace(world, at=world.at + EARLY)))


def redaction_after_storage() -> None:
    """Texts are stored as they come, and masked in what is stored once the command is committed."""
    from boards import log
    from boards.commands import cleaning, execution
    from boards.models import Event

    real = execution.execute

    def execute(*given: Any, **rest: Any) -> Any:
        receipt = real(*given, **rest)
        for event_id in receipt.events:
            with log.writer():
                row = Event.objects.get(event_id=event_id)
                data = log.canonical(cleaning.clean_data(json.loads(row.data)))
                Event.objects.filter(pk=row.pk).update(data=data, data_digest=log.sha256(data))
                log.rebuild(row.stream)
        return receipt

    swap(cleaning.clean, lambda command, actor: (command, []))
    swap(real, execute)


FAULTS: Final[dict[str, Install]] = {
    "no compare-and-set": no_compare_and_set,
    "compare outside the transaction": compared_outside,
    "receipt after commit": receipt_after_commit,
    "stale read": stale_read,
    "double lease": double_lease,
    "gate without verdicts": gate_without_verdicts,
    "key reuse accepted": key_reuse_accepted,
    "own evidence verified": own_evidence_verified,
    "fencing ignored": fencing_ignored,
    "expiry early": expiry_early,
    "redaction after storage": redaction_after_storage,
}
