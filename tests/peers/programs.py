"""Other programs at the same inbox, as real processes.

`drain` stands for a running AgInTiFlow session: its own few lines of the lock protocol, not ours, so that the test
fails when our side of it is wrong. It applies items, acknowledges them and compacts the three files, over and over.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from uuid import uuid4

from peers.adapters.agintiflow.inbox import hand_over
from peers.adapters.base import Handed
from tests.peers.stores import envelope, line

MUTATIONS = ("open", "write", "link", "rename", "unlink", "fsync", "ftruncate")


def main(arguments: list[str]) -> None:
    verb, folder, *rest = arguments
    verbs: dict[str, Callable[..., None]] = {"append": append, "unlocked": unlocked, "drain": drain}
    verbs[verb](Path(folder), *rest)


def append(folder: Path, prefix: str, count: str) -> None:
    for number in range(int(count)):
        message = envelope(f"{prefix}-{number}")
        while not isinstance(hand_over(folder, message, patience=30), Handed):
            pass


def unlocked(folder: Path, prefix: str, count: str) -> None:
    """The planted bug: the same appends without the lock."""
    for number in range(int(count)):
        with (folder / "inbox.jsonl").open("ab") as file:
            file.write(line({"id": f"inbox-agentlink-{prefix}-{number}", "content": "x"}))


def drain(folder: Path, stop: str) -> None:
    # Drain once more after the stop signal was seen, so that the last item is applied too.
    stopped = False
    while not stopped:
        stopped = Path(stop).exists()
        _locked(folder, lambda: _consume(folder))
        time.sleep(0.001)


def _locked(folder: Path, work: Callable[[], None]) -> None:
    token = str(uuid4())
    owner = folder / f".inbox-lock-owner.{os.getpid()}.{token}"
    owner.write_text(json.dumps({"token": token, "pid": os.getpid(), "createdAt": "2026-11-30T20:00:00.000Z"}) + "\n")
    lock = folder / ".inbox-mutation.lock"
    while True:
        try:
            os.link(owner, lock)
            break
        except FileExistsError:
            time.sleep(0.001)
    work()
    assert json.loads(lock.read_text())["token"] == token
    lock.unlink()
    owner.unlink()


def _consume(folder: Path) -> None:
    inbox = folder / "inbox.jsonl"
    found = [json.loads(piece) for piece in inbox.read_bytes().split(b"\n") if piece] if inbox.exists() else []
    with (folder / "events.jsonl").open("ab", buffering=0) as log:
        for item in found:
            data = {"id": item["id"], "prompt": item["content"]}
            event = {"timestamp": "2026-11-30T20:00:00.000Z", "type": "conversation.queued_input_applied", "data": data}
            log.write(line(event))
    draft = folder / f".inbox.jsonl.{os.getpid()}.tmp"
    draft.write_bytes(b"")
    time.sleep(0.002)  # the window in which an append without the lock is lost
    os.rename(draft, inbox)


def killed_at(point: int, work: Callable[[], object], *, halves: bool = False) -> bool:
    """Run `work` in a process that gets SIGKILL right before its `point`-th change to the file system.

    With `halves` a write is cut in the middle first. False when the work ended before that point.
    """
    process = get_context("fork").Process(target=_run_until, args=(point, work, halves))
    process.start()
    process.join(30)
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def _run_until(point: int, work: Callable[[], object], halves: bool) -> None:
    left = point

    def counted(name: str, call: Callable[..., object]) -> Callable[..., object]:
        def wrapper(*args: object, **kwargs: object) -> object:
            nonlocal left
            left -= 1
            if left < 0:
                if halves and name == "write":
                    descriptor, data = args
                    call(descriptor, data[: len(data) // 2])  # type: ignore[index, arg-type]
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return wrapper

    for name in MUTATIONS:
        setattr(os, name, counted(name, getattr(os, name)))
    work()


if __name__ == "__main__":
    main(sys.argv[1:])
