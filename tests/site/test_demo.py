"""`agentlink demo`: the story to its end, the visitor's part, and nothing left behind or touched outside."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.site.servers import environment, program, run

pytestmark = pytest.mark.process

Json = dict[str, Any]
TURN = "Now it is your turn"
WAIT = 60.0


class Demo:
    """A running demo in a world of its own: home, working folder and temporary folder are new."""

    def __init__(self, world: Path, **more: str) -> None:
        self.world, self.said = world, list[str]()
        self.outside = [world / name for name in ("home", "cwd", "usual")]
        self.temporary = world / "tmp"
        for folder in (*self.outside, self.temporary):
            folder.mkdir()
        with (world / "stderr").open("wb") as errors:
            self.process = subprocess.Popen(
                program("demo", "--port", "0", "--no-open"),
                env=environment(world / "usual/agentlink", **self._places(), **more),
                cwd=world / "cwd", stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        self.scratch = Path(self.hear("The demo lives in ").split("The demo lives in ")[1].partition(";")[0])
        self.home = self.scratch / "agintiflow/agentlink"

    def _places(self) -> dict[str, str]:
        return {"HOME": str(self.world / "home"), "TMPDIR": str(self.temporary), "PYTHONDONTWRITEBYTECODE": "1"}

    def hear(self, words: str) -> str:
        """The line of output with these words; everything before it is kept in ``said``."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if words in line:
                return line
        raise AssertionError(f"never said {words!r}: {self.said}; {(self.world / 'stderr').read_text()}")

    def command(self, *arguments: str) -> Json:
        """What a command of this home answers."""
        done = run(self.home, *arguments, "--json", AGINTIFLOW_HOME=str(self.home.parent))
        answer: Json = json.loads(done.stdout)
        return answer

    def board(self) -> Json:
        return self.command("board", "event-camera-light")

    def log(self) -> list[tuple[str, str]]:
        """Type and actor of every event, oldest first."""
        with closing(sqlite3.connect(f"file:{self.home}/agentlink.sqlite3?mode=ro", uri=True)) as store:
            return store.execute("SELECT type, actor FROM boards_event ORDER BY position").fetchall()

    def inbox(self, session_id: str) -> list[Json]:
        lines = (self.home.parent / "sessions" / session_id / "inbox.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=30)
        return self.process.returncode

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    """One demo whose story has been told."""
    with tempfile.TemporaryDirectory(prefix="al-") as folder:
        shown = Demo(Path(folder), AGENTLINK_MODE="off", AGENTLINK_NODE="nobody")
        try:
            shown.hear(TURN)
            yield shown
        finally:
            shown.kill()


def until(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.2)


def test_the_story_is_in_the_log_to_its_last_step(demo: Demo) -> None:
    log = demo.log()
    told = {name.removeprefix("agentlink.") for name, _ in log}
    assert told >= {
        "board.created", "contract.proposed", "contract.accepted", "contract.activated", "task.claimed",
        "message.received", "message.applied", "message.acknowledged", "evidence.verified", "evidence.rejected",
        "blocker.opened", "contract.blocked", "blocker.resolved", "contract.unblocked", "task.completed",
        "contract.completed", "summary.created",
    }  # fmt: skip
    assert ("agentlink.message.sent", "light-patterns") in log
    assert not [line for line in demo.said if "ends here" in line]


def test_every_session_has_its_messages_in_its_own_inbox(demo: Demo) -> None:
    for session_id in ("camera-recorder", "light-patterns", "lab-notes"):
        items = demo.inbox(session_id)
        assert items
        assert all(item["content"].startswith("[AgentLink event-camera-light] ") for item in items)
    sent = {m["messageId"] for m in demo.board()["messages"]}
    assert {item["agentlink"]["messageId"] for item in demo.inbox("lab-notes")} <= sent


def test_the_sessions_show_every_kind_of_state(demo: Demo) -> None:
    states = {peer["sessionId"]: peer["status"] for peer in demo.command("peers")["peers"] if peer["sessionId"]}
    assert states == {
        "camera-recorder": "running",
        "light-patterns": "running",
        "lab-notes": "waiting",
        "camera-calibration": "stale",
        "firmware-flash": "failed",
    }


def test_one_bundle_is_rejected_and_says_why(demo: Demo) -> None:
    bundles = demo.board()["evidence"]
    assert sorted(bundle["verdict"] for bundle in bundles) == ["rejected", "verified", "verified", "verified"]
    [rejected] = [bundle for bundle in bundles if bundle["verdict"] == "rejected"]
    assert {line["name"] for line in rejected["checks"] if line["verdict"] == "rejected"} == {"size", "sha256"}


def test_what_waits_for_the_visitor_is_one_question_and_its_answer_moves_the_board(demo: Demo) -> None:
    board = demo.board()
    assert board["counts"]["needsYou"] == 1
    [question] = [m["messageId"] for m in board["messages"] if m["from"] == "light-patterns" and m["requiresAck"]]
    demo.command("ack", question, "accepted")
    until(lambda: demo.command("contract", "show", "run-016")["status"] == "active")
    assert demo.board()["counts"]["needsYou"] == 0


def test_a_scripted_agent_takes_a_message_in_and_answers(demo: Demo) -> None:
    sent = demo.command("send", "event-camera-light", "camera-recorder", "Are you there?", "--type", "status_request")

    def answered() -> bool:
        replies = [m for m in demo.board()["messages"] if m["replyTo"] == sent["messageId"]]
        return [reply["type"] for reply in replies] == ["status_response"]

    until(answered)
    [asked] = [m for m in demo.board()["messages"] if m["messageId"] == sent["messageId"]]
    assert [copy["step"] for copy in asked["deliveries"]] == ["applied"]


def test_nothing_outside_the_scratch_folder_is_written(demo: Demo) -> None:
    assert demo.scratch.parent == demo.temporary.resolve()
    assert list(demo.temporary.iterdir()) == [demo.scratch]
    assert [list(folder.rglob("*")) for folder in demo.outside] == [[], [], []]


def test_an_interrupt_removes_the_folder() -> None:
    with tempfile.TemporaryDirectory(prefix="al-") as folder:
        short = Demo(Path(folder))
        try:
            short.hear("You make a board")
            assert short.scratch.exists()
            assert short.stop() == 0
            assert list(short.temporary.iterdir()) == []
            assert [list(place.rglob("*")) for place in short.outside] == [[], [], []]
        finally:
            short.kill()


def test_the_example_names_no_place_of_a_person() -> None:
    source = Path(__file__).resolve().parents[2] / "agentlink_site/demo/example"
    texts = [path.read_text() for path in source.rglob("*") if path.suffix in (".json", ".jsonl", ".md")]
    assert len(texts) > 20
    assert not [text for text in texts if "/home/" in text or "/root" in text or os.path.expanduser("~") in text]
