"""Boards: boards, board, create, invite, join, leave, gate, close, block, resolve, summarize."""

from __future__ import annotations

from typing import Annotated

import typer

from agentlink_site import client
from agentlink_site.cli import which
from agentlink_site.cli.app import BoardArgument, Cursor, Limit, app, command
from agentlink_site.cli.desk import Desk, Json
from agentlink_site.cli.home import more
from agentlink_site.cli.terminal import block, brief, entry, line, say, table

GATE_STATUS = {"ready": 0, "blocked": 3, "not_ready": 4}
SHOWN_MESSAGES = 10


@command(app, "boards")
def boards(desk: Desk, limit: Limit = 100, cursor: Cursor = "") -> None:
    """The boards that you may read, latest change first."""
    desk.show(desk.get("/boards", {"limit": limit, "cursor": cursor}), _print_boards)


def _print_boards(data: Json) -> None:
    counted = ("unclaimed", "blocked", "needsYou", "unverified")
    rows = [(b["boardId"], b["title"], b["status"], *(b["counts"][name] for name in counted)) for b in data["boards"]]
    heads = ("id", "title", "status", "unclaimed", "blocked", "needs you", "unverified")
    table(heads, rows, "There is no board yet; `agentlink create TITLE` makes one.")
    more(data)


@command(app, "board")
def board(desk: Desk, board: BoardArgument = which.THIS) -> None:
    """One board: members, contracts, tasks, evidence, blockers and the last messages."""
    desk.show(desk.get(client.at("boards", which.board(desk, board))), _print_board)


def _print_board(data: Json) -> None:
    counts = ", ".join(f"{data['counts'][name]} {word}" for name, word in COUNTED.items())
    say(f"{line(data['title'])}  ({data['boardId']}, {data['status']}, revision {data['sourceRevision']})")
    if data["objective"]:
        block(data["objective"], "  ")
    say(f"{counts}.")
    say()
    members = [(m["nodeId"], m["role"], m["state"], m["status"], m["reach"]["sentence"]) for m in data["members"]]
    table(("member", "role", "state", "status", "reached"), members, "No members.")
    say()
    contracts = [
        (c["contractId"], c["actionability"], ", ".join(c["owners"]) or "anybody", brief(c["objective"]))
        for c in data["contracts"]
    ]
    table(("contract", "state", "owners", "objective"), contracts, "No contracts.")
    say()
    tasks = [(t["taskId"], t["status"], t["holder"], t["leaseUntil"], brief(t["title"])) for t in data["tasks"]]
    table(("task", "status", "holder", "lease until", "title"), tasks, "No tasks.")
    _print_evidence(data)
    _print_blockers(data)
    _print_messages(data)


COUNTED = {"unclaimed": "unclaimed", "blocked": "blockers", "needsYou": "need you", "unverified": "unverified"}


def _print_evidence(data: Json) -> None:
    say()
    rows = [
        (e["evidenceId"], e["contractId"], e["requirementId"] or "", e["verdict"], brief(e["summary"]))
        for e in data["evidence"]
    ]
    table(("evidence", "contract", "answers", "verdict", "summary"), rows, "No evidence.")


def _print_blockers(data: Json) -> None:
    found = [b for b in data["blockers"] if b["status"] == "open"]
    for one in found:
        entry(f"Blocker {one['blockerId']} by {line(one['openedBy'])}: {line(one['summary'])}")


def _print_messages(data: Json) -> None:
    earlier = data["older"]["messages"] + max(0, len(data["messages"]) - SHOWN_MESSAGES)
    if earlier:
        say(f"{earlier} earlier messages are not shown; --json shows the last hundred.")
    for message in data["messages"][-SHOWN_MESSAGES:]:
        steps = ", ".join(f"{line(d['nodeId'])} {d['step']}" for d in message["deliveries"])
        say()
        entry(
            f"{message['messageId']}  {message['createdAt']}  {message['type']} from {line(message['from'])}  ({steps})"
        )
        block(message["content"])


@command(app, "create", writes=True)
def create(
    desk: Desk,
    title: str,
    objective: Annotated[str, typer.Option(help="What this board is for.")] = "",
    board_id: Annotated[
        str | None, typer.Option("--id", help="The board's id; made from the title when left out.")
    ] = None,
    member: Annotated[list[str], typer.Option(metavar="NODE[=ROLE]", help="Invite; may be repeated.")] = [],  # noqa: B006
) -> None:
    """Make a board."""
    pairs = (text.rpartition("=") if "=" in text else (text, "", "worker") for text in member)
    members = {name: role for name, _, role in pairs}
    wish = {"title": title, "objective": objective, "boardId": board_id, "members": members}
    desk.show(
        desk.post("/boards", wish), lambda data: say(f"Made the board {data['boardId']} ({line(data['title'])}).")
    )


