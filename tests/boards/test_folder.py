"""The board folder as it is written: AgInTiFlow's fields, whole after whatever happens to it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
from pathlib import Path

import pytest

from boards import folder, log
from boards.folder import places
from boards.models import Event, FolderCursor
from tests.boards import folders
from tests.boards.folders import is_whole, place, read, record, settle
from tests.people import board, claim, contract, done, evidence, people

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def home(tmp_path: Path, settings):
    settings.AGENTLINK_HOME = tmp_path / "home"
    settings.AGENTLINK_HOME.mkdir(mode=0o700)
    return settings.AGENTLINK_HOME


@pytest.fixture
def who():
    return people()


def story(who) -> str:
    """A board with something of everything."""
    board_id = board(who)
    contract_id = contract(who, board_id, required_evidence=["the file"], stop_conditions=["busy"])
    claim(who, board_id, contract_id)
    evidence(who, board_id, contract_id, requirement_id="proof-1")
    done("send_message", who.human, board_id=board_id, to=["bob", "alice"], content="How far?", priority="asap")
    done("send_message", who.alice, board_id=board_id, to=["bob"], content="Half way.", type="status_response")
    done("summarize_session", who.alice, board_id=board_id, node="alice", summary={}, text="node: alice\n# not a head")
    return board_id


# --- what is written -------------------------------------------------------------------------------------------------

AGINTIFLOW = {
    "board.json": "boardId title objective projectRoot createdBy ownerSessionId mode network createdAt updatedAt",
    "messages.jsonl": (
        "timestamp messageId boardId kind fromNodeId fromSessionId toNodeId toSessionId priority content"
    ),
    "evidence.jsonl": "timestamp evidenceId boardId kind fromNodeId sessionId contractId summary path url",
    "contracts": "contractId boardId title ownerSessionId ownerNodeId instructions status createdAt updatedAt",
    "events.jsonl": "timestamp type data",
    "identity.json": "nodeId label host user role mode network createdAt updatedAt",
}
"""Its own fields, file by file."""


def test_every_file_has_agintiflows_fields_with_its_types(who, home):
    board_id = story(who)
    settle()
    shown = {
        "board.json": record(board_id, "board.json"),
        "messages.jsonl": read(board_id, "messages.jsonl")[0],
        "evidence.jsonl": read(board_id, "evidence.jsonl")[0],
        "contracts": json.loads(next(place(board_id, "contracts").glob("*.json")).read_text()),
        "events.jsonl": read(board_id, "events.jsonl")[0],
        "identity.json": json.loads((home / "identity.json").read_text()),
    }
    for name, fields in AGINTIFLOW.items():
        assert set(fields.split()) <= set(shown[name]), name
    for name, fields in AGINTIFLOW.items():
        texts = [shown[name][one] for one in fields.split() if one not in ("network", "data")]
        assert all(isinstance(text, str) for text in texts), name
    assert shown["board.json"]["network"] is False
    assert isinstance(shown["events.jsonl"]["data"], dict)


def test_every_event_message_and_bundle_has_its_line_once(who):
    board_id = story(who)
    settle()
    is_whole(board_id)
    lines = read(board_id, "messages.jsonl")
    assert [line["priority"] for line in lines].count("asap") == 1
    several = next(line for line in lines if line["content"] == "How far?")
    assert several["to"] == ["bob", "alice"]
    assert several["toNodeId"] == ""
    one = next(line for line in lines if line["content"] == "Half way.")
    assert (one["toNodeId"], one["kind"]) == ("bob", "status_response")


def test_the_events_file_holds_the_chain(who):
    board_id = story(who)
    settle()
    previous = ""
    for line in read(board_id, "events.jsonl"):
        assert line["previous"] == previous
        assert line["dataDigest"] == log.sha256(log.canonical(line["data"]))
        previous = line["digest"]
    assert previous == log.head(board_id)[1]


def test_no_host_no_user_and_no_absolute_path_is_in_a_boards_files(who, home):
    board_id = story(who)
    settle()
    for path in places.of_board(board_id).rglob("*.*"):
        text = path.read_text()
        assert socket.gethostname() not in text
        assert str(home) not in text
        assert str(Path.home()) + "/" not in text
    assert record(board_id, "board.json")["projectRoot"] == ""


def test_only_this_user_may_read_any_of_it(who, home):
    board_id = story(who)
    settle()
    for path in [places.boards(), *places.boards().rglob("*")]:
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path
    for name in ("identity.json", "peers.json"):
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o600
    assert board_id


def test_longer_text_is_a_preview_that_says_so_and_whole_in_its_event(who):
    board_id = board(who)
    text = "ä" * 20_000
    done("send_message", who.human, board_id=board_id, to=["bob"], content=text)
    done("update_board", who.human, board_id=board_id, objective="o" * 9_000)
    settle()
    line = read(board_id, "messages.jsonl")[0]
    assert len(line["content"].encode()) <= 16_000
    assert "40,000 bytes in all" in line["content"]
    assert any(one["data"].get("content") == text for one in read(board_id, "events.jsonl"))
    objective = record(board_id, "board.json")["objective"]
    assert len(objective.encode()) <= 4_000
    assert "9,000 bytes in all" in objective


def test_a_contracts_file_follows_its_status_and_its_holder(who):
    board_id = board(who)
    contract_id = contract(who, board_id)
    settle()
    assert record(board_id, f"contracts/{contract_id}.json")["status"] == "accepted"
    claim(who, board_id, contract_id)
    settle()
    shown = record(board_id, f"contracts/{contract_id}.json")
    assert (shown["status"], shown["ownerNodeId"]) == ("claimed", "alice")


def test_a_turn_without_news_writes_nothing(who):
    board_id = story(who)
    settle()
    before = {path: path.stat().st_mtime_ns for path in places.boards().rglob("*")}
    cursor = FolderCursor.objects.get(pk=board_id)
    settle()
    assert {path: path.stat().st_mtime_ns for path in places.boards().rglob("*")} == before
    assert FolderCursor.objects.get(pk=board_id).files == cursor.files


# --- whatever happens to it ------------------------------------------------------------------------------------------


def test_a_deleted_folder_is_written_again(who):
    board_id = story(who)
    settle()
    shutil.rmtree(places.boards())
    settle()
    is_whole(board_id)
    assert place(board_id, "summaries/alice.md").exists()


@pytest.mark.parametrize("name", ["events.jsonl", "messages.jsonl", "evidence.jsonl", "board.json", "contracts"])
def test_one_missing_file_is_written_again(who, name):
    board_id = story(who)
    settle()
    path = place(board_id, name)
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    settle()
    is_whole(board_id)
    assert path.exists()


@pytest.mark.parametrize("name", ["events.jsonl", "messages.jsonl"])
@pytest.mark.parametrize("bytes_left", [0, 1, 2, 30, 400])
def test_a_shrunk_file_is_filled_again(who, name, bytes_left):
    board_id = story(who)
    settle()
    os.truncate(place(board_id, name), bytes_left)
    os.utime(place(board_id, name), (1, 1))
    settle()
    is_whole(board_id)


def test_a_replaced_file_is_read_again_and_filled(who):
    board_id = story(who)
    settle()
    path = place(board_id, "events.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.unlink()
    path.write_bytes(b"".join(lines[3:]))
    settle()
    is_whole(board_id)


def test_a_lost_cursor_writes_nothing_twice(who):
    board_id = story(who)
    settle()
    before = {path: path.read_bytes() for path in places.of_board(board_id).rglob("*.*")}
    FolderCursor.objects.all().delete()
    settle()
    assert {path: path.read_bytes() for path in places.of_board(board_id).rglob("*.*")} == before


def test_a_changed_line_of_ours_is_put_right(who):
    board_id = story(who)
    settle()
    path = place(board_id, "events.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"actor":"alice"', b'"actor":"mally"'))
    FolderCursor.objects.all().delete()
    settle()
    is_whole(board_id)
    assert b"mally" not in path.read_bytes()


@pytest.mark.parametrize("cut", [1, 20, 100, 5000])
def test_a_torn_line_of_ours_is_blanked_and_written_again(who, cut):
    board_id = story(who)
    settle()
    cursors = list(FolderCursor.objects.all())
    done("send_message", who.human, board_id=board_id, to=["bob"], content="x" * 6_000)
    settle()
    path = place(board_id, "messages.jsonl")
    os.truncate(path, path.stat().st_size - cut)
    for cursor in cursors:  # as if the process had died right after the torn write
        cursor.save()
    settle()
    is_whole(board_id)


def test_a_foreign_line_glued_to_a_torn_line_of_ours_is_taken_in(who):
    board_id = story(who)
    settle()
    cursors = list(FolderCursor.objects.all())
    done("send_message", who.human, board_id=board_id, to=["bob"], content="y" * 200)
    settle()
    path = place(board_id, "messages.jsonl")
    os.truncate(path, path.stat().st_size - 50)
    folders.write(board_id, "messages.jsonl", folders.message(board_id, "glued"))
    for cursor in cursors:
        cursor.save()
    settle()
    is_whole(board_id)
    assert [line["content"] for line in read(board_id, "messages.jsonl")].count("glued") == 1
    assert Event.objects.filter(stream=board_id, data__contains='"glued"').count() == 1


def test_a_link_in_the_place_of_a_file_is_never_followed(who, tmp_path):
    board_id = story(who)
    settle()
    target = tmp_path / "elsewhere.txt"
    target.write_text("private\n")
    for name in ("messages.jsonl", "board.json"):
        place(board_id, name).unlink()
        place(board_id, name).symlink_to(target)
    folder.attempt_once()
    assert target.read_text() == "private\n"
    assert not place(board_id, "board.json").is_symlink(), "a link is replaced"
    assert any("messages.jsonl cannot be used" in one for one in folders.problems(board_id))
    place(board_id, "messages.jsonl").unlink()
    settle()
    is_whole(board_id)
    assert folders.problems(board_id) == []


def test_what_agintiflow_touches_with_each_send_is_left_as_it_is(who):
    board_id = story(who)
    settle()
    head = record(board_id, "board.json") | {"updatedAt": "2030-01-01T00:00:00.000Z"}
    place(board_id, "board.json").write_text(json.dumps(head, indent=2) + "\n")
    settle()
    assert record(board_id, "board.json")["updatedAt"] == "2030-01-01T00:00:00.000Z"
    place(board_id, "board.json").write_text(json.dumps({**head, "title": "Mine now"}, indent=2) + "\n")
    settle()
    assert record(board_id, "board.json")["title"] != "Mine now"


def test_erased_texts_leave_every_file(who):
    board_id = board(who)
    secret = "the street and number of somebody"
    done("send_message", who.human, board_id=board_id, to=["bob"], content=secret)
    settle()
    assert secret in place(board_id, "messages.jsonl").read_text()
    row = Event.objects.get(stream=board_id, type="agentlink.message.sent")
    done("erase_payload", who.human, board_id=board_id, event_ids=[row.event_id], reason="private")
    settle()
    for path in places.of_board(board_id).rglob("*.*"):
        assert secret not in path.read_text()
    is_whole(board_id)


# --- the home's own files --------------------------------------------------------------------------------------------


def test_the_identity_is_made_once_and_never_overwritten(who, home):
    settle()
    made = (home / "identity.json").read_text()
    assert json.loads(made)["nodeId"].startswith("aginti-")
    settle()
    assert (home / "identity.json").read_text() == made


def test_an_identity_that_is_there_is_taken_as_it_is(who, home):
    given = {"nodeId": "aginti-labhost-dev-8944b07f", "mine": True}
    (home / "identity.json").write_text(json.dumps(given))
    settle()
    assert json.loads((home / "identity.json").read_text()) == given


def test_peers_json_lists_the_nodes_and_keeps_what_others_wrote(who, home):
    (home / "peers.json").write_text(json.dumps({"peers": [{"peerId": "lab-robot", "kind": "device"}], "note": 1}))
    settle()
    shown = json.loads((home / "peers.json").read_text())
    assert shown["note"] == 1
    ids = [peer["peerId"] for peer in shown["peers"]]
    assert ids[0] == "lab-robot"
    assert {"alice", "bob", "mallory"} <= set(ids)
    done("register_node", who.human, name="carol")
    settle()
    assert "carol" in [peer["peerId"] for peer in json.loads((home / "peers.json").read_text())["peers"]]


def test_mode_off_writes_nothing(who, settings):
    settings.AGENTLINK = settings.AGENTLINK.model_copy(update={"mode": "off"})
    folder.attempt_once()
    assert not places.boards().exists()
