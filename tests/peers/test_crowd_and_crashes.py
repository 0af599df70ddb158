from __future__ import annotations

import subprocess
import sys
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

import pytest

from peers.adapters.agintiflow import lock
from peers.adapters.agintiflow.inbox import hand_over
from tests.peers import stores
from tests.peers.programs import killed_at

ROOT = Path(__file__).parents[2]
FOREIGN = {"id": "inbox-cli-1", "timestamp": stores.ago(60), "content": "list files", "priority": "normal", "x": 1}


# --- other programs at the same time ----------------------------------------------------------------------------------


def _contend(folder: Path, verb: str, writers: int, count: int) -> Counter[str]:
    """How often each item was applied by a draining session while `writers` processes appended `count` items each."""
    stop = folder.parent / "stop"
    program = [sys.executable, "-m", "tests.peers.programs"]
    session = subprocess.Popen([*program, "drain", str(folder), str(stop)], cwd=ROOT)
    try:
        running = [
            subprocess.Popen([*program, verb, str(folder), f"w{number}", str(count)], cwd=ROOT)
            for number in range(writers)
        ]
        assert [process.wait(120) for process in running] == [0] * writers
        stop.touch()
        assert session.wait(60) == 0
    finally:
        session.kill()
        session.wait()
    kind = "conversation.queued_input_applied"
    return Counter(row["data"]["id"] for row in stores.log(folder) if row["type"] == kind)


def test_none_is_lost_or_doubled_while_a_session_drains_and_compacts(folder: Path) -> None:
    applied = _contend(folder, "append", writers=4, count=25)
    assert sorted(applied) == sorted(f"inbox-agentlink-w{w}-{n}" for w in range(4) for n in range(25))
    assert set(applied.values()) == {1}
    assert stores.items(folder) == []
    lines = Counter(row["data"]["messageId"] for row in stores.log(folder) if row["type"].endswith("message.received"))
    assert len(lines) == 100 and set(lines.values()) == {1}
    assert stores.leftovers(folder) == []


def test_the_same_appends_without_the_lock_do_lose_items(folder: Path) -> None:
    """The test above can fail: this is the bug that it would find."""
    applied = _contend(folder, "unlocked", writers=4, count=2000)
    assert len(applied) < 8000


def test_one_message_handed_by_many_processes_at_once_is_there_once(folder: Path) -> None:
    context = get_context("fork")
    processes = [context.Process(target=hand_over, args=(folder, stores.ENVELOPE)) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert len(stores.items(folder)) == len(stores.received(folder)) == 1


# --- crashes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["new inbox", "items of others", "torn inbox"])
@pytest.mark.parametrize("halves", [False, True])
def test_killed_at_any_point_the_retry_completes_it_exactly_once(store: Path, start: str, halves: bool) -> None:
    point, killed = 0, True
    while killed:
        folder = stores.make_session(store, f"s{point}", [stores.event("session.created")])
        if start != "new inbox":
            stores.append(folder / "inbox.jsonl", FOREIGN)
        if start == "torn inbox":
            stores.append(folder / "inbox.jsonl", b'{"id":"to')
        killed = killed_at(point, lambda: hand_over(folder, stores.ENVELOPE), halves=halves)  # noqa: B023 runs at once
        log_torn = not (folder / "events.jsonl").read_bytes().endswith(b"\n")
        note = stores.handed_note(folder)
        foreign = [] if start == "new inbox" else ["inbox-cli-1"]
        assert [item["id"] for item in stores.items(folder)] == [*foreign, "inbox-agentlink-msg-1"]
        if log_torn:
            assert "torn line" in note
        else:
            assert len(stores.received(folder)) == 1
        assert not (folder / lock.LOCK).exists()
        point += 1
    assert point > 15


def test_the_kill_points_include_the_one_between_item_and_log_line(store: Path) -> None:
    """Otherwise the test above would prove less than it says."""
    seen = set()
    for point in range(40):
        folder = stores.make_session(store, f"s{point}", [stores.event("session.created")])
        killed_at(point, lambda: hand_over(folder, stores.ENVELOPE))  # noqa: B023 runs at once
        has_item = (folder / "inbox.jsonl").exists() and len(stores.items(folder)) == 1
        seen.add((has_item, len(stores.received(folder)) == 1))
    assert seen == {(False, False), (True, False), (True, True)}
