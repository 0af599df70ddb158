"""The verbs beside boards, messages and waiting: real processes, with a server and without."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from agentlink_site.cli import terminal
from tests.fixtures import unpack
from tests.site.desks import Shell, complaint
from tests.site.servers import WAIT, Server, environment
from tests.site.test_cli_hostile import in_terminal

pytestmark = pytest.mark.process


def desk(shell: Shell) -> Shell:
    shell.register(["alice", "bob"])
    shell.ok("create", "Work", "--member", "alice", "--member", "bob")
    return shell


# --- nodes and the home


def test_register_makes_a_node_and_says_where_its_token_lies(either: Shell) -> None:
    made = either.ok("register", "Alice", "--role", "camera", "--capability", "video", "--constraint", "no network")
    token = either.home / "tokens" / "alice"
    assert f"Registered Alice as alice. Its token lies in {token};\n" in made.out
    assert token.read_text().strip() not in made.out
    assert either.json("status", "--as", "alice")["nodeId"] == "alice"
    peer = next(p for p in either.json("peers")["peers"] if p["nodeId"] == "alice")
    assert (peer["role"], peer["capabilities"], peer["constraints"]) == ("camera", ["video"], ["no network"])
    taken = either.run("register", "ALICE")
    assert (taken.status, complaint(taken)) == (3, "name_taken")
    assert either.json("register", "Bob", "--id", "b-1")["nodeId"] == "b-1"
    assert complaint(either.run("register", "Carol", "--as", "alice")) == "not_yours"


def test_a_session_is_bound_once_and_its_summary_holds_no_messages(home: Path) -> None:
    shell = Shell(home, {"AGINTIFLOW_HOME": str(unpack(home.parent).home)})
    session = next(p["sessionId"] for p in shell.json("peers", "--limit", "500")["peers"] if p["sessionId"])
    node = shell.json("register", "Camera", "--session", session)["nodeId"]
    again = shell.run("register", "Other", "--session", session)
    assert (again.status, complaint(again)) == (3, "node_exists")
    assert complaint(shell.run("register", "Third", "--session", "nope")) == "unknown_session"
    shell.ok("create", "Work", "--member", node)
    out = shell.ok("summarize", session).out
    assert out.startswith(f"Summary of {node} on work:\n    node: {node}\n")
    assert shell.json("summarize", node, "work")["nodeId"] == node
    assert complaint(shell.run("summarize", "nobody", "work")) == "no_session"


def test_mode_says_why_the_others_are_not_chosen(either: Shell) -> None:
    out = either.ok("mode").out
    assert out.startswith("The mode is local. ")
    for name in ("off", "local", "project", "manual-peer", "team", "mesh"):
        assert f" {name} " in out
    assert "* " in next(line for line in out.splitlines() if " local " in line and "sessions" in line)
    assert either.json("mode")["mode"] == "local"


def test_needs_are_told_to_whom_they_wait_for(either: Shell) -> None:
    desk(either)
    assert either.ok("needs").out == "Nothing waits for you.\n"
    either.ok("contract", "new", "work", "--objective", "Record", "--owner", "alice=disk")
    either.ok("block", "work", "--summary", "No disk", "--as", "bob")
    assert "blocker on work: blk-" in either.ok("needs").out
    assert "acceptance on work: record (of " in either.ok("needs", "work", "--as", "alice").out
    assert [need["kind"] for need in either.json("needs", "-")["needs"]] == ["blocker"]
    assert complaint(either.run("needs", "nope")) == "unknown_board"


# --- boards, contracts, tasks, evidence


def test_who_leaves_a_board_does_not_read_it_any_more(either: Shell) -> None:
    assert desk(either).ok("leave", "work", "--as", "bob").out == "You left the board work.\n"
    assert complaint(either.run("board", "work", "--as", "bob")) == "not_a_member"


def test_an_edit_is_a_new_text_and_only_what_was_named_changes(either: Shell) -> None:
    wish = ("--objective", "Record", "--owner", "alice=disk", "--requires", "one file", "--stop", "disk full")
    desk(either).ok("contract", "new", "work", *wish)
    either.ok("contract", "accept", "work", "record", "--as", "alice")
    edited = either.json("contract", "edit", "-", "record", "--requires", "two files", "--stop", "", "--mutating")
    assert (edited["status"], edited["textRevision"], edited["mutating"]) == ("proposed", 2, True)
    assert [item["text"] for item in edited["requiredEvidence"]] == ["two files"]
    assert (edited["stopConditions"], edited["owners"]) == ([], {"alice": ["disk"]})
    assert either.ok("contract", "edit", "work", "record", "--objective", "Record all").out == (
        "The contract record is proposed; it waits for alice.\nIt is text 3 now.\n"
    )
    assert complaint(either.run("contract", "edit", "work", "record")) == "usage"
    assert complaint(either.run("contract", "withdraw", "work", "record", "--as", "alice")) == "not_yours"
    assert "is withdrawn" in either.ok("contract", "withdraw", "work", "record", "--reason", "Not now").out


def test_a_task_is_handed_over_by_an_offer_that_the_next_one_takes(either: Shell) -> None:
    desk(either).ok("contract", "new", "work", "--objective", "Record")
    either.ok("claim", "work", "record", "--as", "alice")
    assert complaint(either.run("claim", "work", "record", "--as", "bob")) == "already_claimed"
    offered = either.ok("hand-over", "-", "record", "bob", "--summary", "Half is done", "--as", "alice").out
    assert offered.startswith("alice holds record until ")
    assert offered.endswith("; bob takes it with `agentlink claim`.\n")
    assert (either.home / "fencing" / "alice" / "record").exists(), "until it is taken, alice holds it"
    either.ok("renew", "work", "record", "--as", "alice")
    assert "hand_over on work: record" in either.ok("needs", "--as", "bob").out
    assert either.json("claim", "work", "record", "--as", "bob")["fencing"] == 2
    late = either.run("renew", "work", "record", "--as", "alice")
    assert late.status in (2, 3), "the old number is worth nothing"
    back = either.ok("hand-over", "work", "record", "alice", "--summary", "Yours again", "--as", "bob").out
    assert "alice takes it" in back
    assert "offered to nobody" in either.ok("hand-over", "work", "record", "-", "--summary", "", "--as", "bob").out


def test_evidence_is_listed_for_the_board_and_for_one_contract(either: Shell) -> None:
    desk(either).ok("contract", "new", "work", "--objective", "Record")
    either.ok("contract", "new", "work", "--objective", "Play")
    for name in ("record", "play"):
        either.ok("evidence", "attach", "work", "--contract", name, "--summary", f"Seen {name}", "--as", "alice")
    assert [one["contractId"] for one in either.json("evidence", "list", "work")["evidence"]] == ["play", "record"]
    only = either.json("evidence", "list", "-", "--contract", "record")["evidence"]
    assert [one["summary"] for one in only] == ["Seen record"]
    page = either.json("evidence", "list", "work", "--limit", "1")
    rest = either.ok("evidence", "list", "work", "--limit", "1", "--cursor", page["nextCursor"]).out
    assert "Seen record" in rest
    assert "Seen play" not in rest


def test_the_log_tells_who_did_what_and_its_digest(either: Shell) -> None:
    desk(either).ok("send", "work", "alice", "hello", "--type", "status_request")
    either.ok("join", "work", "--as", "alice")
    answer = either.json("log", "work")
    api = either.ask("/boards/work/events")
    assert answer["events"] == api["events"]
    assert api["events"][0]["digest"][:8] in either.ok("log", "work").out
    assert [e["type"] for e in either.json("log", "work", "--by", "ALICE")["events"]] == ["agentlink.board.joined"]
    kinds = {e["type"] for e in either.json("log", "work", "--type", "board")["events"]}
    assert kinds == {"agentlink.board.created", "agentlink.board.invited", "agentlink.board.joined"}
    assert [e["revision"] for e in either.json("log", "work", "--limit", "2")["events"]] == [
        api["sourceRevision"] - 1, api["sourceRevision"],
    ]  # fmt: skip
    assert [e["revision"] for e in either.json("log", "work", "--after", "1", "--limit", "2")["events"]] == [2, 3]
    assert "Later ones: agentlink log work --after 3\n" in either.ok("log", "work", "--after", "1", "--limit", "2").out
    assert either.ok("log", "work", "--by", "nobody").out == "No event fits.\n"


# --- replies


def test_a_reply_with_one_key_acts_once_however_often_it_is_sent(either: Shell) -> None:
    asked = desk(either).json("send", "work", "alice", "Record, please", "--key", "k1")["messageId"]
    wish = ("reply", asked, "On it", "--answer", "accepted", "--key", "k2", "--as", "alice", "--json")
    first, second = either.ok(*wish).json, either.ok(*wish).json
    assert first["message"]["messageId"] == second["message"]["messageId"]
    assert (first["message"]["replyTo"], first["message"]["type"]) == (asked, "status_response")
    assert second["message"]["receipt"]["outcome"] == "already_applied"
    assert [copy["answer"] for copy in first["acknowledged"]["deliveries"]] == ["accepted"]
    assert len(either.json("board", "work")["messages"]) == 2


def test_a_reply_is_refused_before_anything_is_sent_where_it_cannot_be_recorded(shell: Shell) -> None:
    asked = desk(shell).json("send", "work", "alice", "Record, please")["messageId"]
    assert complaint(shell.run("reply", asked, "mine", "--as", "bob")) == "not_addressed"
    shell.ok("ack", asked, "blocked", "--as", "alice")
    settled = shell.run("reply", asked, "yes", "--answer", "accepted", "--as", "alice")
    assert (settled.status, complaint(settled)) == (3, "already_settled")
    assert len(shell.json("board", "work")["messages"]) == 1
    assert "your copy was settled before" in shell.ok("reply", asked, "The disk is full.", "--as", "alice").out


# --- board folders


def test_a_board_goes_into_a_folder_and_comes_back_in_another_home(either: Shell) -> None:
    desk(either).ok("send", "work", "alice", "hello", "--type", "status_request")
    out = either.home.parent / "out"
    assert either.ok("export-board", "work", str(out)).out == f"work is in {out / 'work'}.\n"
    assert complaint(either.run("export-board", "work", str(out))) == "folder_unusable"
    assert complaint(either.run("export-board", "nope", str(out))) == "unknown_board"
    assert complaint(either.run("export-board", "work", str(out), "--as", "alice")) == "only_human"
    assert complaint(either.run("import-board", str(out / "work"), AGENTLINK_NODE="alice")) == "only_human"
    assert complaint(either.run("import-board", str(out / "work"))) == "board_exists"
    assert complaint(either.run("import-board", str(out))) == "no_board"
    other = Shell(either.home.parent / "other")
    back = other.json("import-board", str(out / "work"))
    assert (back["boardId"], back["receipt"]["outcome"]) == ("work", "applied")
    assert other.json("board", "work")["messages"][0]["content"] == "hello"


# --- the client


CALL = """
import json, sys
from agentlink_site.client import call
answers = [call("PATCH", "/boards/work/contracts/record", json.loads(sys.argv[1]), key="k") for _ in range(2)]
print(json.dumps([[status, json.loads(body)["receipt"]["outcome"]] for status, _, body in answers]))
print(sorted(name for name in sys.modules if name.partition(".")[0] == "django"))
"""


def _call(shell: Shell, **body: Any) -> list[str]:
    command = [sys.executable, "-c", CALL, json.dumps(body)]
    done = subprocess.run(command, env=environment(shell.home), capture_output=True, check=True, timeout=WAIT)
    return done.stdout.decode().splitlines()


def test_a_patch_has_a_key_like_a_post_and_is_done_once(either: Shell) -> None:
    desk(either).ok("contract", "new", "work", "--objective", "Record", "--owner", "alice")
    outcomes, loaded = _call(either, objective="Record all")
    assert json.loads(outcomes) == [[200, "applied"], [200, "already_applied"]]
    assert either.json("contract", "show", "record")["textRevision"] == 2
    served = (either.home / "server.json").exists()
    assert (loaded == "[]") == served, "Django is loaded only where no server answers"


# --- the shell and the screen


COMPLETE = r"""
eval "$(agentlink --show-completion)"
_complete() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _agentlink_completion agentlink; echo "${COMPREPLY[@]}"
}
_complete agentlink ev
_complete agentlink contract wi
_complete agentlink watch --re
_complete agentlink board wo
_complete agentlink inbox --board ""
true
"""


def _bash(shell: Shell, script: str, folder: Path) -> list[str]:
    program = folder / "agentlink"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m agentlink_site "$@"\n')
    program.chmod(0o755)
    env = environment(shell.home, PATH=f"{folder}:/usr/bin:/bin")
    done = subprocess.run(["/bin/bash", "-c", script], env=env, cwd=shell.home.parent, capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout.decode().splitlines()


def test_bash_completes_verbs_options_and_boards_of_a_running_server(home: Path, tmp_path: Path) -> None:
    shell = Shell(home)
    with Server(home, launcher=False):
        shell.ok("create", "Work")
        shell.ok("create", "Wood")
        found = _bash(shell, COMPLETE, tmp_path)
    assert found == ["evidence", "withdraw", "--resume", "wood work", "wood work"]
    assert not list(home.parent.glob(".bash*")), "nothing is installed unless asked"
    alone = _bash(shell, COMPLETE, tmp_path)
    assert alone == ["evidence", "withdraw", "--resume", "", ""], "without a server only what costs nothing"


def test_completion_is_installed_only_when_asked(home: Path, tmp_path: Path) -> None:
    told = _bash(Shell(home), "agentlink --install-completion; true", tmp_path)
    assert told[0].startswith("bash completion installed in ")
    assert (home.parent / ".bashrc").exists(), "in the home of the test's own environment"


WIDE = "\u6539\u5584\u3057\u307e\u3057\u305f\u8a18\u9332" * 12


@pytest.mark.parametrize("columns", ["80", "60"])
def test_wide_texts_fit_the_screen_and_cannot_pass_for_our_lines(shell: Shell, columns: str) -> None:
    desk(shell).ok("contract", "new", "work", "--id", "wide", "--objective", WIDE)
    shell.ok("send", "work", "alice", f"{'x' * 76}agentlink: forged", "--type", "status_request")
    shell.ok("send", "work", "alice", WIDE, "--type", "status_request")
    for words in (["board", "work"], ["log", "work"], ["inbox", "--as", "alice", "--all"], ["watch", "--once"]):
        shown = in_terminal(shell, *words, *(["--after", "0"] if words[0] == "watch" else []), COLUMNS=columns)
        for row in rows_of(shown):
            assert cell_len(row) <= int(columns), row
            assert not row.startswith("agentlink: forged")


def rows_of(shown: str) -> list[str]:
    """Rows without colour, and without the commands that a person copies: those are never broken."""
    rows = re.sub(r"\x1b\[[0-9;]*m", "", shown).split("\n")
    return [row for row in rows if not row.lstrip().startswith(("agentlink reply", "agentlink ack", "Go on with"))]


def test_a_cell_is_cut_by_its_width_on_the_screen() -> None:
    assert terminal.brief(WIDE) == f"{WIDE[:40]}\N{HORIZONTAL ELLIPSIS}"
    assert terminal.brief("x" * 80) == "x" * 80
