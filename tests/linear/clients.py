"""One client process: it contends for tasks, writes down what it asks and what it is told, and may die at any time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.linear.calls import Answer, Call, View, Wish, begun_line, ended_line
from tests.linear.clock import Clock, milliseconds

Ask = Callable[[Call], Answer | None]
"""Gives a command and waits for its answer; None when none came."""
LEASES: Final = (60_000, 60_000, 120_000, 300_000)
AT_ONCE: Final = 3
"""So many open tasks are contended for."""
FREE: Final = {"claim": 85, "look": 5, "late": 6, "again": 3, "reuse": 1}
OFTEN: Final = {"release": 44, "renew": 14, "claim": 13}
HOLDING: Final = OFTEN | {"hand_over": 9, "late": 6, "again": 5, "look": 4, "reuse": 2, "complete": 1}
"""What a client does, by weight; ``late``: a write with an old fencing number; ``again``: a repetition of an old key;
``rest``: it lets its leases of a minute end."""
REST: Final = 0.55
"""Real seconds."""


@dataclass
class Desk:
    """What one client knows."""

    node: str
    board_id: str
    tasks: list[str]
    others: list[str]
    random: Random
    ask: Ask
    clock: Clock
    file: int
    number: int
    rests: int
    fencing: dict[str, int] = field(default_factory=dict)
    past: dict[str, int] = field(default_factory=dict)
    revisions: dict[str, int] = field(default_factory=dict)
    applied: list[Call] = field(default_factory=list)

    def give(self, call: Call) -> None:
        """One attempt, written down before and after."""
        self.number += 1
        number, call = self.number, replace(call, begun=self.clock.milliseconds())
        os.write(self.file, begun_line(number, call))
        answer = self.ask(call)
        if answer is not None:
            os.write(self.file, ended_line(number, self.clock.milliseconds(), answer))
            self._learn(call, answer)

    def _learn(self, call: Call, answer: Answer) -> None:
        task = call.wish.task
        if call.reused:
            return
        if answer.view is not None:
            self.revisions[task] = answer.view.revision
            if answer.view.status == "done" and task in self.tasks:
                self.tasks.remove(task)
        if answer.code in ("not_held", "not_holder", "fenced") and call.wish.fencing == self.fencing.get(task):
            self._lose(task)
        if answer.code == "already_held" and answer.view is not None:
            self.fencing[task] = answer.view.fencing
        if answer.outcome == "applied":
            self._did(call, answer)

    def _did(self, call: Call, answer: Answer) -> None:
        task = call.wish.task
        self.applied = [*self.applied[-19:], call]
        if answer.revision is not None:
            self.revisions[task] = answer.revision
        if call.wish.do == "claim" and answer.fencing is not None:
            self.fencing[task] = answer.fencing
        if call.wish.do in ("release", "complete"):
            self._lose(task)

    def _lose(self, task: str) -> None:
        if task in self.fencing:
            self.past[task] = self.fencing.pop(task)

    def step(self) -> bool:
        """One call; whether it was a claim."""
        weights = HOLDING | {"rest": self.rests} if self.fencing else FREE
        does = self.random.choices(list(weights), list(weights.values()))[0]
        if does == "rest":
            time.sleep(REST)
            return False
        if does in ("again", "reuse"):
            return self._repeat(reuse=does == "reuse")
        wish = self._wish(does)
        if wish is None:
            return False
        self.give(Call(self.node, f"{self.node}-{self.random.getrandbits(64):x}", wish, 0))
        return wish.do == "claim"

    def _repeat(self, *, reuse: bool) -> bool:
        if not self.applied:
            return False
        old = self.random.choice(self.applied)
        if reuse:
            other = (
                replace(old.wish, lease=old.wish.lease + 1000) if old.wish.lease else replace(old.wish, note="other")
            )
            old = replace(old, wish=other, reused=True)
        self.give(old)
        return old.wish.do == "claim" and not reuse

    def _wish(self, does: str) -> Wish | None:
        if does in ("claim", "look"):
            task = self.random.choice(self.tasks[:AT_ONCE])
            lease = self.random.choice(LEASES) if does == "claim" else 0
            return Wish(does, task, lease, expected=self._expected(task) if lease else None)
        held = self.past if does == "late" else self.fencing
        if not held:
            return None
        task = self.random.choice(sorted(held.keys() & self.fencing.keys() or held))
        do = self.random.choice(("renew", "release")) if does == "late" else does
        lease = self.random.choice(LEASES) if do == "renew" else 0
        to = self.random.choice(self.others) if do == "hand_over" else ""
        note = self.random.choice(("half done", "tests are missing")) if do == "hand_over" else ""
        return Wish(do, task, lease, held[task], to, note, self._expected(task))

    def _expected(self, task: str) -> int | None:
        """Sometimes the card that it saw last, which may be stale."""
        return self.revisions.get(task) if self.random.random() < 0.25 else None


# --- the two ways to ask ---------------------------------------------------------------------------------------------


def fields(call: Call, board_id: str) -> dict[str, Any]:
    """The command in the names of the API."""
    wish = call.wish
    told: dict[str, Any] = {"boardId": board_id, "taskId": wish.task}
    if wish.do in ("claim", "renew"):
        told["leaseSeconds"] = wish.lease // 1000
    if wish.fencing is not None:
        told["fencing"] = wish.fencing
    if wish.do == "hand_over":
        told |= {"to": wish.to, "summary": wish.note}
    elif wish.note:
        told["note"] = wish.note
    return told


def in_process(board_id: str) -> Ask:
    """The commands themselves, in this process."""
    from boards.commands import execute
    from boards.schemas import COMMANDS, Actor

    def ask(call: Call) -> Answer:
        if call.wish.do == "look":
            return look(call.wish.task)
        command = COMMANDS[f"{call.wish.do}_task"].model_validate(fields(call, board_id))
        return answer_of(execute(command, Actor(call.node), key=call.key, expected_revision=call.wish.expected).body())

    return ask


def look(task: str) -> Answer:
    """The row as it is."""
    from boards.models import Task
    from boards.rules.tasks import view

    return Answer("seen", view=view_of(view(Task.objects.get(task_id=task))))


def through_client(board_id: str) -> Ask:
    """The command line's own client with the node's token: the server's socket, or the API in this process."""
    import json

    from agentlink_site import client

    def ask(call: Call) -> Answer | None:
        if call.wish.do == "look":
            return look(call.wish.task)
        body = {"command": f"{call.wish.do}_task", **fields(call, board_id)}
        if call.wish.expected is not None:
            body["expectedRevision"] = call.wish.expected
        try:
            status, _, content = client.call("POST", "/commands", body, node=call.node, key=call.key)
        except client.Outage:
            return None
        told = json.loads(content)
        return answer_of(told["receipt"] or {"outcome": "rejected", "code": f"{status}-{told['code']}"})

    return ask


def answer_of(receipt: dict[str, Any]) -> Answer:
    """A receipt's JSON form."""
    entity, current, until = receipt.get("entity"), receipt.get("current"), receipt.get("leaseUntil")
    return Answer(
        receipt["outcome"],
        receipt["code"],
        entity["revision"] if entity else None,
        receipt.get("fencing"),
        _moment(until) if until else None,
        tuple(receipt.get("events", ())),
        view_of(current) if current and "taskId" in current else None,
    )


def view_of(told: dict[str, Any]) -> View:
    """A task as a conflict tells it."""
    until = told["leaseUntil"]
    return View(
        told["status"],
        told["holder"] or "",
        told["fencing"],
        _moment(until) if until else 0,
        told["offeredTo"] or "",
        told["revision"],
    )


def _moment(text: str) -> int:
    from boards.times import parse

    return milliseconds(parse(text))


def history(folder: Path, node: str) -> Path:
    """Where a client writes, one after the other when it is killed and follows itself."""
    return folder / f"{node}.history"
