"""Boards of other programs, taking them over, and a board's folder as a package: out, and back after a loss."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from boards import folder, log
from boards.folder import places
from boards.models import Board, Contract, Delivery, Event, Evidence, FolderCursor, Member, Message, Node, Task
from boards.people import human_node_id
from boards.queries.needs import needs
from boards.schemas import Actor
from boards.times import now
from tests.boards.folders import is_whole, message, place, read, settle, write
from tests.boards.pages import get, post, text
from tests.fixtures import unpack
from tests.people import board, claim, contract, done, evidence, give, people

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def home(tmp_path: Path, settings):
    settings.AGENTLINK_HOME = tmp_path / "home"
    settings.AGENTLINK_HOME.mkdir(mode=0o700)
    return settings.AGENTLINK_HOME


@pytest.fixture
def who():
    return people()


@pytest.fixture
def real(who, home, tmp_path):
    """The boards that the real program wrote, in this home."""
    shutil.copytree(unpack(tmp_path).home / "agentlink" / "boards", home / "boards")
    return home


# --- boards of other programs ----------------------------------------------------------------------------------------


def test_foreign_boards_are_listed_and_nothing_of_them_is_taken_in(real):
    settle()
    found = folder.foreign_boards()
    assert [(one.board_id, one.messages, one.evidence, one.contracts) for one in found] == [
        ("event-camera-light-sync", 5, 2, 3),
        ("firmware-triage", 1, 1, 1),
        ("web-board", 1, 0, 0),
    ]
    assert not Board.objects.exists()
    assert not Event.objects.exclude(stream="").exists()
    html = text(get("/"))
    assert "Event camera light sync" in html
    assert "/abroad/web-board/adopt" in html


def test_adopting_is_the_persons_act_in_the_panel(real, who):
    for actor in (who.alice, Actor(human_node_id(), "cli"), Actor(human_node_id(), "api")):
        assert folder.adopt(actor, "web-board").code == "panel_only"
    assert not Board.objects.exists()


def test_an_adopted_board_has_what_its_folder_says_as_untrusted(real, who):
    text(post("/abroad/event-camera-light-sync/adopt", key="k1"))
    settle()
    row = Board.objects.get()
    assert (row.board_id, row.title, row.adopted_from) == (
        "event-camera-light-sync",
        "Event camera light sync",
        "agintiflow",
    )
    messages = Message.objects.exclude(message_type="task_claim").order_by("position")
    assert messages.count() == 5
    assert set(Message.objects.values_list("trust", flat=True)) == {"untrusted-imported-summary"}
    assert not Delivery.objects.exists(), "AgInTiFlow has put them where they go"
    assert {row.status for row in Contract.objects.all()} == {"proposed"}
    assert {row.contract_id: row.owners for row in Contract.objects.all()} == {
        "record-run-001": {},
        "light-pattern-a": {},
        "final-review": {},
    }
    assert not Task.objects.exclude(holder="").exists()
    assert {row.verdict for row in Evidence.objects.all()} == {"unverified"}
    assert Evidence.objects.count() == 2
    assert {need.kind for need in needs(now())} == {"foreign_claim"}
    assert [one.board_id for one in folder.foreign_boards()] == ["firmware-triage", "web-board"]
    is_whole("event-camera-light-sync")
    assert "restore" not in text(get("/boards/event-camera-light-sync/"))


def test_every_message_and_bundle_of_the_real_program_is_taken_in_once(real):
    board_id = "event-camera-light-sync"
    before = {name: read(board_id, name) for name in ("messages.jsonl", "evidence.jsonl")}
    post(f"/abroad/{board_id}/adopt", key="k1")
    settle()
    FolderCursor.objects.all().delete()
    settle()
    ids = set(Message.objects.values_list("message_id", flat=True))
    assert {line["messageId"] for line in before["messages.jsonl"]} <= ids
    assert {line["evidenceId"] for line in before["evidence.jsonl"]} == set(
        Evidence.objects.values_list("evidence_id", flat=True)
    )
    assert read(board_id, "messages.jsonl") == before["messages.jsonl"], "its own lines stay as they are"


def test_its_secrets_are_redacted_when_they_are_shown_and_when_they_are_taken_in(real):
    secret = "sk-abcdefghijklmnopqrstuvwxyz0123"
    post("/abroad/firmware-triage/adopt", key="k1")
    settle()
    assert secret not in "".join(Event.objects.values_list("data", flat=True))
    assert secret not in text(get("/boards/firmware-triage/"))


def test_the_person_decides_on_what_came_in_from_the_panel(real, who):
    board_id = "event-camera-light-sync"
    post(f"/abroad/{board_id}/adopt", key="k1")
    settle()
    html = text(get(f"/boards/{board_id}/"))
    assert html.count("Unverified claim") == 3
    assert "through the folder" in html
    row = Contract.objects.get(contract_id="final-review")
    fields = {"contractId": "final-review", "textRevision": 1, "expectedRevision": row.revision, "key": "k2"}
    text(post(f"/boards/{board_id}/do/accept_contract", **fields))
    assert Contract.objects.get(contract_id="final-review").status == "accepted"
    row = Contract.objects.get(contract_id="light-pattern-a")
    fields = {"contractId": "light-pattern-a", "reason": "no", "expectedRevision": row.revision, "key": "k3"}
    text(post(f"/boards/{board_id}/do/reject_contract", **fields))
    assert text(get(f"/boards/{board_id}/")).count("Unverified claim") == 1


def test_a_board_with_one_of_agintiflows_wider_ids_works_like_any_other(home, who):
    (home / "boards" / "Event-camera:A").mkdir(parents=True)
    head = {"boardId": "Event-camera:A", "title": "Wide", "objective": ""}
    (home / "boards" / "Event-camera:A" / "board.json").write_text(json.dumps(head))
    text(post("/abroad/Event-camera:A/adopt", key="k1"))
    settle()
    done("invite", who.human, board_id="Event-camera:A", node="alice")
    sent = done("send_message", who.human, board_id="Event-camera:A", to=["alice"], content="hello")
    done("erase_payload", who.human, board_id="Event-camera:A", event_ids=[sent.events[-1]], reason="a test")
    settle()
    is_whole("Event-camera:A")
    assert "Wide" in text(get("/boards/Event-camera:A/"))


@pytest.mark.parametrize("name", ["..", ".", "a..b", ".hidden", "x" * 80, "a b", "<b>", "b\u00e4"])
def test_a_folder_that_cannot_be_a_board_is_not_listed(home, who, name):
    path = home / "boards" / name if name not in ("..", ".") else home / "boards"
    path.mkdir(parents=True, exist_ok=True)
    (path / "board.json").write_text(json.dumps({"boardId": name, "title": "x"}))
    assert folder.foreign_boards() == []
    assert folder.adopt(who.human, name).code == "unknown_board"


def test_a_link_to_a_folder_elsewhere_is_not_listed(home, who, tmp_path):
    target = tmp_path / "elsewhere"
    target.mkdir()
    (target / "board.json").write_text(json.dumps({"boardId": "linked", "title": "x"}))
    (home / "boards").mkdir()
    (home / "boards" / "linked").symlink_to(target)
    assert folder.foreign_boards() == []


@pytest.mark.parametrize("text_of_board", [b"", b"{", b"[]", b"null", b'{"title":"x"}', b"\xff" * 10, b"[" * 100_000])
def test_a_board_file_that_cannot_be_read_is_left_out(home, who, text_of_board):
    (home / "boards" / "broken").mkdir(parents=True)
    (home / "boards" / "broken" / "board.json").write_bytes(text_of_board)
    assert folder.foreign_boards() == []
    settle()


def test_hostile_titles_are_text(home, who):
    (home / "boards" / "evil").mkdir(parents=True)
    head = {"boardId": "evil", "title": "<img src=x onerror=alert(1)>\u202e", "objective": "o" * 5_000}
    (home / "boards" / "evil" / "board.json").write_text(json.dumps(head))
    html = text(get("/"))
    assert "<img src=x" not in html
    assert "\u202e" not in html
    assert folder.adopt(who.human, "evil").outcome == "applied"


# --- out and back ----------------------------------------------------------------------------------------------------


def story(who) -> str:
    board_id = board(who, title="Light and sound")
    contract_id = contract(who, board_id, required_evidence=["the file"], stop_conditions=["busy"])
    claim(who, board_id, contract_id)
    evidence(who, board_id, contract_id, requirement_id="proof-1")
    done("send_message", who.human, board_id=board_id, to=["bob", "alice"], content="How far?", priority="asap")
    done("summarize_session", who.alice, board_id=board_id, node="alice", summary={}, text="node: alice")
    write(board_id, "messages.jsonl", message(board_id, "a foreign line"))
    settle()
    return board_id


def lose_the_database() -> None:
    """As after a lost file: nothing is left but what a first start makes."""
    Event.objects.all().delete()
    FolderCursor.objects.all().delete()
    from django.db.models import Model

    from boards.models import BOARD_PROJECTIONS, HOME_PROJECTIONS, Outbox, StoredReceipt
    from peers.models import NodeSecret

    lost: tuple[type[Model], ...] = (*BOARD_PROJECTIONS, *HOME_PROJECTIONS, Outbox, StoredReceipt, NodeSecret)
    for model in lost:
        model._default_manager.all().delete()


def what_is_there(board_id: str) -> dict[str, list[dict[str, object]]]:
    """Every row but what an import must not bring back, and what is this log's own."""
    rows = log.state(board_id)
    rows["Task"] = [{**row, "holder": "", "status": "", "lease_until": 0, "claimed_at": 0} for row in rows["Task"]]
    rows["Evidence"] = [{**row, "verdict": "", "judged_by": "", "judged_at": 0} for row in rows["Evidence"]]
    own = {"revision", "head", "position", "updated_at", "adopted_from", "note", "last_holder"}
    return {
        model: [{key: value for key, value in row.items() if key not in own} for row in found]
        for model, found in rows.items()
    }


