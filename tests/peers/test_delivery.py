from __future__ import annotations

import json
import os
import resource
import signal
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import pytest

from peers.adapters.agintiflow import AgInTiFlow, inbox
from peers.adapters.agintiflow.inbox import hand_over
from peers.adapters.base import Handed, Impossible, NotNow
from tests.fixtures import Fixture
from tests.peers import stores

ROOT = Path(__file__).parents[2]
FOREIGN = {"id": "inbox-cli-1", "timestamp": stores.ago(60), "content": "list files", "priority": "normal", "x": 1}


def test_the_item_has_the_program_s_fields_and_ours(folder: Path) -> None:
    assert stores.handed_note(folder) == ""
    assert stores.items(folder) == [
        {
            "id": "inbox-agentlink-msg-1",
            "timestamp": "2026-11-30T20:00:00.000Z",
            "content": stores.ENVELOPE.content,
            "priority": "normal",
            "source": "agentlink",
            "agentlink": {
                "boardId": "light-sync",
                "messageId": "msg-1",
                "kind": "task_request",
                "fromNodeId": "alice",
                "fromSessionId": "",
            },
            "kind": "agentlink",
            "boardId": "light-sync",
            "fromNodeId": "alice",
            "toNodeId": "bob",
            "messageType": "task_request",
            "contractId": "record-run",
            "requiresAck": True,
        }
    ]
    assert [row["data"] for row in stores.received(folder)] == [
        {
            "boardId": "light-sync",
            "messageId": "msg-1",
            "fromNodeId": "alice",
            "fromSessionId": "",
            "priority": "normal",
        }
    ]
    assert stores.leftovers(folder) == []


def test_handing_over_twice_leaves_one_item_and_one_line(folder: Path) -> None:
    for _ in range(2):
        stores.handed_note(folder)
    assert len(stores.items(folder)) == len(stores.received(folder)) == 1


def test_items_of_others_stay_byte_for_byte(folder: Path) -> None:
    stores.append(folder / "inbox.jsonl", FOREIGN)
    before = (folder / "inbox.jsonl").read_bytes()
    stores.handed_note(folder)
    assert (folder / "inbox.jsonl").read_bytes().startswith(before)


def test_nothing_but_inbox_and_log_of_a_real_home_changes(real: Fixture) -> None:
    before = {path: path.read_bytes() for path in real.home.rglob("*") if path.is_file()}
    assert isinstance(AgInTiFlow(real.home).deliver("arduino-shell", stores.ENVELOPE), Handed)
    after = {path: path.read_bytes() for path in real.home.rglob("*") if path.is_file()}
    changed = {path.name for path in after if after[path] != before.get(path)}
    assert (before.keys(), changed) == (after.keys(), {"inbox.jsonl", "events.jsonl"})
    assert all(after[path].startswith(before[path]) for path in before)


@pytest.mark.parametrize("text", ["a\nb\r\u2028\u0085\x1c\x00", "\ud800 lone", "\U0001f600" * 2000, "\x01" * 8192])
def test_any_content_is_one_ascii_line_and_comes_back_equal(folder: Path, text: str) -> None:
    assert isinstance(hand_over(folder, stores.envelope(content=text)), Handed)
    raw = (folder / "inbox.jsonl").read_bytes()
    assert raw.isascii() and raw.count(b"\n") == len(raw.splitlines()) == 1
    assert stores.items(folder)[0]["content"] == text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"content": "x" * 8193}, "8193 bytes; at most 8192"),
        ({"content": " \n"}, "blank"),
        ({"message_id": "../evil"}, "message id"),
        ({"message_id": ""}, "message id"),
    ],
)
def test_what_can_never_be_handed_is_impossible_and_writes_nothing(
    folder: Path, changes: dict[str, str], words: str
) -> None:
    answer = hand_over(folder, stores.envelope(**changes))
    assert isinstance(answer, Impossible) and words in answer.reason
    assert not (folder / "inbox.jsonl").exists()


@pytest.mark.parametrize("session_id", ["nobody", "..", ".", "a..b", "../bob", "a/b", "", "ghost"])
def test_without_such_a_session_delivery_is_impossible_and_makes_nothing(
    store: Path, store_adapter: AgInTiFlow, session_id: str
) -> None:
    (store / "sessions" / "ghost" / "artifacts").mkdir(parents=True)
    before = sorted(store.rglob("*"))
    answer = store_adapter.deliver(session_id, stores.ENVELOPE)
    assert isinstance(answer, Impossible) and answer.reason.endswith(".")
    assert sorted(store.rglob("*")) == before


