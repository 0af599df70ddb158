"""Waiting for others: ask a peer and get its answer, wait until something happens on a board."""

from __future__ import annotations

import json
import shlex
import signal
import time
from typing import Annotated, Any, Final, NoReturn

import typer

from agentlink_site import client
from agentlink_site.cli import events, which
from agentlink_site.cli.app import BoardArgument, BoardOption, app, command
from agentlink_site.cli.desk import NOT_YET, USAGE, Desk, Json, note, put
from agentlink_site.cli.terminal import block, entry, line, say
from agentlink_site.cli.times import patience

Timeout = Annotated[str, typer.Option(metavar="TIME", help="How long: 90s, 10m, 2h, 1d; 0 only looks.")]
INTERRUPTED: Final = 128 + signal.SIGINT

CLOSED: Final = "agentlink.board.closed"
ENDINGS: Final = {
    "agentlink.message.undeliverable": ("undeliverable", "{id} cannot reach {peer}: {reason}"),
    "agentlink.message.expired": ("expired", "{id} expired before it reached {peer}."),
    "agentlink.message.withdrawn": ("withdrawn", "{id} was withdrawn before it reached {peer}."),
    "agentlink.message.refused": ("refused", "{peer} takes no messages from you: {reason}"),
    CLOSED: ("board_closed", "The board was closed before {peer} answered {id}."),
}
"""After these events no answer comes any more: the code and the sentence."""


@command(app, "ask", writes=True)
def ask(
    desk: Desk,
    peer: Annotated[str, typer.Argument(metavar="PEER", help="One node: nodeId, sessionId or name.")],
    text: Annotated[str, typer.Argument(metavar="TEXT")],
    board: BoardOption = which.THIS,
    type_: Annotated[str, typer.Option("--type", help="The message's type.")] = "status_request",
    contract: Annotated[str | None, typer.Option(help="The contract that it is about.")] = None,
    priority: Annotated[str, typer.Option(help="low, normal, high or asap.")] = "normal",
    timeout: Timeout = "10m",
) -> None:
    """Send a question and wait for the peer's answer. Exit status 4 when the time is over; the message stays."""
    deadline = time.monotonic() + patience(desk, timeout)
    if "," in peer or peer == "@board":
        desk.refuse("one_peer", "ask waits for one peer; for several use `agentlink send`, then `agentlink wait`.")
    wish = {"to": [peer], "content": text, "type": type_, "contractId": contract, "priority": priority}
    board_id = which.shared(desk, board, [peer], contract)
    sent = desk.post(client.at("boards", board_id, "messages"), {**wish, "requiresAck": True}).data
    Question(desk, sent).wait(deadline, timeout)


class Question:
    """A message that was sent, and everything that can become of it."""

    def __init__(self, desk: Desk, sent: Json) -> None:
        self.desk, self.board = desk, str(sent["boardId"])
        self.id, self.peer = str(sent["messageId"]), str(sent["deliveries"][0]["nodeId"])
        self.after = int(sent["receipt"]["revision"])

    def wait(self, deadline: float, timeout: str) -> None:
        """Prints the answer. Ends the command when none comes."""
        try:
            self.desk.tell(f"{self.id} on {self.board} to {self.peer}; waiting for the answer ...")
            found = self._look(deadline)
        except KeyboardInterrupt:
            note(f"The message stays. Wait again with: {self._again()}")
            raise typer.Exit(INTERRUPTED) from None
        if found is None:
            sentence = f"{self.peer} has not answered {self.id}{_within(timeout)}; it is {self._step()} and stays. "
            self._end("no_answer", f"{sentence}Wait again with: {self._again()}", NOT_YET)
        if self.desk.as_json:
            put(json.dumps(self._body("answered", found)).encode())
        else:
            print_answer(found)

    def _look(self, deadline: float) -> Json | None:
        for batch, after in events.news(self.desk, self.board, self.after, deadline):
            for event in batch:
                found = answer_of(self.desk, event, self.id)
                if found is not None and (not found["verified"] or found["nodeId"] == self.peer):
                    return found
                self._check_hope(event)
            self.after = after
        return None

    def _check_hope(self, event: Json) -> None:
        """Ends the command when this event says that no answer will come."""
        data, ending = event["data"], ENDINGS.get(event["type"])
        mine = data.get("messageId") == self.id and self.peer in (data.get("nodeId"), *data.get("nodeIds", ()))
        if ending is None or not (mine or event["type"] == CLOSED):
            return
        code, sentence = ending
        self._end(code, sentence.format(id=self.id, peer=self.peer, reason=data.get("reason", "")), USAGE)

    def _end(self, code: str, sentence: str, status: int) -> NoReturn:
        self.desk.end(code, sentence, self._body(code, None), status=status)

    def _body(self, outcome: str, answer: Json | None) -> Json:
        return {"outcome": outcome, "message": self._message(), "answer": answer, "after": self.after}

    def _message(self) -> Json:
        return self.desk.follow(client.at("messages", self.id)).data

    def _step(self) -> str:
        return next(str(copy["step"]) for copy in self._message()["deliveries"] if copy["nodeId"] == self.peer)

    def _again(self) -> str:
        words = ["agentlink", "wait", self.board, "--for", "ack", "--message", self.id, "--after", str(self.after)]
        return shlex.join([*words, *(["--as", self.desk.node] if self.desk.node else [])])