def test_a_lost_database_is_restored_from_the_folder(who):
    board_id = story(who)
    before = what_is_there(board_id)
    events = list(Event.objects.filter(stream=board_id).order_by("revision").values("event_id", "at", "data", "type"))
    lose_the_database()
    folder_human()
    found = folder.import_board(places.of_board(board_id))
    assert found.receipt.outcome == "applied", found
    assert found.events == len(events)
    assert found.problems == []
    again = list(Event.objects.filter(stream=board_id).order_by("revision").values("event_id", "at", "data", "type"))
    assert again[: len(events)] == events
    assert what_is_there(board_id) == before
    assert log.verify() == []
    settle()
    is_whole(board_id)


def folder_human() -> str:
    """The first start of the new database; the person is who it was."""
    from boards.commands import ensure_identity

    return ensure_identity()


def test_what_was_verified_or_held_does_not_come_back_as_such(who):
    board_id = story(who)
    assert Evidence.objects.get().verdict == "verified"
    assert Task.objects.get().status == "claimed"
    lose_the_database()
    folder_human()
    folder.import_board(places.of_board(board_id))
    assert Evidence.objects.get().verdict == "unverified"
    assert (Task.objects.get().status, Task.objects.get().holder) == ("open", "")
    assert Board.objects.get().adopted_from == "import"


