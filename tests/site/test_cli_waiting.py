"""ask, wait and watch as real processes: answers that come, times that end, servers that die meanwhile."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.site.desks import Done, Shell, complaint
from tests.site.servers import WAIT, Server

pytestmark = pytest.mark.process
Process = subprocess.Popen[str]


def ended(process: Process) -> Done:
    out, err = process.communicate(timeout=WAIT * 2)
    return Done(process.returncode, out, err)


def until(found: Callable[[], Any]) -> Any:
    """What is found at last."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.1)
    raise AssertionError("it never happened")


def first_line(process: Process) -> str:
    """The first line on stderr: the command has sent what it waits for."""
    assert process.stderr is not None
    return process.stderr.readline()


def question(process: Process) -> str:
    return first_line(process).partition(" ")[0]


def desk(shell: Shell) -> Shell:
    shell.register(["alice", "bob"])
    shell.ok("create", "Work", "--member", "alice", "--member", "bob")
    return shell


# --- ask -------------------------------------------------------------------------------------------------------------


def test_ask_ends_with_the_words_of_a_reply(either: Shell) -> None:
    process = desk(either).start("ask", "alice", "How far?", "--timeout", "2m")
    message = question(process)
    waiting = either.json("inbox", "--as", "alice")
    assert waiting == either.json("inbox", "--as", "alice") | {"generatedAt": waiting["generatedAt"]}
    assert [item["messageId"] for item in waiting["inbox"]] == [message]
    shown = either.ok("inbox", "--as", "alice").out
    assert f"  agentlink reply {message} TEXT --as alice\n  agentlink ack {message} ANSWER --as alice\n" in shown
    reply = either.ok("reply", message, "Half done.", "--as", "alice").out
    assert reply.endswith(f" answers {message} to {either.json('status')['nodeId']}; your copy is settled with read.\n")
    done = ended(process)
    assert done.status == 0
    assert re.fullmatch(rf"alice answered {message} \(by msg-[0-9a-f-]+\)\.\n    Half done\.\n", done.out)
    assert either.ok("inbox", "--as", "alice").out == "Nothing waits for your answer.\n"
    assert [item["messageId"] for item in either.json("inbox", "--all", "--as", "alice")["inbox"]] == [message]


def test_ask_ends_with_an_acknowledgement_as_json(either: Shell) -> None:
    process = desk(either).start("ask", "alice", "Ready?", "--board", "work", "--json", "--timeout", "2m")
    message = until(lambda: either.json("inbox", "--as", "alice")["inbox"])[0]["messageId"]
    either.ok("ack", message, "read", "--as", "alice")
    either.ok("ack", message, "needs_clarification", "--note", "Ready for what?", "--as", "alice")
    done = ended(process)
    assert (done.status, done.err) == (0, "")
    answer = done.json["answer"]
    assert (answer["nodeId"], answer["answer"], answer["verified"]) == ("alice", "needs_clarification", True)
    assert (done.json["outcome"], answer["content"]) == ("answered", "Ready for what?")
    assert [copy["step"] for copy in done.json["message"]["deliveries"]] == ["acknowledged"]


def test_when_the_time_is_over_ask_ends_with_4_and_the_message_stays(shell: Shell) -> None:
    done = desk(shell).run("ask", "alice", "How far?", "--timeout", "0", "--key", "k")
    assert done.status == 4
    assert done.err.endswith(" [no_answer]\n")
    line = re.search(r"Wait again with: (agentlink wait work --for ack --message (msg-\S+) --after (\d+))", done.err)
    assert line is not None
    either_way = shell.run("ask", "alice", "How far?", "--timeout", "0", "--key", "k", "--json")
    assert (either_way.status, either_way.json["outcome"], either_way.json["answer"]) == (4, "no_answer", None)
    assert either_way.json["message"]["messageId"] == line[2], "the same key asks the same question"
    shell.ok("ack", line[2], "accepted", "--note", "Soon", "--as", "alice")
    assert "alice answered" in shell.ok(*line[1].split()[1:], "--timeout", "0").out
    assert shell.json("ask", "alice", "How far?", "--key", "k")["answer"]["content"] == "Soon"


def test_what_can_never_be_answered_ends_ask_at_once(shell: Shell) -> None:
    process = desk(shell).start("ask", "alice", "How far?", "--timeout", "2m")
    message = question(process)
    shell.ok("ack", message, "read", "--as", "alice")
    shell.ok("close", "work")
    done = ended(process)
    assert (done.status, done.out) == (2, "")
    assert done.err == f"agentlink: The board was closed before alice answered {message}. [board_closed]\n"
    assert complaint(shell.run("ask", "alice,bob", "Both?")) == "one_peer"
    assert complaint(shell.run("ask", "nobody", "You?")) == "unknown_peer"


