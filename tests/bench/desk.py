"""A scratch home with a small legal history, and the commands that are measured on it."""

from __future__ import annotations

import gc
import itertools
import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boards.schemas import Actor, Receipt
    from tests.people import People

WORKERS = 16
SECONDS_APART = 11
"""By this much later each message is given, so that the limit on bursts lets any number through."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A new home and Django on it; once per process, because settings are read once. Removed at the end."""
    with tempfile.TemporaryDirectory(prefix="al-bench-") as folder:
        home = Path(folder) / "home"
        for name in [name for name in os.environ if name.startswith(("AGENTLINK_", "AGINTIFLOW_", "DJANGO_"))]:
            del os.environ[name]
        os.environ |= {"AGENTLINK_HOME": str(home), "AGINTIFLOW_HOME": str(home.parent / "agintiflow")}
        os.environ["DJANGO_SETTINGS_MODULE"] = "agentlink_site.settings"
        import django

        django.setup()
        from agentlink_site.migrations import migrate

        migrate()
        yield home
        from django.db import connection

        connection.close()


class LaterEachTime:
    """The log's clock, moved forward by hand."""

    def __init__(self) -> None:
        from boards import log, times

        self._ahead, self._now = timedelta(), times.now
        log.now = self

    def __call__(self) -> datetime:
        return self._now() + self._ahead

    def move(self, times: int = 1) -> None:
        """Lets the time of that many messages pass."""
        self._ahead += timedelta(seconds=SECONDS_APART * times)


@dataclass(slots=True)
class Desk:
    """Who is there, on which board, with which task."""

    who: People
    workers: list[Actor]
    board_id: str
    task_id: str

    def message(self, text: str, sender: Actor, to: str) -> Receipt:
        """One message to one recipient, as the edges give it: a fresh command with a key."""
        from boards.commands import execute
        from boards.schemas import COMMANDS

        wish = {"boardId": self.board_id, "to": [to], "type": "task_update", "content": text}
        return applied(execute(COMMANDS["send_message"].model_validate(wish), sender, key=new_key()))

    def task(self, kind: str, fencing: int | None = None) -> Receipt:
        """Alice's ``claim_task``, ``renew_task`` or ``release_task``."""
        from boards.commands import execute
        from boards.schemas import COMMANDS

        wish = {"boardId": self.board_id, "taskId": self.task_id} | ({} if fencing is None else {"fencing": fencing})
        return applied(execute(COMMANDS[kind].model_validate(wish), self.who.alice, key=new_key()))


def applied(receipt: Receipt) -> Receipt:
    """The receipt of a step that must work."""
    if receipt.outcome != "applied":
        raise RuntimeError(f"{receipt.command} was {receipt.outcome}: {receipt.detail}")
    return receipt


def set_up() -> Desk:
    """The human, Alice and Bob, sixteen workers, one board, one contract that Alice has accepted."""
    from boards.schemas import Actor
    from tests import people

    who = people.people()
    names = [f"worker-{number}" for number in range(1, WORKERS + 1)]
    for name in names:
        people.done("register_node", who.human, name=name)
    members = dict.fromkeys(["alice", "bob", *names], "worker")
    board_id = people.board(who, title="Record the demo", members=members)
    task_id = people.contract(who, board_id)
    return Desk(who, [Actor(name, "cli") for name in names], board_id, task_id)


_numbers = itertools.count(1)


def new_key() -> str:
    """An idempotency key as clients make them."""
    return str(uuid.uuid4())


def report() -> str:
    """A text as agents send it, never twice the same."""
    number = next(_numbers)
    return f"Recorded file {number}: 412 frames, no gaps. The second camera is next; see the evidence for the first."


def settle() -> None:
    """As the server does when it is ready: what lives now lives on."""
    gc.collect()
    gc.freeze()
