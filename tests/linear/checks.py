"""Checks that need a store of their own and may be run on planted faults too: each raises when something is wrong."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.linear import clock, contest, findings

SECRET: Final = "ghp_" + "h7Kq2mZx9Rt4Lw8Yc1Vb6Nd3Pf5Sg0Ja2UeQ"
ENOUGH: Final = 200
"""Statements of one command; more would mean that the killing never ended."""


def contended() -> None:
    """Eight processes contend, and some are killed: nothing of what they saw may be wrong."""
    _contest(contest.Plan(claims=400, every=0.25, seed=3))


def overslept() -> None:
    """The same, and who holds a task often lets its lease end."""
    _contest(contest.Plan(claims=400, every=0.25, seed=4, rests=30))


def _contest(plan: contest.Plan) -> None:
    from django.conf import settings

    clock.install()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = contest.contend(folder, Path(settings.AGENTLINK_HOME), plan)
        found = findings.of(folder, result).faults
    assert not found, {look: (len(faults), faults[0]) for look, faults in found.items()}


def killed_at_every_statement() -> None:
    """Wherever a process dies: the same key, given again, has acted once in the end."""
    from boards.models import Event
    from boards.schemas import Actor
    from tests import people

    who = people.people()
    board_id = people.board(who)
    task_id = people.contract(who, board_id)
    wish: dict[str, Any] = {"boardId": board_id, "taskId": task_id, "fencing": people.claim(who, board_id, task_id)}
    renewed = Event.objects.filter(stream=board_id, type="agentlink.task.renewed")
    for number in range(1, ENOUGH):
        renew = partial(people.give, "renew_task", Actor("alice"), key=f"k{number}", **wish)
        killed = _killed_at(number, renew)
        again = renew()
        assert again.accepted and renewed.count() == number, f"killed at statement {number}: {renewed.count()} renewals"
        if not killed:
            assert number > 5, "nothing was killed"
            return
    raise AssertionError("every statement was the last one")


def _killed_at(number: int, give: Callable[[], object]) -> bool:
    """Gives a command in a child that dies just before its statement of this number; False when it had fewer."""
    from django.db import connection

    connection.close()  # a SQLite connection must not be carried across a fork
    pid = os.fork()
    if pid == 0:
        seen: list[str] = []

        def count(statement: str) -> None:
            seen.append(statement)
            if len(seen) == number:
                os.kill(os.getpid(), signal.SIGKILL)

        connection.ensure_connection()
        connection.connection.set_trace_callback(count)
        give()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def in_no_file() -> None:
    """A secret that was sent is in no byte of any file of the home: not in the store, nor in its write-ahead log."""
    from django.conf import settings

    from tests import people

    who = people.people()
    board_id = people.board(who)
    people.done("send_message", who.alice, board_id=board_id, to=["bob"], content=f"use {SECRET} for now")
    files = [path for path in Path(settings.AGENTLINK_HOME).rglob("*") if path.is_file()]
    assert len(files) > 2
    holding = [path.name for path in files if SECRET.encode() in path.read_bytes()]
    assert not holding, f"the secret stands in {holding}"


CHECKS: Final[dict[str, Callable[[], None]]] = {
    "contended": contended,
    "overslept": overslept,
    "killed at every statement": killed_at_every_statement,
    "in no file": in_no_file,
}
