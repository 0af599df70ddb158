"""Events: watch them as they come, read them back with log."""

from __future__ import annotations

import json
import math
import shlex
import signal
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Final

import typer

from agentlink_site.cli import cursors, events, which
from agentlink_site.cli.app import BoardArgument, app, board_names, command
from agentlink_site.cli.desk import Desk, Json, note, put
from agentlink_site.cli.terminal import entry, line, say, table

INTERRUPTED: Final = 128 + signal.SIGINT
DIGEST: Final = 8
"""Digits of a digest that a table shows."""
After = Annotated[int | None, typer.Option(min=0, max=events.LAST, metavar="N", help="Only what comes after this.")]


@dataclass
class Watch:
    """One run: what is followed, and how far it has come."""

    desk: Desk
    board: str | None
    after: int
    name: str | None

    def show(self, batch: list[Json], after: int) -> None:
        """Prints a batch, and only then keeps its place: what was cut off is shown again, never skipped."""
        for event in batch:
            if self.desk.as_json:
                put(json.dumps(event).encode())
            else:
                entry(events.one_line(event))
        sys.stdout.flush()
        moved, self.after = after != self.after, after
        if self.name and moved:
            cursors.keep(self.name, self.board, after)

    def resume_line(self) -> str:
        """The command that goes on from here."""
        words = ["agentlink", "watch", *([self.board] if self.board else [])]
        words += ["--resume", self.name] if self.name else ["--after", str(self.after)]
        words += ["--as", self.desk.node] if self.desk.node else []
        return shlex.join(words)


@command(app, "watch")
def watch(
    desk: Desk,
    board: Annotated[
        str | None,
        typer.Argument(metavar="[BOARD]", help="One board; left out: all that you read.", autocompletion=board_names),
    ] = None,
    after: After = None,
    once: Annotated[bool, typer.Option("--once", help="Print what is there already and end.")] = False,
    resume: Annotated[
        str | None, typer.Option(metavar="NAME", help="Go on where the watcher of this name stopped.")
    ] = None,
) -> None:
    """Follow what happens, one line each. From now on, unless --after or --resume say from where."""
    board_id = None if board is None else which.board(desk, board)
    start = _start(desk, board_id, after, resume)
    run = Watch(desk, board_id, start, resume)
    try:
        for batch, further in events.news(desk, board_id, start, -math.inf if once else math.inf):
            run.show(batch, further)
    except KeyboardInterrupt:
        note(f"Stopped at {run.after}. Go on with: {run.resume_line()}")
        raise typer.Exit(INTERRUPTED) from None
    if not resume:
        desk.tell(f"Go on with: {run.resume_line()}")


def _start(desk: Desk, board: str | None, after: int | None, name: str | None) -> int:
    """Where the named watcher stopped, else ``--after``, else now; a new name is kept at once."""
    if name is not None:
        cursors.check(desk, name)
        kept = cursors.recall(desk, name, board)
        if kept is not None:
            return kept
    start = events.present(desk, board) if after is None else after
    if name is not None:
        cursors.keep(name, board, start)
    return start


# --- log -------------------------------------------------------------------------------------------------------------


@command(app, "log")
def log(
    desk: Desk,
    board: BoardArgument = which.THIS,
    type_: Annotated[str | None, typer.Option("--type", help="Only these: message, message.sent, ...")] = None,
    by: Annotated[str | None, typer.Option("--by", metavar="NODE", help="Only what this node did.")] = None,
    after: After = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
) -> None:
    """A board's events with who made them and their digests: the last ones, or the first after --after."""
    board_id = which.board(desk, board)
    head = events.present(desk, board_id)
    every = type_ is None and by is None
    first = (max(0, head - limit) if every else 0) if after is None else after
    fitting = (event for event in _all(desk, board_id, first) if _fits(event, type_, by))
    found = list(deque(fitting, maxlen=limit) if after is None else islice(fitting, limit))
    if desk.as_json:
        put(json.dumps({"boardId": board_id, "sourceRevision": head, "events": found}).encode())
        return
    rows = [
        (e["revision"], _moment(e["at"]), events.kind(e), e["actor"], e["origin"].get("surface"), e["digest"][:DIGEST])
        for e in found
    ]
    table(("rev", "at (UTC)", "type", "actor", "via", "digest"), rows, "No event fits.")
    if found and after is None and found[0]["revision"] > 1:
        say(f"Earlier ones: agentlink log {line(board_id)} --after 0")
    elif found and found[-1]["revision"] < head:
        say(f"Later ones: agentlink log {line(board_id)} --after {found[-1]['revision']}")


def _moment(at: str) -> str:
    """``11-30 10:00:00``: what fits beside the rest on a screen of 80 columns; --json has all of it."""
    return at[5:19].replace("T", " ")


def _all(desk: Desk, board: str, after: int) -> Iterator[Json]:
    more = True
    while more:
        found, after, more = events.page(desk, board, after)
        yield from found


def _fits(event: Json, kind: str | None, by: str | None) -> bool:
    named = events.kind(event)
    of_kind = kind is None or named == (wanted := kind.removeprefix(events.PREFIX)) or named.startswith(f"{wanted}.")
    return of_kind and (by is None or str(event["actor"]).casefold() == by.casefold())
