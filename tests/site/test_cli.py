"""The command line as people and agents use it: real processes, with a server and without."""

from __future__ import annotations

import fcntl
import json
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.fixtures import unpack
from tests.site.desks import Done, Shell, all_ended, complaint
from tests.site.servers import WAIT, Server, read_all

pytestmark = pytest.mark.process


# --- a whole piece of work
PROOF = ("--contract", "record", "--requirement", "proof-1", "--summary")


def test_a_whole_piece_of_work_by_command_line(either: Shell) -> None:
    either.register(["alice", "bob"])
    members = ("--member", "alice", "--member", "bob=observer")
    made = either.json("create", "Camera work", "--objective", "Record one file", *members)
    assert made["boardId"] == "camera-work"
    assert either.run("gate").status == 0
    wish = ("--objective", "Record", "--owner", "alice=/dev/video0,disk", "--requires", "one file", "--mutating")
    proposed = either.json("contract", "new", "-", *wish)
    assert proposed["owners"] == {"alice": ["/dev/video0", "disk"]}
    assert (proposed["mutating"], proposed["status"]) == (True, "proposed")
    assert complaint(either.run("claim", "-", "record", "--as", "alice")) == "contract_not_accepted"
    assert "is accepted" in either.ok("contract", "accept", "-", "record", "--as", "alice").out
    assert "alice holds record until" in either.ok("claim", "-", "record", "--as", "alice", "--lease", "600").out
    kept = either.home / "fencing" / "alice" / "record"
    assert (kept.read_text(), kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == ("1\n", 0o600, 0o700)
    assert either.run("claim", "-", "record", "--for", "alice").status == 0
    assert complaint(either.run("complete", "-", "record", "--as", "alice")) == "gate_not_ready"
    assert kept.exists()
    assert either.run("gate").status == 4
    bundle = either.json("evidence", "attach", "-", *PROOF, "Seen it", AGENTLINK_NODE="alice")
    assert (bundle["nodeId"], bundle["verdict"]) == ("alice", "unverified")
    assert complaint(either.run("evidence", "verify", "-", bundle["evidenceId"], "--as", "alice")) == "own_evidence"
    assert "is verified" in either.ok("evidence", "verify", "-", bundle["evidenceId"]).out
    assert "until" in either.ok("renew", "-", "record", "--as", "alice", "--lease", "700").out
    assert "record is done" in either.ok("complete", "-", "record", "--as", "alice").out
    assert not kept.exists()
    assert either.run("gate").out == "Ready to close.\n"
    assert "Closed camera-work: completed." in either.ok("close").out
    assert complaint(either.run("send", "camera-work", "alice", "hello")) == "board_closed"


def test_finished_but_blocked_is_exit_status_3_at_the_gate(shell: Shell) -> None:
    shell.register(["alice"])
    shell.ok("create", "Work", "--member", "alice")
    wish = ("--objective", "Record", "--owner", "alice", "--requires", "one file", "--stop", "disk full")
    shell.ok("contract", "new", "-", *wish)
    shell.ok("contract", "accept", "-", "record", "--as", "alice")
    bundle = shell.json("evidence", "attach", "-", *PROOF, "df says 100 %", "--as", "alice")
    about = ("--contract", "record", "--stop", "stop-1", "--evidence", bundle["evidenceId"])
    shell.ok("block", "-", *about, "--summary", "No disk", "--as", "alice")
    assert shell.run("gate").status == 4, "nobody has verified yet that the disk is full"
    shell.ok("evidence", "verify", "-", bundle["evidenceId"])
    gate = shell.run("gate")
    assert (gate.status, gate.out) == (3, "Ready to close as finished, blocked.\n")


def test_a_message_and_its_answer(either: Shell) -> None:
    either.register(["alice"])
    sent = either.json("send", "-", "alice", "Please look", "--priority", "high", "--expires", "2h")
    assert (sent["type"], sent["priority"], sent["requiresAck"]) == ("task_request", "high", True)
    assert sent["to"] == ["alice"]
    assert sent["boardId"].endswith("and-alice")
    assert either.json("send", "-", "ALICE", "Again", "--no-ack")["boardId"] == sent["boardId"]
    assert either.json("board", AGENTLINK_NODE="alice")["messages"][0]["content"] == "Please look"
    answered = either.ok("ack", sent["messageId"], "accepted", "--note", "On it", "--as", "alice")
    assert "is answered: accepted" in answered.out
    again = either.ok("ack", sent["messageId"], "accepted", "--as", "alice")
    assert again.out.startswith("Already so: ")
    assert complaint(either.run("ack", sent["messageId"], "accepted")) == "not_addressed"
    everybody = either.json("send", "-", "@board", "To all", "--type", "status_request")
    assert everybody["to"] == ["alice"]


@pytest.fixture
def real(home: Path) -> Shell:
    """Beside a home of the real AgInTiFlow, without a server."""
    return Shell(home, {"AGINTIFLOW_HOME": str(unpack(home.parent).home)})


def test_a_real_session_is_found_and_written_to_without_a_server(real: Shell) -> None:
    peers = real.json("peers", "--limit", "500")["peers"]
    assert sum(peer["source"] == "agintiflow" for peer in peers) == 14
    reachable = next(p["sessionId"] for p in peers if p["sessionId"] and p["reach"]["kind"] != "none")
    sent = real.json("send", "-", reachable, "Please report", "--type", "status_request")
    assert real.json("board", sent["boardId"])["messages"][0]["deliveries"][0]["step"] == "handed"
    inbox = Path(real.more["AGINTIFLOW_HOME"]) / "sessions" / reachable / "inbox.jsonl"
    assert sent["messageId"] in inbox.read_text()


def test_files_and_artifacts_of_a_real_session_become_checked_evidence(real: Shell) -> None:
    peers = real.json("peers", "--limit", "500")["peers"]
    session = next(
        p["sessionId"]
        for p in peers
        if p["sessionId"] and real.ask(f"/sessions/{p['sessionId']}/artifacts")["artifacts"]
    )
    artifact = real.ask(f"/sessions/{session}/artifacts")["artifacts"][0]["id"]
    real.ok("create", "Work", "--member", session)
    real.ok("contract", "new", "-", "--objective", "Record", "--requires", "one file")
    summary = real.ask(f"/sessions/{session}/summarize", boardId="work")
    assert summary["sessionId"] == session
    about = ("evidence", "attach", "-", *PROOF, "Made by the session")
    bundle = real.json(*about, "--artifact", artifact, "--session", session)
    assert {check["name"] for check in bundle["checks"]} & {"event", "exists", "file"}
    outside = real.run(*about, "--file", "/etc/hostname")
    assert complaint(outside) == "path_not_allowed"
    relative = real.run(*about, "--file", "no/such/file")
    assert complaint(relative) == "not_found", "it is looked for in the members' projects, and none has it"


# --- exit statuses and sentences


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["nonsense"], 2, "usage"),
        (["claim"], 2, "usage"),
        (["boards", "--limit", "0"], 2, "usage"),
        (["board"], 2, "no_board"),
        (["board", "nope"], 2, "unknown_board"),
        (["board", "../x"], 2, "not_found"),
        (["send", "-", "nobody", "hello"], 2, "unknown_peer"),
        (["send", "-", ",", "hello"], 2, "nobody_named"),
        (["ack", "msg-nope", "accepted"], 2, "unknown_message"),
        (["create", " "], 2, "malformed"),
        (["create", "x", "--member", "y=king"], 2, "malformed"),
        (["status", "--as", "nobody"], 2, "no_token"),
        (["status", "--as", "../secret.key"], 2, "unknown_node"),
    ],
)
def test_what_is_refused_is_one_sentence_with_a_code_and_status_2(
    shell: Shell, arguments: list[str], status: int, code: str
) -> None:
    done = shell.run(*arguments)
    assert (done.status, complaint(done)) == (status, code)


