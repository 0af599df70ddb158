"""One call of the command line: who acts, how answers are printed, and which exit status says what became of it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn

import typer

from agentlink_site import client
from agentlink_site.cli.terminal import line, say

Json = dict[str, Any]

OUTAGE: Final = 1
USAGE: Final = 2
CONFLICT: Final = 3
NOT_YET: Final = 4
PATIENCE: Final = 30.0
"""Seconds that a command which waits gives a server to come back."""
PASSING: Final = frozenset({429, 503})
"""Answers that ask to be asked again."""


class Reply(NamedTuple):
    """An answer of the API: its body as it came, and as a value."""

    status: int
    raw: bytes
    data: Json

    def only(self, name: str, keep: Callable[[Json], bool]) -> Reply:
        """The same answer with only some items of its list."""
        data = {**self.data, name: [item for item in self.data[name] if keep(item)]}
        return Reply(self.status, json.dumps(data).encode(), data)


@dataclass
class Desk:
    """What the shared options of a command say."""

    node: str | None
    as_json: bool = False
    key: str | None = None
    expect: int | None = None

    def __post_init__(self) -> None:
        self.node = self.node or client.environment_node()

    def get(self, path: str, query: Json | None = None) -> Reply:
        """A read. A problem ends the command."""
        return self._checked(self._read(path, query))

    def follow(self, path: str, query: Json | None = None) -> Reply:
        """A read by who waits: a server that restarts, or asks for patience, is waited for."""
        end = time.monotonic() + PATIENCE
        while True:
            last = time.monotonic() > end
            try:
                answer = self._read(path, query)
            except client.Outage:
                if last:
                    raise
            else:
                if last or answer[0] not in PASSING:
                    return self._checked(answer)
            time.sleep(1)

    def _read(self, path: str, query: Json | None) -> client.Answer:
        given = {name: str(value) for name, value in (query or {}).items() if value not in (None, "")}
        return client.call("GET", path, node=self.node, query=given)

    def post(self, path: str, body: Json, *, part: str = "") -> Reply:
        """A write with this call's key; ``part`` tells the writes of one call apart. A problem ends the command."""
        given = {name: value for name, value in body.items() if value is not None}
        key = f"{self.key}{part}" if self.key else None
        return self._checked(client.call("POST", path, given, node=self.node, key=key))

    def give(self, command: str, *, part: str = "", **fields: Any) -> Reply:
        """One command by its name, with ``--expect`` when it was told."""
        return self.post("/commands", {"command": command, **fields, "expectedRevision": self.expect}, part=part)

    def me(self) -> str:
        """The id of the node that acts."""
        return self.node or str(self.get("/status").data["nodeId"])

    def only_human(self, what: str) -> None:
        """Ends the command when a node acts instead of the person."""
        if self.node is not None:
            sentence = f"Only you {what}, not {self.node}: leave out --as, and unset AGENTLINK_NODE."
            self.refuse("only_human", sentence)

    def tell(self, sentence: str) -> None:
        """What is worth knowing meanwhile, beside the answer: not at all when JSON is wanted."""
        if not self.as_json:
            note(sentence)

    def end(self, code: str, sentence: str, answer: Json, *, status: int) -> NoReturn:
        """Ends the command without what was wished for: in words, or as JSON the answer as far as it came."""
        if self.as_json:
            put(json.dumps(answer).encode())
        else:
            complain(sentence, code)
        raise typer.Exit(status)

    def show(self, reply: Reply, printer: Callable[[Json], None]) -> None:
        """The answer: as it came, or in words."""
        if self.as_json:
            put(reply.raw)
            return
        receipt = reply.data.get("receipt")
        if receipt and receipt["outcome"] == "already_applied":
            say(f"Already so: {receipt['detail'] or 'this was done before, with the same key.'}")
        printer(reply.data)

    def refuse(self, code: str, sentence: str, *, status: int = USAGE) -> NoReturn:
        """Ends the command with a sentence of our own, in the API's form when JSON is wanted."""
        if self.as_json:
            problem = {"type": "about:blank", "title": "Refused", "status": 422, "detail": sentence, "code": code}
            put(json.dumps({**problem, "receipt": None}).encode())
        else:
            complain(sentence, code)
        raise typer.Exit(status)

    def _checked(self, answer: client.Answer) -> Reply:
        status, _, raw = answer
        data = _decoded(raw)
        if status < 300 and data is not None:
            return Reply(status, raw, data)
        if self.as_json and data is not None:
            put(raw)
        else:
            shown = data or {"detail": "The answer of the server cannot be read.", "code": f"http_{status}"}
            complain(shown.get("detail", ""), shown.get("code", f"http_{status}"))
        raise typer.Exit(exit_status(status))


def exit_status(status: int) -> int:
    """The exit status for an HTTP status that is no success."""
    if status == 409:
        return CONFLICT
    return OUTAGE if status >= 500 or status < 400 else USAGE


def put(raw: bytes) -> None:
    """The API's body, unchanged (it is ASCII: nothing in it can write to the terminal)."""
    sys.stdout.write(raw.decode("ascii", "backslashreplace") + "\n")


def note(sentence: str) -> None:
    """One sentence on stderr."""
    sys.stderr.write(f"{line(sentence)}\n")
    sys.stderr.flush()


def complain(sentence: str, code: str) -> None:
    """One sentence on stderr with its code."""
    sys.stderr.write(f"agentlink: {line(sentence)} [{line(code)}]\n")


def _decoded(raw: bytes) -> Json | None:
    try:
        data = json.loads(raw)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None
