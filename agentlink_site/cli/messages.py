"""Messages: send, ack."""

from __future__ import annotations

from typing import Annotated

import typer

from agentlink_site import client
from agentlink_site.cli import which
from agentlink_site.cli.app import BoardArgument, app, command
from agentlink_site.cli.desk import Desk, Json
from agentlink_site.cli.terminal import line, say
from agentlink_site.cli.times import duration
from boards.times import iso, now


@command(app, "send", writes=True)
def send(
    desk: Desk,
    board: BoardArgument,
    to: Annotated[str, typer.Argument(metavar="TO", help="nodeId, sessionId or name; several with commas; @board.")],
    text: Annotated[str, typer.Argument(metavar="TEXT")],
    type_: Annotated[str, typer.Option("--type", help="The message's type.")] = "task_request",
    contract: Annotated[str | None, typer.Option(help="The contract that it is about.")] = None,
    priority: Annotated[str, typer.Option(help="low, normal, high or asap.")] = "normal",
    reply_to: Annotated[str | None, typer.Option(metavar="MESSAGE")] = None,
    no_ack: Annotated[bool, typer.Option("--no-ack", help="Ask for no acknowledgement.")] = False,
    expires: Annotated[str | None, typer.Option(help="A time (ISO 8601), or from now: 90s, 30m, 2h, 1d.")] = None,
) -> None:
    """Send a typed message. Without a shared board (BOARD is -) the pair's board is made."""
    names = [name.strip() for name in to.split(",") if name.strip()]
    if not names:
        desk.refuse("nobody_named", "TO names nobody; give a nodeId, a sessionId, a name, or @board.")
    wish = {
        "to": names,
        "content": text,
        "type": type_,
        "contractId": contract,
        "priority": priority,
        "replyTo": reply_to,
        "requiresAck": False if no_ack else None,
        "expiresAt": _moment(expires),
    }
    board_id = which.shared(desk, board, names, contract)
    desk.show(desk.post(client.at("boards", board_id, "messages"), wish), _print_sent)


def _moment(text: str | None) -> str | None:
    """A time as the API takes it; what is no duration goes there as it is."""
    length = duration(text)
    return text if length is None else iso(now() + length)


def _print_sent(data: Json) -> None:
    to = ", ".join(f"{line(copy['nodeId'])} ({copy['step']})" for copy in data["deliveries"])
    say(f"{data['messageId']} on {data['boardId']} to {to}.")


@command(app, "ack", writes=True)
def ack(
    desk: Desk,
    message: Annotated[str, typer.Argument(metavar="MESSAGE")],
    answer: Annotated[
        str, typer.Argument(metavar="ANSWER", help="accepted, blocked, needs_clarification, evidence or read.")
    ],
    note: Annotated[str, typer.Option()] = "",
) -> None:
    """Answer a message that was sent to you."""
    board_id = which.of_thing(desk, {"messages": message})
    reply = desk.give("acknowledge_message", boardId=board_id, messageId=message, answer=answer, note=note)
    desk.show(reply, lambda data: say(f"{data['messageId']} is answered: {line(answer)}."))