def test_several_boards_are_named_as_candidates(shell: Shell) -> None:
    shell.ok("create", "One")
    shell.ok("create", "Two")
    done = shell.run("board")
    assert complaint(done) == "several_boards"
    assert "one" in done.err
    assert "two" in done.err
    assert shell.json("board", AGENTLINK_BOARD="two")["title"] == "Two"


def test_a_conflict_is_status_3_and_names_the_holder(either: Shell) -> None:
    either.register(["alice"])
    either.ok("create", "Work", "--member", "alice")
    seen = either.json("contract", "new", "-", "--objective", "Record")["receipt"]["revision"]
    either.ok("claim", "-", "record", "--as", "alice")
    done = either.run("claim", "-", "record")
    assert (done.status, complaint(done)) == (3, "already_claimed")
    assert "alice holds record until" in done.err
    old = either.run("claim", "-", "record", "--expect", str(seen))
    assert (old.status, complaint(old)) == (3, "stale_view")


def test_a_wrong_setting_is_status_2(shell: Shell) -> None:
    assert complaint(shell.run("status", AGENTLINK_PORT="many")) == "bad_setting"
    assert complaint(shell.run("status", AGENTLINK_NODE="a b")) == "bad_setting"


def test_a_store_that_is_damaged_is_an_outage(shell: Shell) -> None:
    shell.ok("status")
    (shell.home / "agentlink.sqlite3").write_bytes(b"this is no database " * 1000)
    for leftover in shell.home.glob("agentlink.sqlite3-*"):
        leftover.unlink()
    done = shell.run("status")
    assert (done.status, complaint(done)) == (1, "store_unavailable")