def test_nodes_that_this_machine_does_not_know_may_not_write(who):
    board_id = story(who)
    lose_the_database()
    folder_human()
    folder.import_board(places.of_board(board_id))
    assert Node.objects.get(node_id="alice").trust == "untrusted-imported-summary"
    assert give("send_message", who.alice, board_id=board_id, to=["bob"], content="x").code == "trust_too_low"
    assert Member.objects.get(node_id="alice").role == "worker"


def test_foreign_lines_come_back_as_untrusted_ones(who):
    board_id = story(who)
    write(board_id, "messages.jsonl", message(board_id, "written after the loss"))
    lose_the_database()
    folder_human()
    found = folder.import_board(places.of_board(board_id))
    assert found.foreign == 1
    contents = list(Message.objects.exclude(trust="").order_by("position").values_list("content", flat=True))
    assert contents == ["a foreign line", "written after the loss"]


def test_a_board_that_is_there_is_not_restored_over(who):
    board_id = story(who)
    assert folder.import_board(places.of_board(board_id)).receipt.code == "board_exists"


def test_an_exported_board_comes_back_in_another_home(who, tmp_path, settings):
    board_id = story(who)
    target = folder.export_board(board_id, tmp_path)
    assert sorted(path.name for path in target.iterdir()) == [
        "board.json",
        "contracts",
        "events.jsonl",
        "evidence.jsonl",
        "messages.jsonl",
        "summaries",
    ]
    with pytest.raises(FileExistsError):
        folder.export_board(board_id, tmp_path)
    with pytest.raises(LookupError):
        folder.export_board("no-such-board", tmp_path)
    lose_the_database()
    settings.AGENTLINK_HOME = tmp_path / "other-home"
    settings.AGENTLINK_HOME.mkdir()
    folder_human()
    found = folder.import_board(target)
    assert found.receipt.outcome == "applied", found
    settle()
    is_whole(board_id)
    assert [line["content"] for line in read(board_id, "messages.jsonl")].count("a foreign line") == 1


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b"How far?", b"How fat?", "data digest does not match"),
        (b'"actor":"alice"', b'"actor":"mally"', "digest does not match"),
        (b'"revision":3,', b'"revision":9,', "is missing"),
    ],
)
def test_a_broken_chain_says_where_and_is_restored_up_to_there_only_when_told(who, old, new, says):
    board_id = story(who)
    path = place(board_id, "events.jsonl")
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    lose_the_database()
    folder_human()
    refused = folder.import_board(places.of_board(board_id))
    assert refused.receipt.code == "broken_chain"
    assert says in refused.receipt.detail
    assert not Board.objects.exists()
    found = folder.import_board(places.of_board(board_id), until_break=True)
    assert found.receipt.outcome == "applied"
    assert 0 < found.events < 20
    assert says in found.problems[0]


