"""Contracts: new, show, edit, accept, reject, withdraw."""

from __future__ import annotations

from typing import Annotated

import typer

from agentlink_site import client
from agentlink_site.cli import which
from agentlink_site.cli.app import BoardArgument, For, command, contract_app
from agentlink_site.cli.desk import Desk, Json
from agentlink_site.cli.terminal import block, line, say

Contract = Annotated[str, typer.Argument(metavar="CONTRACT")]


@command(contract_app, "new", writes=True)
def new(
    desk: Desk,
    board: BoardArgument,
    objective: Annotated[str, typer.Option(help="What is to be done.")],
    owner: Annotated[list[str], typer.Option(metavar="NODE=RES,RES", help="Who owns what; may be repeated.")] = [],  # noqa: B006
    requires: Annotated[list[str], typer.Option(help="Evidence that closes it; may be repeated.")] = [],  # noqa: B006
    allow: Annotated[list[str], typer.Option(help="An allowed action; may be repeated.")] = [],  # noqa: B006
    stop: Annotated[list[str], typer.Option(help="A stop condition; may be repeated.")] = [],  # noqa: B006
    task: Annotated[list[str], typer.Option(help="A task; without any the contract is its own task.")] = [],  # noqa: B006
    mutating: Annotated[bool, typer.Option("--mutating", help="It changes something.")] = False,
    contract_id: Annotated[str | None, typer.Option("--id")] = None,
) -> None:
    """Propose a contract."""
    wish = {
        "objective": objective,
        "contractId": contract_id,
        "owners": dict(_owner(text) for text in owner),
        "requiredEvidence": requires,
        "allowedActions": allow,
        "stopConditions": stop,
        "tasks": task,
        "mutating": mutating,
    }
    reply = desk.post(client.at("boards", which.board(desk, board), "contracts"), wish)
    desk.show(reply, lambda data: say(f"The contract {data['contractId']} is {data['status']}."))


def _owner(text: str) -> tuple[str, list[str]]:
    name, _, things = text.partition("=")
    return name.strip(), [thing.strip() for thing in things.split(",") if thing.strip()]


@command(contract_app, "show")
def show(desk: Desk, contract: Contract) -> None:
    """One contract, and what its gate still misses."""
    desk.show(desk.get(client.at("contracts", contract)), _print_contract)


def _print_contract(data: Json) -> None:
    say(
        f"{data['contractId']} on {data['boardId']}: {data['status']}, {data['actionability']}, "
        f"text {data['textRevision']}"
    )
    block(data["objective"], "  ")
    for node, things in data["owners"].items():
        mark = "accepted" if node in data["acceptedBy"] else "not accepted yet"
        say(f"owner {line(node)} ({mark}): {line(', '.join(things) or 'no resource')}")
    for name, word in LISTED.items():
        for item in data[name]:
            say(f"{word} {line(item['id'])}: {line(item['text'])}")
    for item in data["missing"]:
        say(f"missing: {line(item['detail'])}")


LISTED = {"allowedActions": "allowed", "stopConditions": "stop when", "requiredEvidence": "requires"}


@command(contract_app, "accept", writes=True)
def accept(
    desk: Desk,
    board: BoardArgument,
    contract: Contract,
    text: Annotated[int | None, typer.Option(help="The text revision that you accept.")] = None,
    for_: For = None,
) -> None:
    """Agree to the contract as an owner."""
    board_id = which.board(desk, board, contracts=contract)
    reply = desk.give("accept_contract", boardId=board_id, contractId=contract, textRevision=text, node=for_)
    desk.show(reply, _print_state)


@command(contract_app, "reject", writes=True)
def reject(
    desk: Desk,
    board: BoardArgument,
    contract: Contract,
    reason: Annotated[str, typer.Option(help="Why.")],
    for_: For = None,
) -> None:
    """Refuse the contract as an owner, with a reason."""
    board_id = which.board(desk, board, contracts=contract)
    desk.show(
        desk.give("reject_contract", boardId=board_id, contractId=contract, reason=reason, node=for_), _print_state
    )


@command(contract_app, "edit", writes=True)
def edit(
    desk: Desk,
    board: BoardArgument,
    contract: Contract,
    objective: Annotated[str | None, typer.Option(help="What is to be done.")] = None,
    owner: Annotated[list[str], typer.Option(metavar="NODE=RES,RES", help="Who owns what; all of them.")] = [],  # noqa: B006
    requires: Annotated[list[str], typer.Option(help="Evidence that closes it; all of it.")] = [],  # noqa: B006
    allow: Annotated[list[str], typer.Option(help="The allowed actions; all of them.")] = [],  # noqa: B006
    stop: Annotated[list[str], typer.Option(help="The stop conditions; all of them.")] = [],  # noqa: B006
    task: Annotated[list[str], typer.Option(help="The tasks; all of them.")] = [],  # noqa: B006
    mutating: Annotated[bool | None, typer.Option("--mutating/--not-mutating", help="It changes something.")] = None,
) -> None:
    """Write a new text; every acceptance lapses. What is left out stays; '' empties a list."""
    board_id = which.board(desk, board, contracts=contract)
    owners = _whole(owner)
    wish: Json = {
        "objective": objective,
        "owners": None if owners is None else dict(_owner(text) for text in owners),
        "requiredEvidence": _whole(requires),
        "allowedActions": _whole(allow),
        "stopConditions": _whole(stop),
        "tasks": _whole(task),
        "mutating": mutating,
    }
    if all(value is None for value in wish.values()):
        desk.refuse("usage", "Say what shall be new: --objective, --owner, --requires, --allow, --stop, --task, ...")
    desk.show(desk.give("edit_contract", boardId=board_id, contractId=contract, **wish), _print_text)


def _whole(given: list[str]) -> list[str] | None:
    """A whole new list; None when nothing was said about it."""
    return [text for text in given if text.strip()] if given else None


def _print_text(data: Json) -> None:
    _print_state(data)
    say(f"It is text {data['textRevision']} now.")


@command(contract_app, "withdraw", writes=True)
def withdraw(
    desk: Desk, board: BoardArgument, contract: Contract, reason: Annotated[str, typer.Option(help="Why.")] = ""
) -> None:
    """Take back what you proposed, before it is accepted."""
    board_id = which.board(desk, board, contracts=contract)
    desk.show(desk.give("withdraw_contract", boardId=board_id, contractId=contract, reason=reason), _print_state)


def _print_state(data: Json) -> None:
    waiting = f"; it waits for {line(', '.join(data['waitingFor']))}" if data["waitingFor"] else ""
    say(f"The contract {data['contractId']} is {data['status']}{waiting}.")
