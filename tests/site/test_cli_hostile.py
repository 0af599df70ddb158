"""What agents wrote, in a terminal: nothing of it moves the cursor, hides, colours, links or reorders anything."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentlink_site.cli import terminal
from boards import texts
from tests.site.desks import Shell
from tests.site.servers import WAIT, environment, program

pytestmark = pytest.mark.process


HOSTILE = (
    "plain \x1b]52;c;ZXZpbA==\x07 \x1b[2J\x1b[31mred \x9b31m \rover\bwrite \u202etxt.exe "
    "\u200bzero [bold]x[/] :smile: \U000e0041 \x7f"
)
GOLDEN = Path(__file__).with_name("golden")


def in_terminal(shell: Shell, *arguments: str, **more: str) -> str:
    """What a terminal would get."""
    main, second = pty.openpty()
    env = environment(shell.home, **{"TERM": "xterm-256color", "COLUMNS": "100", **more})
    with subprocess.Popen(
        program(*arguments), env=env, cwd=shell.home.parent, stdin=second, stdout=second, stderr=second
    ) as process:
        os.close(second)
        parts = []
        while select.select([main], [], [], WAIT)[0]:
            try:
                part = os.read(main, 65536)
            except OSError:  # the other end is closed: Linux says EIO
                break
            if not part:
                break
            parts.append(part)
        process.wait(WAIT)
    os.close(main)
    return b"".join(parts).decode().replace("\r\n", "\n")


COUNTS = {"unclaimed": 1, "blocked": 1, "needsYou": 1, "unverified": 0}
REACH = {"kind": "push", "sentence": HOSTILE}
CONTRACT = {
    "contractId": "record", "boardId": "work", "status": "proposed", "actionability": "needs_acceptance",
    "textRevision": 1,
    "objective": f"{HOSTILE}\nsecond line", "owners": {"alice": [HOSTILE]}, "acceptedBy": [], "allowedActions": [],
    "stopConditions": [], "requiredEvidence": [{"id": "proof-1", "text": HOSTILE}], "missing": [{"detail": HOSTILE}],
}  # fmt: skip
BOARD: dict[str, Any] = {
    "boardId": "work", "title": HOSTILE, "status": "active", "sourceRevision": 7, "objective": HOSTILE,
    "counts": COUNTS,
    "members": [{"nodeId": HOSTILE, "role": "worker", "state": "joined", "status": "idle", "reach": REACH}],
    "contracts": [CONTRACT], "older": {"messages": 3}, "updatedAt": "2026-11-30T10:00:00.000Z",
    "tasks": [{"taskId": "record", "status": "claimed", "holder": HOSTILE, "leaseUntil": None, "title": HOSTILE}],
    "evidence": [
        {"evidenceId": "ev-1", "contractId": "record", "requirementId": None, "verdict": "verified", "summary": HOSTILE}
    ],
    "blockers": [{"blockerId": "blk-1", "status": "open", "openedBy": HOSTILE, "summary": HOSTILE}],
    "messages": [{
        "messageId": "msg-1", "createdAt": "2026-11-30T10:00:00.000Z", "type": "status_request", "from": HOSTILE,
        "content": f"{HOSTILE}\nagentlink: forged [line]", "deliveries": [{"nodeId": HOSTILE, "step": "queued"}],
    }],
}  # fmt: skip
PEER = {
    "nodeId": None, "sessionId": HOSTILE, "name": HOSTILE, "status": "idle", "source": HOSTILE, "lastActivityAt": None,
    "reach": REACH,
}  # fmt: skip
AT = "2026-11-30T10:00:00.000Z"
MESSAGE: dict[str, Any] = {
    "messageId": "msg-1", "boardId": "work", "from": HOSTILE, "contractId": HOSTILE, "taskId": HOSTILE,
    "content": f"{HOSTILE}\nagentlink: forged [line]", "statedSender": HOSTILE, "type": HOSTILE,
    "deliveries": [{"nodeId": "me", "step": HOSTILE, "answer": HOSTILE}],
    "receipt": {"outcome": "applied", "detail": "", "revision": 1},
}  # fmt: skip
ITEM: dict[str, Any] = {
    **MESSAGE, "createdAt": AT, "priority": HOSTILE, "preview": MESSAGE["content"], "contentLength": 9000,
    "copy": {"step": HOSTILE, "answer": HOSTILE},
}  # fmt: skip


def event(kind: str, revision: int, **data: Any) -> dict[str, Any]:
    return {
        "eventId": f"evt-{revision}", "boardId": "work", "position": revision, "revision": revision, "at": AT,
        "type": f"agentlink.{kind}", "actor": HOSTILE, "origin": {"surface": HOSTILE}, "digest": HOSTILE, "data": data,
    }  # fmt: skip


EVENTS = [
    event(HOSTILE, 1, messageId=HOSTILE, nodeId=HOSTILE, content=f"{HOSTILE}\nagentlink: forged [line]", to=[HOSTILE]),
    event("message.acknowledged", 2, messageId="msg-1", nodeId="me", answer=HOSTILE, note=MESSAGE["content"]),
    event("message.answered", 3, messageId="msg-3", nodeId=HOSTILE, answerId="msg-1"),
    event("evidence.attached", 4, evidenceId=HOSTILE, contractId="record", summary=HOSTILE, trust=HOSTILE),
]
NEED = {
    "since": AT, "kind": HOSTILE, "boardId": HOSTILE, "contractId": HOSTILE, "taskId": None, "messageId": None,
    "blockerId": None, "nodeId": HOSTILE, "until": HOSTILE, "text": f"{HOSTILE}\nagentlink: forged [line]", "cut": True,
}  # fmt: skip
DONE = {
    "receipt": {"outcome": "already_applied", "detail": HOSTILE}, "contractId": HOSTILE, "status": HOSTILE,
    "waitingFor": [HOSTILE], "textRevision": 2, "holder": HOSTILE, "taskId": HOSTILE, "leaseUntil": AT,
    "offeredTo": HOSTILE,
}  # fmt: skip
CANNED: dict[str, dict[str, Any]] = {
    "/inbox": {"inbox": [ITEM, {**ITEM, "trust": "untrusted-imported-summary"}], "nextCursor": HOSTILE},
    "/needs": {"needs": [NEED], "nextCursor": HOSTILE},
    "/boards/work/evidence": {"evidence": [{**BOARD["evidence"][0], "nodeId": HOSTILE}], "nextCursor": None},
    "/boards/work/events": {"events": EVENTS, "nextAfter": None, "sourceRevision": 5},
    "/events": {"events": EVENTS, "nextAfter": None, "position": 5},
    "/status": {"nodeId": "me", "mode": HOSTILE, "position": 0},
    "/boards/work/messages": MESSAGE,
    "/messages/msg-1": MESSAGE,
    "/commands": DONE,
    "/sessions/me/summarize": {"nodeId": HOSTILE, "boardId": HOSTILE, "text": MESSAGE["content"]},
    "/boards/work": BOARD,
    "/contracts/record": CONTRACT,
    "/boards": {"boards": [BOARD], "nextCursor": None},
    "/peers": {"peers": [PEER], "nextCursor": None, "nodeId": "me", "name": HOSTILE},
    "/boards/work/gate": {"state": "not_ready", "missing": [{"category": "peer_evidence", "detail": HOSTILE}]},
    "/boards/none": {"status": 404, "detail": HOSTILE, "code": HOSTILE},
}
"""What a server would say that lets everything through: the last wall must hold alone."""
SHOWS = {
    "contract": ("contract", "show", "record"), "board": ("board", "work"), "boards": ("boards",), "peers": ("peers",),
    "gate": ("gate", "work"), "error": ("board", "none"), "inbox": ("inbox",), "needs": ("needs",), "mode": ("mode",),
    "evidence": ("evidence", "list", "work"), "log": ("log", "work"), "watch": ("watch", "--once", "--after", "0"),
    "ask": ("ask", "me", "well?", "--board", "work"), "summarize": ("summarize", "me", "work"),
    "unverified": ("wait", "work", "--for", "ack", "--message", "msg-3", "--after", "0"),
    "wait": ("wait", "work", "--for", "evidence", "--after", "0"), "register": ("register", "me"),
    "reply": ("reply", "msg-1", "well"), "edit": ("contract", "edit", "work", "record", "--objective", "new"),
    "hand-over": ("hand-over", "work", "record", "bob", "--summary", "half", "--fencing", "1"),
}  # fmt: skip


@pytest.fixture
def hostile(shell: Shell) -> Iterator[Shell]:
    """A home whose server says only what is canned."""
    shell.home.mkdir(mode=0o700)
    place = str(shell.home.parent / "canned.sock")
    facts = {"pid": os.getpid(), "startedAt": "-", "url": "http://127.0.0.1:1/", "socket": place}
    with closing(socket.socket(socket.AF_UNIX)) as listening, (shell.home / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(str(os.getpid()))
        lock.flush()
        listening.bind(place)
        listening.listen()
        (shell.home / "server.json").write_text(json.dumps(facts))
        threading.Thread(target=_say_canned, args=(listening,), daemon=True).start()
        yield shell
        listening.shutdown(socket.SHUT_RDWR)


def _say_canned(listening: socket.socket) -> None:
    while True:
        try:
            caller, _ = listening.accept()
        except OSError:
            return
        with closing(caller):
            target = caller.recv(1 << 20).split()[1].decode().removeprefix("/api/agentlink").partition("?")[0]
            body = CANNED[target]
            status = "404 Not Found" if body.get("status") == 404 else "200 OK"
            content = json.dumps(body).encode()
            caller.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content)


@pytest.mark.parametrize("name", SHOWS)
def test_hostile_text_in_a_terminal_is_golden(hostile: Shell, name: str) -> None:
    shown = in_terminal(hostile, *SHOWS[name], TERM="dumb")
    assert shown.replace(str(hostile.home.parent), "/tmp/al") == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "more"), [*((name, {}) for name in SHOWS), ("board", {"NO_COLOR": "1"})])
def test_nothing_that_agents_wrote_reaches_the_terminal_as_a_control(
    hostile: Shell, name: str, more: dict[str, str]
) -> None:
    shown = in_terminal(hostile, *SHOWS[name], **more)
    ours = re.sub(r"\x1b\[(?:[013]|22)?m", "", shown)
    assert ours == terminal.visible(ours)
    assert "\N{SYMBOL FOR ESCAPE}[2J" in re.sub(r"\s", "", ours)
    assert not re.search(r"^agentlink: forged", ours, re.MULTILINE)


def test_json_in_a_terminal_is_escaped(hostile: Shell) -> None:
    shown = in_terminal(hostile, "board", "work", "--json")
    assert shown.isascii()
    assert terminal.visible(shown) == shown
    assert "\\u001b" in shown


def test_a_pipe_gets_plain_lines_without_colour_or_wrapping(hostile: Shell) -> None:
    out = hostile.ok("board", "work").out
    assert "\x1b" not in out
    rows = [line for line in out.split("\n") if line.startswith("record ")]
    assert len(rows) == 2, "one line a row, however narrow the screen"


def test_an_ascii_terminal_gets_escapes_instead_of_an_error(hostile: Shell) -> None:
    done = hostile.ok("board", "work", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.out.isascii()


def test_every_control_is_made_visible_and_text_stays() -> None:
    assert terminal.visible("a\n\tb") == "a\n\tb"
    assert terminal.line("a\n\tb") == "a\u240a\u2409b"
    for code in [*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2066, 0x200B, 0xFEFF, 0x2028, 0xE0041, 0xD800, 0x00AD]:
        if chr(code) not in "\n\t":
            assert chr(code) not in terminal.visible(f"x{chr(code)}y")
    assert terminal.visible("\u00e4\u4e2d\U0001f600 \u05d0") == "\u00e4\u4e2d\U0001f600 \u05d0"


def test_the_terminal_and_the_panel_name_the_same_characters() -> None:
    for char in map(chr, [*range(0x3400), 0xE000, 0xFDD0, 0xFFA0, 0xFFFF, 0x1F642, 0xE0041, 0xE0100, 0x10FFFF]):
        assert (terminal.visible(char) == char) == (texts.visible(char) == char), hex(ord(char))
    assert terminal.visible("\u3164") == "<U+3164>"
    assert texts.visible("\ue000") == "\u27e6U+E000\u27e7"