def test_a_session_folder_that_links_out_of_the_home_is_refused(store_adapter: AgInTiFlow, tmp_path: Path) -> None:
    outside = stores.make_session(tmp_path / "elsewhere", "bob")
    (tmp_path / "aginti-home" / "sessions" / "bob").symlink_to(outside)
    answer = store_adapter.deliver("bob", stores.ENVELOPE)
    assert isinstance(answer, Impossible) and "leaves AgInTiFlow's home" in answer.reason
    assert sorted(path.name for path in outside.iterdir()) == ["state.json"]


@pytest.mark.parametrize("name", ["inbox.jsonl", "inbox-acknowledgements.jsonl"])
def test_a_link_in_place_of_an_inbox_file_is_not_followed(folder: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / "target.jsonl"
    target.write_text("")
    (folder / name).symlink_to(target)
    answer = hand_over(folder, stores.ENVELOPE)
    assert isinstance(answer, Impossible) and "symbolic link" in answer.reason
    assert target.read_text() == ""
    assert stores.leftovers(folder) == []


def test_a_pipe_in_place_of_the_log_blocks_nobody(folder: Path) -> None:
    (folder / "events.jsonl").unlink()
    os.mkfifo(folder / "events.jsonl")
    assert "log" in stores.handed_note(folder)
    assert len(stores.items(folder)) == 1


def test_an_acknowledged_item_is_not_delivered_again(folder: Path) -> None:
    stores.append(
        folder / "inbox-acknowledgements.jsonl",
        {"key": "id:inbox-agentlink-msg-1", "acknowledgedAt": stores.ago(1)},
    )
    stores.handed_note(folder)
    assert not (folder / "inbox.jsonl").exists()


def test_an_applied_item_that_was_compacted_away_is_not_delivered_again(folder: Path) -> None:
    stores.append(
        folder / "events.jsonl",
        stores.event("conversation.queued_input_applied", id="inbox-agentlink-msg-1", prompt="x"),
    )
    stores.handed_note(folder)
    assert not (folder / "inbox.jsonl").exists()
    assert len(stores.received(folder)) == 1


def test_an_event_that_only_mentions_the_message_proves_nothing(folder: Path) -> None:
    stores.append(
        folder / "events.jsonl",
        stores.event("agentlink.activity", messageId="msg-1"),
        stores.event("conversation.queued_input_applied", id="inbox-agentlink-msg-12", prompt="inbox-agentlink-msg-1"),
    )
    stores.handed_note(folder)
    assert len(stores.items(folder)) == len(stores.received(folder)) == 1


# --- torn and malformed files -----------------------------------------------------------------------------------------


def test_a_torn_end_of_the_inbox_is_dropped_and_the_rest_kept(folder: Path) -> None:
    stores.append(folder / "inbox.jsonl", FOREIGN, b'{"id":"inbox-torn","conte')
    (folder / "inbox.jsonl").chmod(0o640)
    stores.handed_note(folder)
    assert [item["id"] for item in stores.items(folder)] == ["inbox-cli-1", "inbox-agentlink-msg-1"]
    assert stores.items(folder)[0] == FOREIGN
    assert (folder / "inbox.jsonl").stat().st_mode & 0o777 == 0o640


def test_a_whole_end_without_a_newline_is_kept(folder: Path) -> None:
    stores.append(folder / "inbox.jsonl", json.dumps(FOREIGN).encode())
    stores.handed_note(folder)
    assert [item["id"] for item in stores.items(folder)] == ["inbox-cli-1", "inbox-agentlink-msg-1"]


def test_a_malformed_line_inside_the_inbox_is_reported_and_left_alone(folder: Path) -> None:
    stores.append(folder / "inbox.jsonl", FOREIGN, b"{torn\n", FOREIGN | {"id": "inbox-cli-2"})
    before = (folder / "inbox.jsonl").read_bytes()
    answer = hand_over(folder, stores.ENVELOPE)
    offset = len(stores.line(FOREIGN))
    assert isinstance(answer, NotNow) and f"malformed line at byte {offset}" in answer.reason
    assert (folder / "inbox.jsonl").read_bytes() == before
    assert stores.received(folder) == []
    assert stores.leftovers(folder) == []


def test_a_whole_log_end_without_a_newline_gets_one(folder: Path) -> None:
    stores.append(folder / "events.jsonl", json.dumps(stores.event("model.requested")).encode())
    assert stores.handed_note(folder) == ""
    assert [row["type"] for row in stores.log(folder)][1:] == ["model.requested", "agentlink.message.received"]


def test_a_torn_log_end_is_left_alone_and_the_message_is_handed_all_the_same(folder: Path) -> None:
    stores.append(folder / "events.jsonl", b'{"timestamp":"2026')
    before = (folder / "events.jsonl").read_bytes()
    assert "torn line" in stores.handed_note(folder)
    assert (folder / "events.jsonl").read_bytes() == before
    assert len(stores.items(folder)) == 1


def _append_later(path: Path, rest: bytes) -> None:
    time.sleep(0.05)
    stores.append(path, rest)


def test_a_log_line_that_is_being_written_is_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "TAIL_SECONDS", 30.0)
    whole = stores.line(stores.event("model.responded", text="slow"))
    stores.append(folder / "events.jsonl", whole[:20])
    writer = get_context("fork").Process(target=_append_later, args=(folder / "events.jsonl", whole[20:]))
    writer.start()
    note = stores.handed_note(folder)
    writer.join()
    assert note == ""
    assert [row["type"] for row in stores.log(folder)][-2:] == ["model.responded", "agentlink.message.received"]