def test_a_message_that_was_taken_back_ends_ask(either: Shell) -> None:
    process = desk(either).start("ask", "alice", "How far?", "--json", "--timeout", "2m")
    message = until(lambda: either.json("inbox", "--as", "alice")["inbox"])[0]["messageId"]
    either.ask("/commands", command="withdraw_message", boardId="work", messageId=message)
    done = ended(process)
    assert (done.status, done.json["outcome"], done.json["answer"]) == (2, "withdrawn", None)


def test_ctrl_c_says_how_to_wait_again(either: Shell) -> None:
    process = desk(either).start("ask", "alice", "How far?", "--timeout", "2m")
    message = question(process)
    process.send_signal(signal.SIGINT)
    done = ended(process)
    assert (done.status, done.out) == (130, "")
    assert f"Wait again with: agentlink wait work --for ack --message {message} --after " in done.err


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_ask_outlives_the_server(home: Path, how: int) -> None:
    shell = Shell(home)
    with Server(home, launcher=False) as server:
        process = desk(shell).start("ask", "alice", "How far?", "--timeout", "2m")
        message = question(process)
        server.stop(how)
        shell.ok("reply", message, "Half done.", "--as", "alice")
    assert "    Half done.\n" in ended(process).out


def test_an_answer_through_the_board_folder_is_printed_as_unverified(either: Shell) -> None:
    process = desk(either).start("ask", "alice", "How far?", "--timeout", "2m")
    message = question(process)
    line = {"timestamp": "2026-11-30T10:00:00.000Z", "messageId": "x-1", "boardId": "work", "kind": "message",
            "fromNodeId": "alice", "content": f"re: {message} Half done, says the sandbox."}  # fmt: skip
    folder = either.home / "boards" / "work"
    until((folder / "messages.jsonl").exists)
    with (folder / "messages.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    done = ended(process)
    assert done.status == 0
    assert done.out.startswith(f"UNVERIFIED: a line in the board folder answers {message} by ")
    assert "It says that it is from alice:\n" in done.out
    assert "Half done, says the sandbox." in done.out


# --- wait ------------------------------------------------------------------------------------------------------------


def test_wait_ends_when_it_happens_and_tells_what_is_there_when_asked(either: Shell) -> None:
    desk(either).ok("contract", "new", "work", "--objective", "Record")
    process = either.start("wait", "work", "--for", "blocker", "--contract", "record", "--json", "--timeout", "2m")
    time.sleep(1)
    either.ok("block", "work", "--summary", "Of no contract")
    opened = either.json("block", "work", "--summary", "No disk", "--contract", "record")["blockerId"]
    done = ended(process)
    assert [event["data"]["blockerId"] for event in done.json["events"]] == [opened]
    there = either.json("wait", "work", "--for", "blocker", "--after", "0")
    assert len(there["events"]) == 2
    later = either.run("wait", "work", "--for", "blocker", "--after", str(there["after"]), "--timeout", "0")
    assert (later.status, complaint(later)) == (4, "not_yet")
    either.ok("resolve", "work", opened, "--resolution", "Deleted the old ones")
    assert len(either.json("wait", "work", "--for", "blocker", "--after", "0")["events"]) == 1, "what still holds"


def test_wait_for_evidence_and_for_the_answer_of_one_contract(shell: Shell) -> None:
    desk(shell).ok("contract", "new", "work", "--objective", "Record", "--requires", "one file")
    assert shell.run("wait", "work", "--for", "evidence", "--timeout", "0").status == 4
    about = ("--contract", "record", "--requirement", "proof-1", "--summary", "Seen it")
    shell.ok("evidence", "attach", "work", *about, "--as", "alice")
    assert "Seen it" in shell.ok("wait", "work", "--for", "evidence", "--after", "0").out
    sent = shell.json("send", "work", "alice", "Look", "--contract", "record", "--type", "status_request")
    other = shell.json("send", "work", "bob", "Look too", "--type", "status_request")
    shell.ok("ack", other["messageId"], "read", "--as", "bob")
    answers = ("wait", "work", "--for", "ack", "--contract", "record", "--after", "0")
    assert shell.run(*answers, "--timeout", "0").status == 4
    shell.ok("ack", sent["messageId"], "accepted", "--as", "alice")
    out = shell.ok(*answers).out
    assert out == f"alice answered {sent['messageId']} (accepted).\n"
    assert complaint(shell.run("wait", "work", "--for", "luck")) == "usage"
    assert complaint(shell.run("wait", "work", "--for", "ack", "--timeout", "soon")) == "bad_duration"


# --- watch -----------------------------------------------------------------------------------------------------------


def lines(process: Process, count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(count)]


def test_watch_prints_a_line_for_each_event_and_ends_with_where_to_go_on(either: Shell) -> None:
    process = desk(either).start("watch", "work", "--after", "0")
    told = lines(process, 3)
    assert [line.split()[3] for line in told] == ["board.created", "board.invited", "board.invited"]
    either.ok("send", "work", "alice", "hello\n\x1b[2Jthere", "--type", "status_request")
    sent = lines(process, 1)[0]
    assert sent.endswith(" status_request alice \N{EM DASH} hello\N{HORIZONTAL ELLIPSIS}\n")
    process.send_signal(signal.SIGINT)
    done = ended(process)
    assert done.status == 130
    goes_on = re.fullmatch(r"Stopped at (\d+)\. Go on with: agentlink (watch work --after \1)\n", done.err)
    assert goes_on is not None
    assert either.ok(*goes_on[2].split(), "--once").out == ""


def test_a_watcher_that_restarts_misses_nothing_because_its_cursor_is_kept(either: Shell) -> None:
    desk(either)
    assert either.ok("watch", "--once", "--resume", "night").out == "", "a new name begins now"
    kept = either.home / "cursors" / "night.json"
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    process = either.start("watch", "--json", "--resume", "night")
    start = json.loads(kept.read_text())["after"]
    time.sleep(1)
    either.ok("create", "Before")
    before = [json.loads(line)["type"] for line in lines(process, 1)]
    until(lambda: json.loads(kept.read_text())["after"] > start)
    process.kill()
    process.communicate()
    either.ok("create", "Gap")
    seen = [json.loads(line) for line in either.ok("watch", "--json", "--once", "--resume", "night").out.splitlines()]
    assert (before, [event["boardId"] for event in seen if event["boardId"]]) == (["agentlink.board.created"], ["gap"])
    assert complaint(either.run("watch", "work", "--resume", "night")) == "other_cursor"
    assert complaint(either.run("watch", "--resume", "../x")) == "bad_name"
    kept.write_text("{")
    assert complaint(either.run("watch", "--resume", "night")) == "bad_cursor"


def test_what_nobody_read_is_not_counted_as_seen(shell: Shell) -> None:
    desk(shell).ok("watch", "--once", "--resume", "night", "--after", "0")
    cursor = (shell.home / "cursors" / "night.json").read_text()
    shell.ok("create", "Unseen")
    with shell.start("watch", "--resume", "night") as process:
        assert process.stdout is not None
        process.stdout.close()
    assert process.returncode == 128 + signal.SIGPIPE
    assert (shell.home / "cursors" / "night.json").read_text() == cursor


def test_watch_goes_on_when_the_server_dies_and_when_another_one_starts(home: Path) -> None:
    shell = Shell(home)
    with Server(home, launcher=False) as server:
        process = desk(shell).start("watch", "work")
        time.sleep(1)
        shell.ok("send", "work", "alice", "one", "--type", "status_request")
        told = lines(process, 1)
        server.stop(signal.SIGKILL)
        shell.ok("send", "work", "alice", "two", "--type", "status_request")
        told += lines(process, 1)
    with Server(home, launcher=False):
        shell.ok("send", "work", "alice", "three", "--type", "status_request")
        told += lines(process, 1)
        process.send_signal(signal.SIGINT)
        assert ended(process).status == 130
    assert [line.split()[-1] for line in told] == ["one", "two", "three"]


def test_an_agent_watches_only_its_own_boards(either: Shell) -> None:
    desk(either).ok("create", "Secret")
    out = either.ok("watch", "--once", "--after", "0", "--json", "--as", "alice").out
    assert {json.loads(line)["boardId"] for line in out.splitlines()} == {"work"}


def test_who_waits_is_idle(either: Shell) -> None:
    process = desk(either).start("watch", "work")
    time.sleep(3)
    before = _ticks(process.pid)
    time.sleep(6)
    spent = (_ticks(process.pid) - before) / os.sysconf("SC_CLK_TCK")
    process.kill()
    process.communicate()
    assert spent < 0.3, "less than a twentieth of a core, on any machine"


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
