"""What was sent to you: inbox shows it with the command that answers, reply answers it."""

from __future__ import annotations

import json
import shlex
from typing import Annotated, Final

import typer

from agentlink_site import client
from agentlink_site.cli import which
from agentlink_site.cli.app import Cursor, Limit, app, board_names, command
from agentlink_site.cli.desk import CONFLICT, Desk, Json, put
from agentlink_site.cli.home import more
from agentlink_site.cli.terminal import block, entry, line, say

SETTLED: Final = frozenset({"acknowledged", "expired", "undeliverable", "withdrawn", "refused"})
"""Steps of a copy that only a real answer after a ``read`` still changes."""


@command(app, "inbox")
def inbox(
    desk: Desk,
    all_: Annotated[bool, typer.Option("--all", help="Also what is settled.")] = False,
    board: Annotated[str | None, typer.Option(help="Only of this board.", autocompletion=board_names)] = None,
    limit: Limit = 20,
    cursor: Cursor = "",
) -> None:
    """What waits for your answer, urgent first, with the command that answers. Looking changes nothing."""
    board_id = None if board is None else which.board(desk, board)
    query = {"state": "all" if all_ else "open", "board": board_id, "limit": limit, "cursor": cursor}
    desk.show(desk.get("/inbox", query), lambda data: _print_inbox(data, desk.node))


def _print_inbox(data: Json, node: str | None) -> None:
    if not data["inbox"]:
        say("Nothing waits for your answer.")
    for item in data["inbox"]:
        _print_item(item, node)
    more(data)


def _print_item(item: Json, node: str | None) -> None:
    about = "".join(f", {line(item[name])}" for name in ("contractId", "taskId") if item.get(name))
    unproven = f"UNVERIFIED, says it is from {line(item['statedSender'] or 'nobody')}: " if item.get("trust") else ""
    entry(
        f"{item['messageId']}  {item['createdAt']}  {unproven}{item['type']} from {line(item['from'])} on "
        f"{line(item['boardId'])}{about} ({item['priority']}, {_step(item['copy'])})"
    )
    left = item["contentLength"] - len(item["preview"])
    block(item["preview"])
    if left > 0:
        say(f"    ... and {left:,} more characters: agentlink board {line(item['boardId'])} --json")
    for words in (["reply", item["messageId"], "TEXT"], ["ack", item["messageId"], "ANSWER"]):
        say(f"  agentlink {line(shlex.join([*words, *(['--as', node] if node else [])]))}")
    say()


def _step(copy: Json) -> str:
    answer = f" with {copy['answer']}" if copy.get("answer") else ""
    return line(f"{copy['step']}{answer}")


@command(app, "reply", writes=True)
def reply(
    desk: Desk,
    message: Annotated[str, typer.Argument(metavar="MESSAGE")],
    text: Annotated[str, typer.Argument(metavar="TEXT")],
    type_: Annotated[str, typer.Option("--type", help="The type of your message.")] = "status_response",
    answer: Annotated[
        str | None, typer.Option(help="accepted, blocked, needs_clarification, evidence or read (when left out).")
    ] = None,
) -> None:
    """Send the answer to whoever asked, and settle your copy of the question. With --key a retry does both once."""
    asked = desk.get(client.at("messages", message)).data
    copy = _own_copy(desk, asked, answer)
    desk.key = desk.key or client.new_key()
    wish = {"to": [asked["from"]], "content": text, "type": type_, "replyTo": message}
    wish |= {"contractId": asked["contractId"], "taskId": asked["taskId"]}
    sent = desk.post(client.at("boards", asked["boardId"], "messages"), wish, part="-message").data
    settled = None
    if answer or copy["step"] not in SETTLED:
        about = {"boardId": asked["boardId"], "messageId": message}
        settled = desk.give("acknowledge_message", **about, answer=answer or "read", part="-ack").data
    if desk.as_json:
        put(json.dumps({"message": sent, "acknowledged": settled}).encode())
        return
    said = f"; your copy is settled with {line(answer or 'read')}" if settled else "; your copy was settled before"
    say(f"{sent['messageId']} answers {line(message)} to {line(asked['from'])}{said}.")


def _own_copy(desk: Desk, asked: Json, answer: str | None) -> Json:
    """The copy that was sent to whoever acts. Ends the command where the answer could not be recorded, before anything
    is sent."""
    me = desk.me()
    found = next((copy for copy in asked["deliveries"] if copy["nodeId"] == me), None)
    if found is None:
        desk.refuse("not_addressed", f"The message {asked['messageId']} was not sent to {me}.")
    if found["step"] in SETTLED and answer and found["answer"] not in (answer, "read"):
        how = f"{found['step']} with {found['answer']}" if found["answer"] else found["step"]
        sentence = f"Your copy is {how} already; leave out --answer to send only the text."
        desk.refuse("already_settled", sentence, status=CONFLICT)
    return dict(found)