# --- no room, no right ------------------------------------------------------------------------------------------------


def _in_child(prepare: Callable[[], None], work: Callable[[], object]) -> str:
    """The repr of what `work` answers in a process of its own after `prepare`."""
    context = get_context("fork")
    here, there = context.Pipe()

    def run() -> None:
        prepare()
        there.send(repr(work()))

    process = context.Process(target=run)
    process.start()
    answer = here.recv() if here.poll(30) else ""
    process.join(30)
    return str(answer)


def _limit_file_size(size: int) -> Callable[[], None]:
    def prepare() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return prepare


def test_a_write_that_only_half_fits_is_taken_back(folder: Path) -> None:
    stores.append(folder / "inbox.jsonl", FOREIGN | {"content": "x" * 4000})
    before = (folder / "inbox.jsonl").read_bytes()
    answer = _in_child(_limit_file_size(len(before) + 100), lambda: hand_over(folder, stores.ENVELOPE))
    assert answer.startswith("NotNow") and "taken back" in answer
    assert (folder / "inbox.jsonl").read_bytes() == before
    assert stores.received(folder) == []
    assert stores.leftovers(folder) == []
    stores.handed_note(folder)
    assert len(stores.items(folder)) == 2


def test_a_log_line_that_does_not_fit_is_taken_back_and_the_message_is_handed(folder: Path) -> None:
    stores.append(folder / "events.jsonl", stores.event("model.responded", content="x" * 9000))
    before = (folder / "events.jsonl").read_bytes()
    answer = _in_child(_limit_file_size(len(before) + 50), lambda: hand_over(folder, stores.ENVELOPE))
    assert answer.startswith("Handed") and "taken back" in answer
    assert (folder / "events.jsonl").read_bytes() == before
    assert len(stores.items(folder)) == 1


def _become_somebody_else() -> None:
    if os.geteuid() == 0:
        os.seteuid(65534)


def test_a_read_only_folder_is_not_now_and_says_why(folder: Path) -> None:
    stores.append(folder / "inbox.jsonl", FOREIGN)
    opened = [path for path in folder.parents if path.is_relative_to("/tmp") and path.stat().st_uid == os.geteuid()]
    modes = {path: path.stat().st_mode for path in [folder, *opened]}
    for path in modes:
        path.chmod(0o755)
    folder.chmod(0o555)
    try:
        answer = _in_child(_become_somebody_else, lambda: hand_over(folder, stores.ENVELOPE))
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    assert answer.startswith("NotNow") and "Permission denied" in answer
    assert stores.items(folder) == [FOREIGN]
    assert stores.leftovers(folder) == []