@command(app, "invite", writes=True)
def invite(
    desk: Desk,
    board: BoardArgument,
    node: Annotated[str, typer.Argument(help="nodeId, sessionId or name.")],
    role: Annotated[str, typer.Option(help="observer, worker or supervisor.")] = "worker",
) -> None:
    """Give a node or a discovered session a role on the board."""
    reply = desk.give("invite", boardId=which.board(desk, board), node=node, role=role)
    desk.show(reply, lambda data: say(f"{line(data.get('nodeId', node))} is invited as {role}."))


@command(app, "join", writes=True)
def join(desk: Desk, board: BoardArgument) -> None:
    """Say that you are there."""
    board_id = which.board(desk, board)
    desk.show(desk.give("join_board", boardId=board_id), lambda _: say(f"You are on the board {line(board_id)}."))


@command(app, "leave", writes=True)
def leave(desk: Desk, board: BoardArgument) -> None:
    """Leave the board; what you hold must be released first."""
    board_id = which.board(desk, board)
    desk.show(desk.give("leave_board", boardId=board_id), lambda _: say(f"You left the board {line(board_id)}."))


@command(app, "gate")
def gate(desk: Desk, board: BoardArgument = which.THIS) -> None:
    """What is missing before the board may be closed. Exit status 0 ready, 3 blocked with evidence, 4 not ready."""
    reply = desk.get(client.at("boards", which.board(desk, board), "gate"))
    desk.show(reply, print_gate)
    raise typer.Exit(GATE_STATUS[reply.data["state"]])


def print_gate(data: Json) -> None:
    """The gate's answer in words."""
    words = {"ready": "Ready to close.", "blocked": "Ready to close as finished, blocked.", "not_ready": "Not ready:"}
    say("It is closed already." if data.get("status") == "closed" else words[data["state"]])
    for item in data["missing"]:
        say(f"  {line(item['category'])}: {line(item['detail'])}")


@command(app, "close", writes=True)
def close(desk: Desk, board: BoardArgument = which.THIS, note: Annotated[str, typer.Option()] = "") -> None:
    """Close the board through the gate."""
    reply = desk.give("close_board", boardId=which.board(desk, board), note=note)
    desk.show(reply, lambda data: say(f"Closed {data['boardId']}: {data['finalStatus']}."))


@command(app, "summarize", writes=True)
def summarize(
    desk: Desk,
    session: Annotated[str, typer.Argument(metavar="SESSION", help="A member with a session: its id or its node's.")],
    board: BoardArgument = which.THIS,
) -> None:
    """Store a summary of a session on the board, from the session's own facts, never its messages."""
    wish = {"boardId": which.board(desk, board)}
    desk.show(desk.post(client.at("sessions", session, "summarize"), wish), _print_summary)


def _print_summary(data: Json) -> None:
    say(f"Summary of {line(data['nodeId'])} on {line(data['boardId'])}:")
    block(data["text"])


@command(app, "block", writes=True)
def block_(
    desk: Desk,
    board: BoardArgument,
    summary: Annotated[str, typer.Option(help="What stands in the way.")],
    contract: Annotated[str | None, typer.Option()] = None,
    task: Annotated[str | None, typer.Option()] = None,
    stop: Annotated[str | None, typer.Option(metavar="ID", help="The stop condition that is met.")] = None,
    evidence: Annotated[list[str], typer.Option(help="Evidence that proves it; may be repeated.")] = [],  # noqa: B006
) -> None:
    """Open a blocker."""
    board_id = which.board(desk, board, contracts=contract, tasks=task)
    about: Json = {"contractId": contract, "taskId": task, "stopConditionId": stop, "evidenceIds": evidence}
    reply = desk.give("open_blocker", boardId=board_id, summary=summary, **about)
    desk.show(reply, lambda data: say(f"Opened the blocker {data['blockerId']}."))


@command(app, "resolve", writes=True)
def resolve(
    desk: Desk,
    board: BoardArgument,
    blocker: Annotated[str, typer.Argument(metavar="BLOCKER")],
    resolution: Annotated[str, typer.Option(help="How it ended.")],
) -> None:
    """Say by name how a blocker ended."""
    board_id = which.board(desk, board, blockers=blocker)
    reply = desk.give("resolve_blocker", boardId=board_id, blockerId=blocker, resolution=resolution)
    desk.show(reply, lambda data: say(f"The blocker {data['blockerId']} is resolved."))
