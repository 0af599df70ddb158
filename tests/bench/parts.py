"""The parts of the bench in their order, and how much each measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from tests import crowd
from tests.bench import (
    browser,
    command,
    commandline,
    desk,
    idle,
    inbox,
    live,
    pages,
    scale,
    sockets,
    stalled,
    start,
    writers,
)
from tests.bench.committer import committing
from tests.bench.desk import Desk, LaterEachTime
from tests.bench.figures import Figure
from tests.site.servers import Server

Found = tuple[list[Figure], list[str]]


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    rounds: int
    batch: int
    writers: int
    commands: int
    turns: int
    frames: int
    texts: int
    sockets: int
    stalled: int
    kinds: int
    starts: int
    pages: int
    inboxes: int
    agents: int
    sends: int
    idle_milliseconds: int
    big: crowd.Size
    desks: crowd.Size


FULL: Final = Size(
    rounds=25,
    batch=40,
    writers=writers.WRITERS,
    commands=40,
    turns=5,
    frames=200,
    texts=60,
    sockets=1000,
    stalled=300,
    kinds=len(stalled.KINDS),
    starts=5,
    pages=3,
    inboxes=40,
    agents=commandline.AGENTS,
    sends=1,
    idle_milliseconds=5000,
    big=crowd.FULL,
    desks=crowd.Size(workers=12, contracts=24),
)
QUICK: Final = Size(
    rounds=2,
    batch=3,
    writers=3,
    commands=3,
    turns=1,
    frames=4,
    texts=2,
    sockets=12,
    stalled=6,
    kinds=1,
    starts=1,
    pages=1,
    inboxes=2,
    agents=2,
    sends=1,
    idle_milliseconds=200,
    big=crowd.SMALL,
    desks=crowd.SMALL,
)
"""Shows that everything runs. Its figures say nothing, so no limit is judged."""


class Bench:
    """One run: its homes are made when the first part needs them."""

    def __init__(self, home: Path, size: Size) -> None:
        self.home, self.size = home, size

    @cached_property
    def desk(self) -> Desk:
        """A small legal history in this process's own home."""
        made = desk.set_up()
        desk.settle()
        return made

    @cached_property
    def clock(self) -> LaterEachTime:
        """From its first use on the log's present is moved by hand: what needs the real time comes before."""
        return LaterEachTime()

    @cached_property
    def big(self) -> crowd.Crowd:
        """The big home, whose sessions have been looked at."""
        big = crowd.copied(self.size.big, self.home.parent / "big")
        big.scanned_anew()
        return big

    def live(self) -> Found:
        """A young board in Chromium, frames until its list of messages is full, then Chromium again."""
        made, size, path = self.desk, self.size, browser.chromium()
        with committing(made) as committer, Server(self.home, launcher=False) as server:
            young = browser.waits(made, server, committer, path, size.texts) if path else []
            figures, notes = live.measure(made, server, server.login(), committer, samples=size.frames)
            full = browser.waits(made, server, committer, path, size.texts) if path else []
        for board, waits in (("a young board", young), ("a full board", full)):
            if waits:
                more = browser.figure(board, waits, figures[0].ours)
                figures, notes = figures + more[0], notes + more[1]
        return figures, notes if path else [*notes, "Without Chromium the way to changed text was not measured."]

    def sockets(self) -> Found:
        """A thousand watch one board."""
        with committing(self.desk) as committer:
            return sockets.measure(
                self.desk, self.home, committer, sockets=self.size.sockets, rounds=self.size.turns * 2
            )

    def command(self) -> Found:
        """One command against its statements."""
        return command.measure(self.desk, self.home, self.clock, rounds=self.size.rounds, batch=self.size.batch)

    def writers(self) -> Found:
        """Many that write at once."""
        size = self.size
        return writers.measure(
            self.desk, self.home, self.clock, writers=size.writers, commands=size.commands, rounds=size.turns
        )

    def stalled(self) -> Found:
        """Connections that stall beside others."""
        return stalled.measure(
            self.home.parent / "stalled" / "agentlink", connections=self.size.stalled, kinds=self.size.kinds
        )

    def commandline(self) -> Found:
        """Agents at their command lines."""
        desks = crowd.copied(self.size.desks, self.home.parent / "desks")
        return commandline.measure(desks, agents=self.size.agents, rounds=1, sends=self.size.sends)

    def start(self) -> Found:
        """The server's start."""
        return start.measure(self.big, self.home.parent / "start" / "agentlink", samples=self.size.starts)

    def pages(self) -> Found:
        """The first page of everything."""
        return pages.measure(self.big, samples=self.size.pages)

    def inbox(self) -> Found:
        """The inbox with ten thousand messages."""
        return inbox.measure(self.big, samples=self.size.inboxes)

    def scale(self) -> Found:
        """Commands on the big board."""
        return scale.measure(self.big, rounds=5, batch=max(1, self.size.batch // 4))

    def idle(self) -> Found:
        """Nothing happens."""
        return idle.measure(self.big, milliseconds=self.size.idle_milliseconds)


PARTS: Final[dict[str, Callable[[Bench], Found]]] = {
    "live": Bench.live,
    "sockets": Bench.sockets,
    "command": Bench.command,
    "writers": Bench.writers,
    "stalled": Bench.stalled,
    "commandline": Bench.commandline,
    "start": Bench.start,
    "pages": Bench.pages,
    "inbox": Bench.inbox,
    "scale": Bench.scale,
    "idle": Bench.idle,
}
"""In this order: the live parts need the real time, commands move their clock."""