def test_problems_as_json_are_the_apis_own(either: Shell) -> None:
    done = either.run("board", "nope", "--json")
    assert (done.status, done.err) == (2, "")
    assert (done.json["code"], done.json["status"]) == ("unknown_board", 404)


def test_a_token_file_that_others_can_read_is_not_used(shell: Shell) -> None:
    shell.register(["alice"])
    (shell.home / "tokens" / "alice").chmod(0o644)
    assert complaint(shell.run("status", "--as", "alice")) == "unsafe_token_file"


def test_a_token_of_nobody_is_refused(either: Shell) -> None:
    either.register(["alice"])
    (either.home / "tokens" / "alice").write_text("alk_" + "a" * 49 + "\n")
    assert complaint(either.run("status", "--as", "alice")) == "bad_token"


def test_old_claims_are_fenced_off(shell: Shell) -> None:
    shell.register(["alice"])
    shell.ok("create", "Work", "--member", "alice")
    shell.ok("contract", "new", "-", "--objective", "Record")
    assert complaint(shell.run("release", "-", "record", "--as", "alice")) == "not_held"
    shell.ok("claim", "-", "record", "--as", "alice")
    (shell.home / "fencing" / "alice" / "record").unlink()
    assert complaint(shell.run("release", "-", "record", "--as", "alice")) == "fencing_required"
    done = shell.run("release", "-", "record", "--as", "alice", "--fencing", "7")
    assert (done.status, complaint(done)) == (3, "fenced")
    shell.ok("release", "-", "record", "--as", "alice", "--fencing", "1")


def test_one_key_never_does_a_thing_twice(either: Shell) -> None:
    first = either.json("create", "Work", "--key", "k1")
    second = either.json("create", "Work", "--key", "k1")
    assert (second["boardId"], second["receipt"]["outcome"]) == (first["boardId"], "already_applied")
    assert len(either.json("boards")["boards"]) == 1


# --- the same answer everywhere


def _without_times(text: str) -> str:
    return re.sub(r'"(generatedAt|scannedAt)": ("[^"]*"|null)', r'"\1": "-"', text)


def test_json_is_the_body_of_the_api_unchanged_with_a_server_and_without(home: Path) -> None:
    shell = Shell(home)
    shell.register(["alice"])
    shell.ok("create", "W\u00f6rk \u202e", "--member", "alice")
    shell.ok("contract", "new", "-", "--objective", "Record\x1b[2J", "--owner", "alice=a,b")
    paths: dict[str, tuple[str, ...]] = {"/boards/work": ("board",), "/boards": ("boards",)}
    contract = shell.json("board")["contracts"][0]["contractId"]
    paths[f"/contracts/{contract}"] = ("contract", "show", contract)
    alone = {path: shell.ok(*words, "--json").out for path, words in paths.items()}
    with Server(home, launcher=False) as server:
        for path, words in paths.items():
            answer = server.ask_unix("GET", f"/api/agentlink{path}")
            served = shell.ok(*words, "--json").out
            assert answer.body.isascii()
            body = answer.body.decode()
            assert _without_times(served) == _without_times(body) + "\n"
            assert _without_times(alone[path]) == _without_times(served)


# --- twenty at once

NODES = [f"node-{number}" for number in range(20)]


def one_wins(results: list[Done]) -> None:
    """The checker: exactly one claim was applied, and every other one was told who holds the task."""
    winners = [done for done in results if done.status == 0 and "Already so" not in done.out]
    assert len(winners) == 1, [done.out for done in winners]
    holder = winners[0].out.partition(" holds ")[0]
    for done in results:
        if done is not winners[0]:
            assert done.status == 3
            assert f"{holder} holds record until" in done.err
            assert done.err.endswith("[already_claimed]\n")


