from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from peers.adapters.agintiflow import lock
from peers.adapters.agintiflow.inbox import hand_over
from peers.adapters.base import Handed, NotNow
from tests.peers import stores

ROOT = Path(__file__).parents[2]
FOREIGN = {"id": "inbox-cli-1", "timestamp": stores.ago(60), "content": "list files", "priority": "normal", "x": 1}


def _lock_file(folder: Path, pid: object, age: float = 0) -> Path:
    path = folder / ".inbox-mutation.lock"
    path.write_text(json.dumps({"token": "theirs", "pid": pid, "createdAt": stores.ago(age)}) + "\n")
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def _dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_live_lock_is_waited_for_and_left_alone(folder: Path) -> None:
    path = _lock_file(folder, os.getppid())
    before = path.read_bytes()
    answer = hand_over(folder, stores.ENVELOPE, patience=0.05)
    assert isinstance(answer, NotNow) and "locked" in answer.reason
    assert path.read_bytes() == before
    assert stores.leftovers(folder) == [path.name]
    assert not (folder / "inbox.jsonl").exists()


def test_the_lock_of_a_dead_process_is_broken(folder: Path) -> None:
    _lock_file(folder, _dead_pid())
    stores.handed_note(folder)
    assert stores.leftovers(folder) == []


@pytest.mark.parametrize("pid", ["our own", None, True, 0, -1, 1 << 70])
def test_a_lock_of_120_seconds_is_broken_whatever_its_pid(folder: Path, pid: object) -> None:
    _lock_file(folder, os.getpid() if pid == "our own" else pid, age=121)
    stores.handed_note(folder)
    assert stores.leftovers(folder) == []


@pytest.mark.parametrize("pid", [None, "text", True, 0, -1, 1 << 70])
def test_a_fresh_lock_without_a_usable_pid_is_not_broken(folder: Path, pid: object) -> None:
    _lock_file(folder, pid)
    assert isinstance(hand_over(folder, stores.ENVELOPE, patience=0.02), NotNow)


def test_a_torn_fresh_lock_is_not_broken(folder: Path) -> None:
    (folder / ".inbox-mutation.lock").write_text('{"token":"th')
    assert isinstance(hand_over(folder, stores.ENVELOPE, patience=0.02), NotNow)


def test_a_lock_that_is_freed_while_waiting_is_taken(folder: Path) -> None:
    _lock_file(folder, os.getpid())
    with subprocess.Popen(["sh", "-c", f"sleep 0.1; rm {folder}/.inbox-mutation.lock"]):
        assert isinstance(hand_over(folder, stores.ENVELOPE, patience=30), Handed)


def test_only_one_s_own_lock_is_released(folder: Path) -> None:
    with lock.inbox_lock(folder) as held:
        (folder / lock.LOCK).unlink()
        path = _lock_file(folder, os.getpid())
        with pytest.raises(lock.LockLost):
            held.confirm()
    assert json.loads(path.read_text())["token"] == "theirs"


def test_a_fresh_lock_that_a_breaker_renamed_by_mistake_is_put_back(folder: Path) -> None:
    path = _lock_file(folder, os.getpid())
    broken = folder / "renamed"
    os.rename(path, broken)
    lock._put_back(broken, path)
    assert json.loads(path.read_text())["token"] == "theirs"


def test_nothing_is_written_after_the_lock_was_lost(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(self: lock.InboxLock) -> None:
        raise lock.LockLost("the inbox lock was broken by another program")

    monkeypatch.setattr(lock.InboxLock, "confirm", lost)
    assert isinstance(hand_over(folder, stores.ENVELOPE), NotNow)
    assert (folder / "inbox.jsonl").read_bytes() == b""