def rewritten(lines: list[dict[str, object]]) -> bytes:
    """A chain that fits: what somebody who can write the folder can make."""
    previous, out = "", []
    for line in lines:
        line = {**line, "previous": previous, "dataDigest": log.sha256(log.canonical(line["data"]))}
        names = ("eventId", "position", "boardId", "revision", "type", "version", "actor", "origin", "dataDigest")
        digested = {**{name: line[name] for name in names}, "previous": previous, "at": line["timestamp"]}
        previous = line["digest"] = log.sha256(log.canonical(digested))
        out.append(json.dumps(line).encode() + b"\n")
    return b"".join(out)


@pytest.mark.parametrize(
    "change",
    [
        {"contractId": "../../../../tmp/x"},
        {"nodeId": "../x"},
        {"messageId": "<script>"},
        {"to": ["a/b"]},
        {"owners": {"../x": []}},
        {"content": 7},
    ],
)
def test_a_forged_chain_that_fits_cannot_smuggle_an_id_in(who, change):
    board_id = story(who)
    lines = [line for line in read(board_id, "events.jsonl") if "eventId" in line]
    name = next(iter(change))
    victim = next(line for line in lines if name in line["data"])
    victim["data"] |= change
    place(board_id, "events.jsonl").write_bytes(rewritten(lines))
    lose_the_database()
    folder_human()
    assert folder.import_board(places.of_board(board_id)).receipt.code == "broken_chain"


def test_a_forged_chain_cannot_bring_secrets_in(who):
    board_id = story(who)
    lines = [line for line in read(board_id, "events.jsonl") if "eventId" in line]
    victim = next(line for line in lines if line["data"].get("content") == "How far?")
    victim["data"] |= {"content": "OPENAI_API_KEY=sk-abcdefghijklmnopqrstuvwxyz0123"}
    place(board_id, "events.jsonl").write_bytes(rewritten(lines))
    lose_the_database()
    folder_human()
    assert folder.import_board(places.of_board(board_id)).receipt.outcome == "applied"
    assert "abcdefghijklmnop" not in "".join(Event.objects.values_list("data", flat=True))
    settle()
    assert "abcdefghijklmnop" not in place(board_id, "events.jsonl").read_text()


def test_an_erased_payload_stays_erased_and_the_chain_is_whole(who):
    board_id = story(who)
    row = Event.objects.get(stream=board_id, data__contains="How far?")
    done("erase_payload", who.human, board_id=board_id, event_ids=[row.event_id], reason="private")
    settle()
    lose_the_database()
    folder_human()
    assert folder.import_board(places.of_board(board_id)).receipt.outcome == "applied"
    assert "How far?" not in "".join(Event.objects.values_list("data", flat=True))
    assert log.verify() == []


@pytest.mark.parametrize("name", ["board.json", "events.jsonl"])
def test_a_folder_without_its_history_is_refused(who, name):
    board_id = story(who)
    place(board_id, name).unlink()
    lose_the_database()
    folder_human()
    found = folder.import_board(places.of_board(board_id))
    assert found.receipt.code in ("no_board", "no_history")
