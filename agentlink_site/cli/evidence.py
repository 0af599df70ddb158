"""Evidence: attach, list, verify, reject."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from agentlink_site import client
from agentlink_site.cli import which
from agentlink_site.cli.app import BoardArgument, Cursor, Limit, command, evidence_app
from agentlink_site.cli.desk import Desk, Json
from agentlink_site.cli.home import more
from agentlink_site.cli.terminal import brief, line, say, table

Evidence = Annotated[str, typer.Argument(metavar="EVIDENCE")]


@command(evidence_app, "attach", writes=True)
def attach(
    desk: Desk,
    board: BoardArgument,
    contract: Annotated[str, typer.Option(help="The contract that it is for.")],
    summary: Annotated[str, typer.Option(help="What it shows.")],
    requirement: Annotated[str | None, typer.Option(help="The requirement that it answers.")] = None,
    file: Annotated[str | None, typer.Option(metavar="PATH", help="A file inside a member's project.")] = None,
    artifact: Annotated[str | None, typer.Option(metavar="ID", help="An artifact of a session.")] = None,
    session: Annotated[str | None, typer.Option(help="The artifact's session; yours when left out.")] = None,
    url: Annotated[
        str | None, typer.Option(help="A loopback URL is checked; one elsewhere waits for a person.")
    ] = None,
    blocker: Annotated[bool, typer.Option("--blocker", help="It proves what stands in the way, not the work.")] = False,
) -> None:
    """Attach evidence. It proves nothing by itself: the checks run at once, and people judge by name."""
    board_id = which.board(desk, board, contracts=contract)
    wish = {
        "contractId": contract,
        "requirementId": requirement,
        "summary": summary,
        "file": _path(file) if file else None,
        "standsFor": "blocker" if blocker else "proof",
        "artifact": {"artifactId": artifact, **({"sessionId": session} if session else {})} if artifact else None,
        "url": url,
    }
    desk.show(desk.post(client.at("boards", board_id, "evidence"), wish), _print_bundle)


@command(evidence_app, "list")
def list_(
    desk: Desk,
    board: BoardArgument = which.THIS,
    contract: Annotated[str | None, typer.Option(help="Only of this contract.")] = None,
    limit: Limit = 100,
    cursor: Cursor = "",
) -> None:
    """The evidence of a board, newest first, each with its verdict."""
    board_id = which.board(desk, board, contracts=contract)
    reply = desk.get(client.at("boards", board_id, "evidence"), {"limit": limit, "cursor": cursor})
    if contract is not None:
        reply = reply.only("evidence", lambda one: one["contractId"] == contract)
    desk.show(reply, _print_list)


def _print_list(data: Json) -> None:
    rows = [
        (e["evidenceId"], e["nodeId"], e["contractId"], e["requirementId"], e["verdict"], brief(e["summary"]))
        for e in data["evidence"]
    ]
    table(("evidence", "by", "contract", "answers", "verdict", "summary"), rows, "No evidence on this page.")
    more(data)


def _path(file: str) -> str:
    """Absolute where there is such a file from here; else as it is, for the server to look for in the projects."""
    return os.path.abspath(file) if os.path.exists(file) or file.startswith(("/", "~")) else file


def _print_bundle(data: Json) -> None:
    say(f"{data['evidenceId']} is {data['verdict']}.")
    for check in data["checks"]:
        say(f"  {line(check['name'])}: {check['verdict']}: {line(check['detail'])}")


@command(evidence_app, "verify", writes=True)
def verify(desk: Desk, board: BoardArgument, evidence: Evidence, note: Annotated[str, typer.Option()] = "") -> None:
    """Vouch for somebody else's bundle by name."""
    board_id = which.board(desk, board, evidence=evidence)
    reply = desk.give("verify_evidence", boardId=board_id, evidenceId=evidence, note=note)
    desk.show(reply, _print_bundle)


@command(evidence_app, "reject", writes=True)
def reject(
    desk: Desk, board: BoardArgument, evidence: Evidence, reason: Annotated[str, typer.Option(help="Why.")]
) -> None:
    """Refuse a bundle, with a reason."""
    board_id = which.board(desk, board, evidence=evidence)
    reply = desk.give("reject_evidence", boardId=board_id, evidenceId=evidence, reason=reason)
    desk.show(reply, _print_bundle)
