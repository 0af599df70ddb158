"""Kills a process at every point of a turn at the board folder, and looks whether the next one makes it whole.

Run as a program on a home of its own (``AGENTLINK_HOME``). Each point is tried in a fork on a fresh copy of that home:
just before a write, in the middle of it, and just after it. Prints one line of JSON: how many points there were, and
what was wrong after which.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

MODES = ("before", "half", "after")
CALLS = ("write", "pwrite", "rename", "replace", "link", "mkdir", "unlink", "fsync", "ftruncate")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Points:
    """Counts the calls that change files; at the chosen one the process dies."""

    def __init__(self, chosen: int, mode: str) -> None:
        self.count, self.chosen, self.mode = 0, chosen, mode
        for name in CALLS:
            setattr(os, name, self.wrapped(name, getattr(os, name)))
        from boards import log

        log.writer = self.committing(log.writer)

    def committing(self, real: Callable[[], Any]) -> Callable[[], Any]:
        """A commit is a write too: just before it, and just after it."""

        @contextmanager
        def writer() -> Iterator[Any]:
            self.count += 1
            with real() as at:
                yield at
                if self.count == self.chosen and self.mode != "after":
                    die()
            if self.count == self.chosen:
                die()

        return writer

    def wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            if self.count != self.chosen:
                return real(*args, **kwargs)
            if self.mode == "half" and name in ("write", "pwrite"):
                descriptor, data, *rest = args
                real(descriptor, bytes(data)[: len(data) // 2], *rest)
            elif self.mode == "after":
                with suppress(OSError):
                    real(*args, **kwargs)
            return die()

        return call


def inside(work: Callable[[], None]) -> int:
    """The exit status of a fork that does the work; -9 when it was killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def use(home: Path) -> None:
    """This process works on that home from now on."""
    from django.conf import settings
    from django.db import connections

    settings.AGENTLINK_HOME = home
    connections["default"].settings_dict["NAME"] = str(home / "agentlink.sqlite3")


def story() -> None:
    """A home with a folder that was written once, and news since: ours, others', and a file that others replaced."""
    from boards import folder
    from tests.boards.folders import claim, evidence, message, settle, write
    from tests.people import board, contract, done, people
    from tests.people import claim as claims
    from tests.people import evidence as proves

    who = people()
    board_id = board(who, board_id="killed")
    contract_id = contract(who, board_id, required_evidence=["the file"])
    row = done("send_message", who.human, board_id=board_id, to=["alice"], content="to be erased")
    settle()
    assert folder.problems() == []
    write(board_id, "messages.jsonl", message(board_id, "foreign 1"), message(board_id, "foreign 2"))
    write(board_id, "evidence.jsonl", evidence(board_id, contractId=contract_id))
    claim(board_id, contract_id, ownerSessionId="thief")
    claim(board_id, "their-own")
    done("send_message", who.human, board_id=board_id, to=["bob"], content="news " * 400)
    claims(who, board_id, contract_id)
    proves(who, board_id, contract_id, requirement_id="proof-1")
    done("summarize_session", who.alice, board_id=board_id, node="alice", summary={}, text="node: alice")
    done("erase_payload", who.human, board_id=board_id, event_ids=[row.events[-1]], reason="a test")


def whole(glued: bool) -> None:
    """What the next process makes of it: everything once, nothing left out, and AgInTiFlow can read all of it."""
    from boards.folder import places, rendering
    from boards.models import Contract, Message
    from tests.boards.folders import is_whole, message, read, settle, write

    if glued and places.of_board("killed").exists():
        write("killed", "messages.jsonl", message("killed", "glued"))
        write("killed", "events.jsonl", {"timestamp": "t", "type": "message.sent", "data": {}})
    settle()
    is_whole("killed")
    foreign = sorted(Message.objects.exclude(trust="").values_list("content", flat=True))
    wanted = ["foreign 1", "foreign 2"] + (["glued"] if glued else [])
    assert [text for text in foreign if "A file" not in text] == sorted(wanted), foreign
    assert len(foreign) == len(wanted) + 1, "and one claim"
    assert len(read("killed", "messages.jsonl")) == len(wanted) + Message.objects.filter(trust="").count()
    assert Contract.objects.get(contract_id="their-own").owners == {}
    for name in rendering.names("killed"):
        content = rendering.whole("killed", name, rendering.Sessions())
        assert (places.of_board("killed") / name).read_bytes() == content, name
    assert b"to be erased" not in b"".join(path.read_bytes() for path in places.of_board("killed").rglob("*.*"))


def attempt(base: Path, scratch: Path, chosen: int, mode: str) -> tuple[bool, str]:
    """Whether the process was killed, and what was wrong afterwards."""
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(base, scratch)

    def killed() -> None:
        from boards import folder

        use(scratch)
        Points(chosen, mode)
        while folder.attempt_once():
            pass

    def checked() -> None:
        use(scratch)
        whole(glued=chosen % 2 == 1)

    ended = inside(killed)
    fine = ended in (0, -signal.SIGKILL) and inside(checked) == 0
    return ended == -signal.SIGKILL, "" if fine else f"{mode} {chosen}"


def main() -> None:
    base = Path(os.environ["AGENTLINK_HOME"])
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    from agentlink_site.server import prepare

    prepare()
    from django.db import connections

    story()
    connections.close_all()
    scratch, wrong, points = base.with_name("scratch"), [], 0
    for mode in MODES:
        chosen, died = 1, True
        while died:
            died, fault = attempt(base, scratch, chosen, mode)
            wrong += [fault] if fault else []
            points += died
            chosen += every
    print(json.dumps({"points": points, "wrong": wrong}))


if __name__ == "__main__":
    main()
