"""Another process that commits: it gives one command when asked, and says when it was committed."""

from __future__ import annotations

import itertools
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from tests.bench.desk import Desk

PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Committed:
    """The board's new revision, and when ``execute`` had returned."""

    revision: int
    at: float
    """CLOCK_MONOTONIC in milliseconds: on one machine all processes share it."""
    clock: float
    """The wall clock in milliseconds, as ``Date.now()``."""


class Committer:
    """Gives messages in its own process, by sixteen senders in turn, so that none exceeds its burst."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def message(self, text: str) -> Committed:
        """Returns when the command was accepted."""
        self._pipe.send(text)
        if not self._pipe.poll(PATIENCE):
            raise RuntimeError(f"The other process did not commit within {PATIENCE:.0f} s.")
        committed: Committed = self._pipe.recv()
        return committed


@contextmanager
def committing(desk: Desk) -> Iterator[Committer]:
    """A fork of this process; enter it before anything starts a thread or an event loop."""
    from django.db import connection

    connection.close()  # a SQLite connection must not be carried across a fork
    forked = multiprocessing.get_context("fork")
    here, there = forked.Pipe()
    process = forked.Process(target=_serve, args=(desk, there))
    process.start()
    there.close()
    try:
        yield Committer(here)
    finally:
        here.close()
        process.kill()
        process.join()


def _serve(desk: Desk, pipe: Connection) -> None:
    for sender in itertools.cycle(desk.workers):
        receipt = desk.message(pipe.recv(), sender, "bob")
        at, clock = time.monotonic_ns() / 1e6, time.time_ns() / 1e6
        assert receipt.revision is not None
        pipe.send(Committed(receipt.revision, at, clock))