def _within(timeout: str) -> str:
    return " yet" if timeout == "0" else f" within {timeout}"


# --- what counts as an answer ----------------------------------------------------------------------------------------


def answer_of(desk: Desk, event: Json, message_id: str | None, *, bare: bool = False) -> Json | None:
    """The answer that an event holds: an acknowledgement (a ``read`` without words only when ``bare``), a message in
    reply, or a line of the board folder that calls itself one, which nobody has verified."""
    data, kind = event["data"], event["type"].removeprefix(events.PREFIX)
    if kind == "message.acknowledged" and _is(data["messageId"], message_id):
        if data["answer"] == "read" and not data.get("note") and not bare:
            return None
        return _answer(event, data["messageId"], data["nodeId"], answer=data["answer"], content=data.get("note", ""))
    if kind == "message.sent" and data.get("replyTo") and not data.get("trust") and _is(data["replyTo"], message_id):
        return _answer(event, data["replyTo"], data["sender"], content=data["content"], reply=data["messageId"])
    if kind == "message.answered" and _is(data["messageId"], message_id):
        said = desk.follow(client.at("messages", data["answerId"])).data
        return _answer(event, data["messageId"], data["nodeId"], content=said["content"], reply=data["answerId"],
                       stated=said.get("statedSender", ""), verified=False)  # fmt: skip
    return None


def _is(given: Any, wanted: str | None) -> bool:
    return wanted is None or given == wanted


def _answer(event: Json, message: str, node: str, *, answer: str | None = None, content: str, reply: str | None = None,
            stated: str | None = None, verified: bool = True) -> Json:  # fmt: skip
    return {
        "messageId": message, "nodeId": node, "answer": answer, "content": content, "replyMessageId": reply,
        "statedSender": stated, "verified": verified, "at": event["at"], "eventId": event["eventId"],
    }  # fmt: skip


def print_answer(found: Json) -> None:
    """Who answered, how, and the words, indented so that they cannot pass for ours."""
    how = found["answer"] or f"by {found['replyMessageId']}"
    if found["verified"]:
        say(f"{line(found['nodeId'])} answered {line(found['messageId'])} ({line(how)}).")
    else:
        who = line(found["statedSender"] or "nobody")
        say(f"UNVERIFIED: a line in the board folder answers {line(found['messageId'])} {line(how)};")
        say("anybody who can write there could have written it.")
        entry(f"It says that it is from {who}:")
    if found["content"]:
        block(found["content"])


# --- wait ------------------------------------------------------------------------------------------------------------

AWAITED: Final = {"evidence": "evidence.attached", "blocker": "blocker.opened", "ack": ""}
"""What can be waited for, and its event; an answer has several."""


@command(app, "wait")
def wait(
    desk: Desk,
    board: BoardArgument,
    what: Annotated[str, typer.Option("--for", metavar="WHAT", help="evidence, blocker or ack.")],
    after: Annotated[
        int | None, typer.Option(min=0, max=events.LAST, metavar="REVISION", help="Left out: from now on.")
    ] = None,
    contract: Annotated[str | None, typer.Option(help="Only of this contract.")] = None,
    message: Annotated[str | None, typer.Option(help="Only the answer to this message.")] = None,
    timeout: Timeout = "10m",
) -> None:
    """Wait until it happens. --after 0 also finds what is there already. Exit status 4 when the time is over."""
    if what not in AWAITED:
        desk.refuse("usage", f"--for is {what[:40]!r}; it must be one of: {', '.join(AWAITED)}.")
    if message and what != "ack":
        desk.refuse("usage", "--message goes with --for ack only.")
    deadline = time.monotonic() + patience(desk, timeout)
    board_id = which.board(desk, board, contracts=contract, messages=message)
    start = place = events.present(desk, board_id) if after is None else after
    for batch, place in events.news(desk, board_id, start, deadline):  # noqa: B007  (where it stopped is told)
        found = [event for event in batch if _awaited(desk, event, what, contract, message)]
        if found:
            break
    else:
        sentence = f"No {what}{_within(timeout)}. Go on with --after {place}."
        desk.end("not_yet", sentence, {"boardId": board_id, "events": [], "after": place}, status=NOT_YET)
    if desk.as_json:
        put(json.dumps({"boardId": board_id, "events": found, "after": place}).encode())
        return
    for event in found:
        answer = answer_of(desk, event, message, bare=True) if what == "ack" else None
        if answer is not None:
            print_answer(answer)
        else:
            entry(events.one_line(event))
    desk.tell(f"Go on with --after {place}.")


def _awaited(desk: Desk, event: Json, what: str, contract: str | None, message: str | None) -> bool:
    data = event["data"]
    if what == "ack":
        found = answer_of(desk, event, message, bare=True)
        return found is not None and (contract is None or _about(desk, found["messageId"]) == contract)
    if event["type"] != events.PREFIX + AWAITED[what] or contract not in (None, data.get("contractId")):
        return False
    return what != "blocker" or _still_open(desk, data["blockerId"])


def _about(desk: Desk, message: str) -> str | None:
    """The contract that a message is about."""
    found: str | None = desk.follow(client.at("messages", message)).data.get("contractId")
    return found


def _still_open(desk: Desk, blocker: str) -> bool:
    return bool(desk.follow(client.at("blockers", blocker)).data["status"] == "open")
