"""Live over the real server: commits of other processes ring the sockets; members only; a restart catches up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from tests.fixtures import unpack
from tests.peers.stores import append, event
from tests.site.servers import Server, environment

pytestmark = pytest.mark.process
WAIT = 20.0

OTHER = """
import json, sys
import django
django.setup()
from boards.commands import execute
from boards.people import human_node_id
from boards.schemas import COMMANDS, Actor
kind, fields = sys.argv[1], json.loads(sys.argv[2])
receipt = execute(COMMANDS[kind].model_validate(fields), Actor(human_node_id(), "cli"))
print(json.dumps(receipt.body()))
"""


@pytest.fixture
def desk(home: Path) -> Iterator[Server]:
    """A server on the real fixture home, with a board ``b`` of two of its sessions."""
    fixture = unpack(home.parent)
    with Server(home, launcher=False, AGINTIFLOW_HOME=str(fixture.home)) as running:
        members = {"arduino-shell": "worker", "kv260-recorder": "worker"}
        command(running, "create_board", title="b", members=members)
        yield running


def command(server: Server, kind: str, **fields: Any) -> dict[str, Any]:
    """A command of a process of its own, past the server."""
    variables = environment(server.home, DJANGO_SETTINGS_MODULE="agentlink_site.settings")
    variables["AGINTIFLOW_HOME"] = str(server.home.parent / "aginti-home")
    words = [sys.executable, "-c", OTHER, kind, json.dumps(fields)]
    done = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    body: dict[str, Any] = json.loads(done.stdout)
    assert body["outcome"] == "applied", body
    return body


def listen(server: Server, path: str, cookie: dict[str, str], **more: str) -> ClientConnection:
    return connect(f"ws://{server.host}{path}", origin=Origin(server.origin), additional_headers=cookie | more)


def frames_until(ws: ClientConnection, revision: int) -> list[dict[str, Any]]:
    """Every frame up to the one that tells of a revision."""
    seen = []
    while True:
        frame = json.loads(ws.recv(timeout=WAIT))
        seen.append(frame)
        if frame["revision"] >= revision:
            return seen


def test_a_commit_of_another_process_rings_the_board_and_the_home(desk):
    cookie = desk.login()
    with listen(desk, "/ws/boards/b", cookie) as board, listen(desk, "/ws/home", cookie) as home:
        hello = json.loads(board.recv(timeout=WAIT))
        assert hello["board"] == "b" and hello["revision"] >= 3
        home.recv(timeout=WAIT)
        sent = command(desk, "propose_contract", boardId="b", objective="Record")
        last = frames_until(board, sent["revision"])[-1]
        assert last["board"] == "b" and {"contracts", "needs", "ownership"} <= set(last["regions"])
        assert "boards" in json.loads(home.recv(timeout=WAIT))["regions"]


def test_delivery_steps_arrive_live_without_anybody_asking(desk):
    cookie = desk.login()
    with listen(desk, "/ws/boards/b", cookie) as board:
        sent = command(desk, "send_message", boardId="b", to=["arduino-shell"], content="Run it")
        frames_until(board, sent["revision"] + 1)
        folder = desk.home.parent / "aginti-home" / "sessions" / "arduino-shell"
        assert sent["messageId"] in (folder / "inbox.jsonl").read_text()
        applied = event("conversation.queued_input_applied", id=f"inbox-agentlink-{sent['messageId']}", prompt="x")
        append(folder / "events.jsonl", applied)
        frames_until(board, sent["revision"] + 2)
    answer = desk.ask("GET", "/api/agentlink/boards/b", cookie).json
    steps = [copy["step"] for row in answer["messages"] for copy in row["deliveries"]]
    assert steps == ["applied"]


def test_a_change_of_a_session_is_told_without_entering_the_log(desk):
    cookie = desk.login()
    with listen(desk, "/ws/boards/b", cookie) as board:
        before = json.loads(board.recv(timeout=WAIT))["revision"]
        folder = desk.home.parent / "aginti-home" / "sessions" / "arduino-shell"
        append(folder / "events.jsonl", event("session.resumed", "2026-11-30T23:00:00.000Z", sessionId="arduino-shell"))
        frame = json.loads(board.recv(timeout=WAIT))
        assert "collaborators" in frame["regions"] and frame["revision"] == before


def test_agents_hear_only_of_boards_that_they_are_members_of(desk):
    command(desk, "create_board", title="other")
    token = (desk.home / "tokens" / "arduino-shell").read_text().strip()
    bearer = {"Authorization": f"Bearer {token}"}
    with listen(desk, "/ws/boards/b", bearer) as board:
        assert json.loads(board.recv(timeout=WAIT))["board"] == "b"
    for path in ("/ws/boards/other", "/ws/home", "/ws/boards/nothing"):
        with pytest.raises(InvalidStatus):
            listen(desk, path, bearer)


def test_work_that_waited_for_a_server_is_done_when_one_starts(home):
    fixture = unpack(home.parent)
    variables = {"AGINTIFLOW_HOME": str(fixture.home)}
    with Server(home, launcher=False, **variables) as first:
        command(first, "create_board", title="b", members={"arduino-shell": "worker"})
        os.kill(first.process.pid, 9)
        first.process.wait()
        sent = command(first, "send_message", boardId="b", to=["arduino-shell"], content="Run it")
    inbox = fixture.home / "sessions" / "arduino-shell" / "inbox.jsonl"
    assert sent["messageId"] not in inbox.read_text()
    with Server(home, launcher=False, **variables) as second, listen(second, "/ws/boards/b", second.login()) as ws:
        frames_until(ws, sent["revision"] + 1)
    assert inbox.read_text().count(f"inbox-agentlink-{sent['messageId']}") == 1
