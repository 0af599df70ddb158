"""The home: up, open, doctor, status, mode, peers, register, needs."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Final

import typer

from agentlink_site import client
from agentlink_site.cli import which
from agentlink_site.cli.app import Cursor, Limit, app, board_names, command
from agentlink_site.cli.desk import Desk, Json
from agentlink_site.cli.terminal import block, entry, line, say, table


@app.command()
def up(
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 is any free one.")] = None,
    host: Annotated[str | None, typer.Option(help="127.0.0.1 or ::1.")] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line when ready.")] = False,
) -> None:
    """Start the server (or find the one that runs) and print a login link."""
    from agentlink_site import server

    _leave(server.up(port=port, host=host, open_browser=not no_open, as_json=as_json))


@app.command()
def demo(
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 is any free one.")] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the demo's folder in place at the end.")] = False,
) -> None:
    """Show a board with a small story on it, in a folder of its own that is removed at the end."""
    from agentlink_site.demo import run

    _leave(run(port, not no_open, keep))


def _leave(status: int) -> None:
    """Ends the process at once: a reader thread that waits for the store must not keep a stopped server alive."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


@app.command("open")
def open_() -> None:
    """Print a new login link of the running server and open it."""
    from agentlink_site import server

    raise typer.Exit(server.open_panel())


@app.command()
def doctor() -> None:
    """Look at everything that AgentLink needs and say what is not right."""
    from agentlink_site.doctor import report

    checks = report()
    for check in checks:
        say(f"{check.state:4}  {line(check.name)}: {line(check.sentence)}")
    raise typer.Exit(1 if any(check.state == "bad" for check in checks) else 0)


@command(app, "status")
def status(desk: Desk) -> None:
    """Who you are here, the mode, and how many boards, peers and needs there are."""
    desk.show(desk.get("/status"), _print_status)


def _print_status(data: Json) -> None:
    counts = data["counts"]
    say(f"AgentLink {data['version']}, mode {data['mode']}; you are {line(data['nodeId'])}.")
    waiting = f"waiting for the person: {counts['needsYou']}"
    say(f"Open boards: {counts['boards']}; sessions: {counts['peers']}; {waiting}.")
    for problem in data["problems"]:
        say(f"  {line(problem.get('where') or problem.get('code'))}: {line(problem.get('sentence'))}")


@command(app, "mode")
def mode(desk: Desk) -> None:
    """The coordination mode of this home, and why the others are not chosen here."""
    desk.show(desk.get("/status"), _print_mode)


MODES: Final = {
    "off": "nothing is discovered and nothing is written; AGENTLINK_MODE=off at the start",
    "local": "the sessions of this user on this machine; AGENTLINK_MODE=local at the start, or left out",
    "project": "boards only between sessions of one project: not there yet",
    "manual-peer": "other machines that a person names: not there yet",
    "team": "other people through a relay: not there yet",
    "mesh": "no coordination mode: everybody telling everybody coordinates nobody",
}
"""Every mode, and why it is chosen or is not."""


def _print_mode(data: Json) -> None:
    say(f"The mode is {line(data['mode'])}. Only a person changes it, by the setting that the home is started with.")
    table(("", "mode", "what it is"), [("*" if data["mode"] == n else "", n, why) for n, why in MODES.items()], "")


@command(app, "register", writes=True)
def register(
    desk: Desk,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    session: Annotated[str | None, typer.Option(metavar="ID", help="The session that it is bound to.")] = None,
    role: Annotated[str | None, typer.Option(help="What it is there for.")] = None,
    capability: Annotated[list[str], typer.Option(help="What it can do; may be repeated.")] = [],  # noqa: B006
    constraint: Annotated[list[str], typer.Option(help="What it must not do; may be repeated.")] = [],  # noqa: B006
    node_id: Annotated[str | None, typer.Option("--id", help="Its id; made from the name when left out.")] = None,
) -> None:
    """Make a durable mailbox with a name and a token of its own."""
    about = {"role": role, "capabilities": capability or None, "constraints": constraint or None}
    reply = desk.post("/peers", {"name": name, "nodeId": node_id, "sessionId": session, **about})
    desk.show(reply, _print_registered)


def _print_registered(data: Json) -> None:
    token = client.working_home() / "tokens" / data["nodeId"]
    say(f"Registered {line(data['name'])} as {line(data['nodeId'])}. Its token lies in {line(token)};")
    say(f"whoever can read that file acts as it: agentlink status --as {line(data['nodeId'])}")


@command(app, "needs")
def needs(
    desk: Desk,
    board: Annotated[
        str | None,
        typer.Argument(metavar="[BOARD]", help="One board; left out: all open ones.", autocompletion=board_names),
    ] = None,
    limit: Limit = 100,
    cursor: Cursor = "",
) -> None:
    """What waits for you: answers, acceptances, leases that end, tasks that are offered, blockers. Oldest first."""
    path = "/needs" if board is None else client.at("boards", which.board(desk, board), "needs")
    desk.show(desk.get(path, {"limit": limit, "cursor": cursor}), _print_needs)


def _print_needs(data: Json) -> None:
    if not data["needs"]:
        say("Nothing waits for you.")
    for need in data["needs"]:
        about = (need[name] for name in ("contractId", "taskId", "messageId", "blockerId"))
        what = " ".join(line(one) for one in about if one)
        until = f", until {need['until']}" if need["until"] else ""
        entry(f"{need['since']}  {need['kind']} on {line(need['boardId'])}: {what} (of {line(need['nodeId'])}{until})")
        block(need["text"] + ("\N{HORIZONTAL ELLIPSIS}" if need["cut"] else ""))
    more(data)


@command(app, "peers")
def peers(desk: Desk, limit: Limit = 100, cursor: Cursor = "") -> None:
    """Who is there, whether they are really alive, and how a message reaches them."""
    desk.show(desk.get("/peers", {"limit": limit, "cursor": cursor}), _print_peers)


def _print_peers(data: Json) -> None:
    rows = [
        (
            p["nodeId"] or p["sessionId"],
            p["name"],
            p["status"],
            p["source"] or p["kind"],
            p["lastActivityAt"],
            p["reach"]["sentence"],
        )
        for p in data["peers"]
    ]
    table(("id", "name", "status", "kind", "last active", "reached"), rows, "Nobody is there yet.")
    more(data)


def more(data: Json) -> None:
    """Says how to see what did not fit."""
    if data.get("nextCursor"):
        say(f"There are more: --cursor {data['nextCursor']}")
