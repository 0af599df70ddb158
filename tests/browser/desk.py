"""One AgentLink on a copy of the real home: its server, its sessions' files, and other programs that write at once."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.fixtures import Fixture, unpack
from tests.peers.stores import append, items
from tests.site.desks import Shell
from tests.site.servers import WAIT, Server, environment

RECORDER, LIGHT, SUPERVISOR = "kv260-recorder", "arduino-longjob", "supervisor-main"
"""Three sessions of the fixture home, one in each of its projects."""
CHATTER = """
n=0
while n=$((n+1)); "$0" -m agentlink_site send "$1" "$2" "note $n from elsewhere" --type status_response --as "$3"; do
  sleep 1
done
"""
"""Notes to a peer by the command line, until one is refused."""


class Desk:
    """A home below ``folder`` (short: a unix socket lies in it), and the server that runs on it."""

    def __init__(self, folder: Path) -> None:
        self.fixture: Fixture = unpack(folder)
        self.home = folder / "home"
        self.more: dict[str, Any] = {"AGINTIFLOW_HOME": str(self.fixture.home)}
        self.shell = Shell(self.home, self.more)
        self.server = Server(self.home, launcher=False, **self.more)

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.server.__exit__(kind, error, at)

    # --- the server ---------------------------------------------------------------------------------------------------

    @property
    def link(self) -> str:
        """A new one-time login link."""
        answer = self.server.ask_unix("POST", "/api/agentlink/login-links")
        return str(answer.json["loginUrl"])

    def kill(self) -> None:
        """SIGKILL, as a crash would be."""
        self.server.stop(signal.SIGKILL)

    def restart(self) -> None:
        """A new process on the same home and the same port."""
        self.server = Server(self.home, "--port", str(self.server.port), launcher=False, **self.more)

    # --- other programs -----------------------------------------------------------------------------------------------

    def board(self, title: str, *sessions: str, **roles: str) -> str:
        """A board made by the command line with these sessions as workers; its id."""
        members = [part for session in sessions for part in ("--member", f"{session}={roles.get(session, 'worker')}")]
        return str(self.shell.json("create", title, *members)["boardId"])

    def contract(self, board: str, objective: str, *arguments: str) -> str:
        """A contract proposed by the command line; its id."""
        made = self.shell.json("contract", "new", board, "--objective", objective, *arguments)
        return str(made["contractId"])

    @property
    def human(self) -> str:
        """The person's node."""
        return str(self.shell.json("status")["nodeId"])

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Another program on this home."""
        return subprocess.Popen(
            command, env=environment(self.home, **self.more), cwd=self.home.parent,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def writes(self, script: str, *arguments: str) -> subprocess.Popen[str]:
        """A Python program that writes through the client of this home."""
        return self.start(sys.executable, "-c", script, *arguments)

    @contextmanager
    def chatter(self, board: str, sender: str, to: str) -> Iterator[subprocess.Popen[str]]:
        """A peer that keeps sending notes by the command line, until the board is closed."""
        process = self.start("sh", "-c", CHATTER, sys.executable, board, to, sender)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    # --- a session's files --------------------------------------------------------------------------------------------

    def folder(self, session: str) -> Path:
        """The session's folder in AgInTiFlow's home."""
        return self.fixture.home / "sessions" / session

    def project(self, session: str) -> Path:
        """Where the session's agent works."""
        return Path(json.loads((self.folder(session) / "state.json").read_text())["commandCwd"])

    def happens(self, session: str, kind: str, **data: Any) -> str:
        """AgInTiFlow appends one event to a session's log; its time."""
        at = _now()
        append(self.folder(session) / "events.jsonl", {"timestamp": at, "type": kind, "data": data})
        return at

    def writes_file(self, session: str, path: str, text: str) -> Path:
        """The session's agent writes a file of its project, and AgInTiFlow says so in the log."""
        cwd = self.project(session)
        place = cwd / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        diff = "".join([f"--- a/{path}\n+++ b/{path}\n", *(f"+{line}\n" for line in text.splitlines())])
        self.happens(session, "file.changed", path=path, action="write", diff=diff, commandCwd=str(cwd))
        return place

    def inbox(self, session: str) -> list[dict[str, Any]]:
        """What is queued for the session, every line whole."""
        return items(self.folder(session))

    @contextmanager
    def busy(self, session: str) -> Iterator[None]:
        """AgInTiFlow holds the lock of the session's inbox."""
        folder = self.folder(session)
        owner, lock = folder / ".inbox-lock-owner.of-a-test", folder / ".inbox-mutation.lock"
        owner.write_text(json.dumps({"token": "of-a-test", "pid": os.getpid(), "createdAt": _now()}) + "\n")
        os.link(owner, lock)
        try:
            yield
        finally:
            lock.unlink()
            owner.unlink()

    def applies(self, session: str, message_id: str) -> None:
        """The session takes the message into its conversation."""
        item = f"inbox-agentlink-{message_id}"
        prompt = next(one["content"] for one in self.inbox(session) if one["id"] == item)
        self.happens(session, "conversation.queued_input_applied", id=item, prompt=prompt)

    def answers(self, session: str, message_id: str) -> subprocess.CompletedProcess[str]:
        """The session's agent runs the very command that the message told it."""
        item = next(one for one in self.inbox(session) if one["id"] == f"inbox-agentlink-{message_id}")
        line = next(line for line in item["content"].splitlines() if " ack " in line)
        words = shlex.split(line)
        extra = dict(word.split("=", 1) for word in words if word.startswith("AGENTLINK_HOME="))
        command = [word for word in words if not word.startswith("AGENTLINK_HOME=")]
        done = subprocess.run(
            command, env=environment(self.home, **self.more, **extra), capture_output=True, text=True, timeout=WAIT
        )
        assert done.returncode == 0, done
        return done


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
