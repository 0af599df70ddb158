"""The board folder with real processes: killed at every point, a full disk, a running server, a command without one."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.boards.folders import NODE
from tests.site.servers import ROOT, Server, environment, run

pytestmark = pytest.mark.process


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "agintiflow" / "agentlink"
    path.mkdir(parents=True, mode=0o700)
    return path


def python(home: Path, *arguments: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """A program of these tests on a home of its own; ``limit``: the largest file that it may write."""

    def prepare() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, *arguments],
        env=environment(home),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        preexec_fn=prepare,
    )


@pytest.mark.timeout(300)
def test_killed_between_any_two_writes_the_folder_becomes_whole(home: Path) -> None:
    done = python(home, "-m", "tests.boards.folder_killer")
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["wrong"] == [], done.stderr[-2000:]
    assert found["points"] > 100


PROGRAM = """
import json, sys
from pathlib import Path
from agentlink_site.server import prepare
prepare()
from boards import folder
from boards.folder import places
from boards.models import FolderCursor
from tests.boards.folders import is_whole, read, settle
from tests.people import board, done, people
"""
FILL = (
    PROGRAM
    + """
who = people()
board(who, board_id="full")
settle()
with (places.of_board("full") / "messages.jsonl").open("ab") as file:
    file.write(b" " * (int(sys.argv[1]) - file.tell() - 1500) + b"\\n")
done("send_message", who.human, board_id="full", to=["bob"], content="fits " * 150)
done("send_message", who.human, board_id="full", to=["bob"], content="fits not " * 150)
"""
)
TRY = (
    PROGRAM
    + """
folder.attempt_once()
lines = [line["content"][:8] for line in read("full", "messages.jsonl")]
print(json.dumps([lines, [one["sentence"] for one in FolderCursor.objects.get(pk="full").problems]]))
"""
)
MEND = (
    PROGRAM
    + """
settle()
is_whole("full")
print(json.dumps([folder.problems(), len(read("full", "messages.jsonl"))]))
"""
)


def test_on_a_full_disk_nothing_stays_torn_and_the_rest_follows(home: Path) -> None:
    limit = 6 << 20
    filled = python(home, "-c", FILL, str(limit))
    assert filled.returncode == 0, filled.stderr[-2000:]
    for _ in range(2):
        tried = python(home, "-c", TRY, limit=limit)
        assert tried.returncode == 0, tried.stderr[-2000:]
        lines, problems = json.loads(tried.stdout.splitlines()[-1])
        assert lines == ["fits fit"], "what did not fit is not there in part, and the file can be read"
        assert ["messages.jsonl cannot be written" in one for one in problems] == [True]
    mended = python(home, "-c", MEND)
    assert mended.returncode == 0, mended.stderr[-2000:]
    assert json.loads(mended.stdout.splitlines()[-1]) == [[], 2]


def until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def line(content: str, number: int) -> bytes:
    record = {
        "timestamp": "2026-11-30T20:00:00.000Z",
        "messageId": f"msg-00000000-0000-4000-8000-{number:012d}",
        "boardId": "served",
        "kind": "task_update",
        "fromNodeId": NODE,
        "fromSessionId": "",
        "toNodeId": "",
        "toSessionId": "",
        "priority": "normal",
        "content": content,
    }
    return json.dumps(record).encode() + b"\n"


def contents(path: Path) -> list[str]:
    return [json.loads(text)["content"] for text in path.read_text().split("\n") if text.strip()]


def test_a_running_server_writes_soon_and_takes_in_what_others_write(home: Path) -> None:
    with Server(home) as server:
        made = run(home, "create", "Served", "--id", "served")
        assert made.returncode == 0, made.stderr
        messages = home / "boards" / "served" / "messages.jsonl"
        until(messages.exists, "the folder is written soon after a commit")
        with messages.open("ab") as file:
            file.write(line("from outside", 1))
        shown = lambda: "from outside" in run(home, "board", "served", "--json").stdout  # noqa: E731
        until(shown, "a foreign line is taken in")
        assert b"unverified" in server.ask("GET", "/boards/served/", server.login()).body
        assert contents(messages) == ["from outside"]


def test_a_command_without_a_server_keeps_the_folder_in_step(home: Path) -> None:
    assert run(home, "create", "Alone", "--id", "served").returncode == 0
    folder = home / "boards" / "served"
    assert json.loads((folder / "board.json").read_text())["title"] == "Alone"
    with (folder / "messages.jsonl").open("ab") as file:
        file.write(line("from outside", 1))
    assert run(home, "create", "Another").returncode == 0
    assert "from outside" in run(home, "board", "served", "--json").stdout
    assert (home / "identity.json").stat().st_mode & 0o077 == 0


def test_first_starts_at_the_same_time_make_one_identity(home: Path) -> None:
    code = PROGRAM + "from boards.folder import nodes\nprint(nodes.ensure_identity())"
    python(home, "-c", PROGRAM)
    starts = [
        subprocess.Popen([sys.executable, "-c", code], env=environment(home), cwd=ROOT, stdout=subprocess.PIPE)
        for _ in range(6)
    ]
    told = {start.communicate(timeout=60)[0].decode().splitlines()[-1] for start in starts}
    assert len(told) == 1
    assert json.loads((home / "identity.json").read_text())["nodeId"] in told
    assert os.listdir(home).count("identity.json") == 1
