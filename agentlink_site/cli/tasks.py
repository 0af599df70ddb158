"""Tasks: claim, renew, hand-over, release, complete.

The claim's fencing number is kept here and sent with every later write.
"""

from __future__ import annotations

import contextlib
from typing import Annotated, Any, Final

import typer

from agentlink_site.cli import fencing, which
from agentlink_site.cli.app import BoardArgument, For, app, command
from agentlink_site.cli.desk import Desk, Json, Reply
from agentlink_site.cli.terminal import line, say

Task = Annotated[str, typer.Argument(metavar="TASK")]
Lease = Annotated[int | None, typer.Option(metavar="SECONDS", help="How long the lease lasts: 60 to 86400.")]
Fencing = Annotated[
    int | None,
    typer.Option("--fencing", metavar="N", help="The number that the claim returned, when it was made elsewhere."),
]
Note = Annotated[str, typer.Option()]
OVER: Final = frozenset({"release_task", "complete_task"})
"""What ends a claim; after an offer to hand over the holder still holds."""


@command(app, "claim", writes=True)
def claim(desk: Desk, board: BoardArgument, task: Task, lease: Lease = None, for_: For = None) -> None:
    """Take an open task. Exactly one claim wins; the others are told who holds it."""
    board_id = which.board(desk, board, tasks=task)
    reply = desk.give("claim_task", boardId=board_id, taskId=task, leaseSeconds=lease, node=for_)
    number = reply.data["receipt"].get("fencing")
    if number is not None:
        for node in {str(reply.data["holder"]), for_ or str(reply.data["holder"])}:
            _keep(node, task, number)
    desk.show(reply, _print_claim)


def _keep(node: str, task: str, number: int) -> None:
    with contextlib.suppress(ValueError):  # a name with spaces: it is kept under the holder's id
        fencing.keep(node, task, number)


def _print_claim(data: Json) -> None:
    say(
        f"{line(data['holder'])} holds {line(data['taskId'])} until {data['leaseUntil']} "
        f"(fencing number {data['fencing']})."
    )


def _fenced(desk: Desk, kind: str, board: str, task: str, number: int | None, for_: str | None, **fields: Any) -> Reply:
    """A write by the holder, with the number of its own claim."""
    board_id = which.board(desk, board, tasks=task)
    node = for_ or desk.me()
    known = fencing.recall(node, task) if number is None else number
    reply = desk.give(kind, boardId=board_id, taskId=task, fencing=known, node=for_, **fields)
    if kind in OVER:
        fencing.forget(node, task)
    return reply


@command(app, "renew", writes=True)
def renew(
    desk: Desk, board: BoardArgument, task: Task, lease: Lease = None, number: Fencing = None, for_: For = None
) -> None:
    """Start the lease anew from now."""
    reply = _fenced(desk, "renew_task", board, task, number, for_, leaseSeconds=lease)
    desk.show(reply, _print_claim)


@command(app, "hand-over", writes=True)
def hand_over(
    desk: Desk,
    board: BoardArgument,
    task: Task,
    to: Annotated[str, typer.Argument(metavar="TO", help="Who may take it; - takes the offer back.")],
    summary: Annotated[str, typer.Option(help="What the next one has to know.")],
    number: Fencing = None,
    for_: For = None,
) -> None:
    """Offer the task to a node, which takes it with its own claim; until then the holder holds it."""
    offered = None if to == which.THIS else to
    reply = _fenced(desk, "hand_over_task", board, task, number, for_, to=offered, summary=summary)
    desk.show(reply, _print_offer)


def _print_offer(data: Json) -> None:
    held = f"{line(data['holder'])} holds {line(data['taskId'])} until {data['leaseUntil']}"
    to = data["offeredTo"]
    say(f"{held}; {line(to)} takes it with `agentlink claim`." if to else f"{held}; it is offered to nobody.")


@command(app, "release", writes=True)
def release(
    desk: Desk, board: BoardArgument, task: Task, note: Note = "", number: Fencing = None, for_: For = None
) -> None:
    """Give the task back."""
    reply = _fenced(desk, "release_task", board, task, number, for_, note=note)
    desk.show(reply, lambda data: say(f"{line(data['taskId'])} is {data['status']} again."))


@command(app, "complete", writes=True)
def complete(
    desk: Desk, board: BoardArgument, task: Task, note: Note = "", number: Fencing = None, for_: For = None
) -> None:
    """Finish the task through the gate: every requirement needs verified evidence."""
    reply = _fenced(desk, "complete_task", board, task, number, for_, note=note)
    desk.show(reply, lambda data: say(f"{line(data['taskId'])} is {data['status']}."))
