"""The home: up, open, doctor, status, peers."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from agentlink_site.cli.app import Cursor, Limit, app, command
from agentlink_site.cli.desk import Desk, Json
from agentlink_site.cli.terminal import line, say, table


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