def twenty_claims(shell: Shell) -> list[Done]:
    return all_ended([shell.start("claim", "work", "record", "--as", node) for node in NODES])


def open_task(shell: Shell) -> None:
    shell.register(NODES)
    shell.ok("create", "Work", *(word for node in NODES for word in ("--member", node)))
    shell.ok("contract", "new", "work", "--objective", "Record")


def test_of_twenty_claims_exactly_one_wins_and_the_others_learn_who(either: Shell) -> None:
    open_task(either)
    one_wins(twenty_claims(either))
    claims = [
        event for event in either.ask("/boards/work/events")["events"] if event["type"] == "agentlink.task.claimed"
    ]
    assert len(claims) == 1


def test_the_checker_of_claims_goes_red_on_a_planted_fault(shell: Shell) -> None:
    open_task(shell)
    with pytest.raises(AssertionError):
        one_wins(twenty_claims(Shell(shell.home, planted=True)))


# --- what gets lost on the way


@contextmanager
def lossy(server: Server) -> Iterator[list[bytes]]:
    """In front of the server's socket: the first answer is lost after the server has given it."""
    facts = server.home / "server.json"
    known = json.loads(facts.read_text())
    place = str(server.home.parent / "lossy.sock")
    requests: list[bytes] = []
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(place)
        listening.listen()
        threading.Thread(target=_lose_first, args=(listening, known["socket"], requests), daemon=True).start()
        facts.write_text(json.dumps({**known, "socket": place}))
        yield requests
        listening.shutdown(socket.SHUT_RDWR)


def _lose_first(listening: socket.socket, behind: str, requests: list[bytes]) -> None:
    while True:
        try:
            caller, _ = listening.accept()
        except OSError:
            return
        with closing(caller), closing(socket.socket(socket.AF_UNIX)) as real:
            request = caller.recv(1 << 20)
            requests.append(request)
            real.connect(behind)
            real.sendall(request)
            answer = read_all(real)
            if len(requests) > 1:
                caller.sendall(answer)


def test_a_lost_answer_is_asked_for_again_with_the_same_key_and_done_once(home: Path) -> None:
    with Server(home, launcher=False) as server, lossy(server) as requests:
        made = Shell(home).json("create", "Work")
        assert len(requests) == 2
        assert requests[0] == requests[1]
        assert made["receipt"]["outcome"] == "already_applied"
        assert [board["boardId"] for board in Shell(home).json("boards")["boards"]] == ["work"]


def test_a_server_that_was_killed_is_not_missed(home: Path) -> None:
    shell = Shell(home)
    with Server(home, launcher=False) as server:
        shell.ok("create", "Work")
        server.stop(signal.SIGKILL)
        assert (home / "server.json").exists()
        assert shell.json("board")["boardId"] == "work"


def test_a_closed_pipe_is_no_error_message(shell: Shell) -> None:
    with shell.start("peers") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 128 + signal.SIGPIPE


def test_ctrl_c_ends_with_130_and_no_traceback(shell: Shell) -> None:
    shell.ok("status")
    with (shell.home / "agentlink.sqlite3.lock").open("wb") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # a writer that takes its time: the command waits for its turn
        process = shell.start("create", "Work")
        _wait_until_asleep(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WAIT)
    assert (process.returncode, out, err) == (130, "", "")


def _wait_until_asleep(pid: int) -> None:
    """Until the process waits in flock."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        if "flock" in Path(f"/proc/{pid}/wchan").read_text() or "lock" in _syscall(pid):
            return
        time.sleep(0.05)
    raise AssertionError("the command never waited for the lock")


def _syscall(pid: int) -> str:
    locks = Path("/proc/locks").read_text()
    return "lock" if re.search(rf"->.* {pid} ", locks) else ""


def test_secrets_are_in_no_argument_list_output_or_log(home: Path) -> None:
    shell = Shell(home)
    with Server(home, launcher=False) as server:
        shell.register(["alice"])
        secret = (home / "tokens" / "alice").read_text().strip()
        with (home / "agentlink.sqlite3.lock").open("wb") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            process = shell.start("create", "Work", "--as", "alice")
            time.sleep(1)
            arguments = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        done = all_ended([process])[0]
        assert done.status == 0
        assert secret not in done.out + done.err + server.log() + arguments.decode()
