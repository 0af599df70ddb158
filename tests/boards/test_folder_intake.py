"""The board folder as a mailbox: what others write is taken in once, as said, and owns, proves and changes nothing."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from boards import delivery, folder, log
from boards.folder import places, turns
from boards.models import Contract, Delivery, Event, Evidence, FolderCursor, Message, Node, Task
from boards.people import human_node_id
from boards.queries.needs import needs
from boards.schemas import Actor
from boards.times import now
from tests.boards.folders import claim, evidence, is_whole, message, place, problems, read, record, settle, write
from tests.people import board, contract, done, give, people

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
def board_id(who):
    made = board(who)
    settle()
    return made


def taken(board_id: str) -> list[Message]:
    return list(Message.objects.filter(board_id=board_id).exclude(trust="").order_by("position"))


# --- messages --------------------------------------------------------------------------------------------------------


def test_a_foreign_message_is_shown_as_said_and_goes_to_nobody(board_id):
    write(board_id, "messages.jsonl", message(board_id, fromSessionId="kv260", toSessionId="arduino"))
    settle()
    (row,) = taken(board_id)
    assert (row.trust, row.stated_sender, row.stated_to) == ("untrusted-imported-summary", "kv260", "arduino")
    assert row.recipients == []
    assert not Delivery.objects.filter(message_id=row.message_id).exists()
    assert Node.objects.get(node_id=row.sender).kind == "service"
    assert Event.objects.get(stream=board_id, type="agentlink.message.sent").actor == "agentlink"
    assert json.loads(Event.objects.get(stream=board_id, type="agentlink.message.sent").origin)["surface"] == "folder"
    is_whole(board_id)
    assert len(read(board_id, "messages.jsonl")) == 1, "its line stands there already"


def test_a_known_sessions_name_is_shown_and_marked_unverified(who, board_id):
    Node.objects.filter(node_id="alice").update(session_id="kv260", source="agintiflow")
    write(board_id, "messages.jsonl", message(board_id, fromSessionId="kv260"))
    settle()
    (row,) = taken(board_id)
    assert (row.sender, row.trust) == ("alice", "untrusted-imported-summary")
    Node.objects.filter(node_id="alice").update(session_id="", source="")


def test_what_others_write_in_somebodys_name_does_not_use_up_its_limits(who, board_id):
    Node.objects.filter(node_id="alice").update(session_id="kv260", source="agintiflow")
    write(board_id, "messages.jsonl", *(message(board_id, f"flood {n}", fromSessionId="kv260") for n in range(40)))
    settle()
    assert len(taken(board_id)) == 40
    assert give("send_message", who.alice, board_id=board_id, to=["bob"], content="me").outcome == "applied"
    Node.objects.filter(node_id="alice").update(session_id="", source="")


def test_a_second_reading_takes_nothing_in_twice(board_id):
    write(board_id, "messages.jsonl", message(board_id), message(board_id))
    settle()
    FolderCursor.objects.all().delete()
    settle()
    assert len(taken(board_id)) == 2
    is_whole(board_id)


def test_the_same_line_twice_is_one_message(board_id):
    line = message(board_id)
    write(board_id, "messages.jsonl", line, line)
    settle()
    assert len(taken(board_id)) == 1


def test_a_foreign_line_cannot_take_the_id_of_a_message_of_ours(who, board_id):
    sent = done("send_message", who.human, board_id=board_id, to=["bob"], content="real").extra["messageId"]
    write(board_id, "messages.jsonl", message(board_id, "forged", messageId=sent))
    settle()
    assert Message.objects.get(message_id=sent).content == "real"
    assert [row.content for row in taken(board_id)] == ["forged"], "it is another message, with an id made for it"
    is_whole(board_id)


@pytest.mark.parametrize(
    "foreign_id", ["../../x", "..", "MSG Upper", "a" * 500, "msg-\u202e", "sk-" + "A1b2C3d4E5f6G7h8I9j0K1l2"]
)
def test_an_id_that_cannot_be_ours_is_replaced_by_one_made_of_it(board_id, foreign_id):
    write(board_id, "messages.jsonl", message(board_id, messageId=foreign_id))
    settle()
    (row,) = taken(board_id)
    assert row.message_id.startswith("msg-")
    assert len(row.message_id) == 40


def test_secrets_and_private_paths_are_redacted_before_they_are_stored(board_id):
    text = "use OPENAI_API_KEY=sk-abcdefghijklmnopqrstuvwxyz0123 from /home/somebody/private/notes.txt"
    write(board_id, "messages.jsonl", message(board_id, text, fromSessionId="password=hunter2222"))
    settle()
    for row in Event.objects.all():
        assert "abcdefghijklmnop" not in row.data
        assert "/home/somebody" not in row.data
        assert "hunter2222" not in row.data


HOSTILE = [
    "<script>alert(1)</script>",
    "\u202egnp.exe",
    "before \x1b[2J\x1b]0;owned\x07 after",
    "nul \x00 in the middle",
    "lone \ud800 surrogate",
    "x" * 15_900,
    '{"eventId":"evt-00000000-0000-0000-0000-000000000000","revision":1}',
]


@pytest.mark.parametrize("content", HOSTILE)
def test_hostile_text_is_a_message_like_any_other(board_id, content):
    write(board_id, "messages.jsonl", message(board_id, content), message(board_id, "after"))
    settle()
    assert len(taken(board_id)) == 2
    assert problems(board_id) == []
    is_whole(board_id)


NONSENSE = [
    b"not json\n",
    b"[1, 2]\n",
    b"null\n",
    b'{"messageId": 7, "content": "x"}\n',
    b'{"messageId": "msg-1"}\n',
    b'{"messageId": "msg-1", "content": "   "}\n',
    b"\xff\xfe\x00\x01\n",
    b"[" * 100_000 + b"\n",
    b'{"messageId":"msg-1","content":"' + b"z" * 300_000 + b'"}\n',
]


@pytest.mark.parametrize("line", NONSENSE)
def test_a_line_that_is_no_message_is_reported_once_and_blocks_nothing(board_id, line):
    write(board_id, "messages.jsonl", line, message(board_id, "after"))
    settle()
    assert [row.content for row in taken(board_id)] == ["after"]
    assert len(problems(board_id)) == 1
    assert "messages.jsonl" in folder.problems()[0]
    write(board_id, "messages.jsonl", message(board_id, "later"))
    settle()
    assert len(problems(board_id)) == 1


def test_a_line_that_is_still_being_written_is_waited_for(who, board_id):
    line = json.dumps(message(board_id, "slow")).encode() + b"\n"
    write(board_id, "messages.jsonl", line[:40])
    settle()
    assert taken(board_id) == []
    assert problems(board_id) == []
    write(board_id, "messages.jsonl", line[40:])
    settle()
    assert [row.content for row in taken(board_id)] == ["slow"]


def test_what_a_dead_writer_left_torn_blocks_nobody_and_stays_as_it_is(who, board_id):
    torn = json.dumps(message(board_id, "never ended")).encode()[:60]
    write(board_id, "messages.jsonl", torn)
    os.utime(place(board_id, "messages.jsonl"), (1, 1))
    done("send_message", who.human, board_id=board_id, to=["bob"], content="ours")
    settle()
    write(board_id, "messages.jsonl", message(board_id, "after"))
    settle()
    text = place(board_id, "messages.jsonl").read_bytes()
    assert text.startswith(torn + b"\n")
    assert [row.content for row in taken(board_id)] == ["after"]
    assert len(problems(board_id)) == 1
    assert text.count(b'"ours"') == 1


def test_a_line_glued_to_a_torn_one_is_taken_in(board_id):
    torn = json.dumps(message(board_id, "never ended")).encode()[:60]
    write(board_id, "messages.jsonl", torn, message(board_id, "glued"), message(board_id, "after"))
    settle()
    assert [row.content for row in taken(board_id)] == ["glued", "after"]
    assert len(problems(board_id)) == 1


def test_many_lines_are_taken_in_over_several_turns(board_id, monkeypatch):
    monkeypatch.setattr(turns, "FOREIGN_PER_TURN", 7)
    write(board_id, "messages.jsonl", *(message(board_id, f"n {n}") for n in range(50)))
    settle()
    assert [row.content for row in taken(board_id)] == [f"n {n}" for n in range(50)]


def test_more_than_a_board_takes_stays_in_the_file_and_is_reported(who, board_id, monkeypatch):
    monkeypatch.setattr(turns, "FOREIGN_PER_BOARD", 3)
    write(board_id, "messages.jsonl", *(message(board_id, f"n {n}") for n in range(5)))
    settle()
    done("send_message", who.human, board_id=board_id, to=["bob"], content="ours goes on")
    settle()
    assert len(taken(board_id)) == 3
    assert "limit of a board" in problems(board_id)[0]
    is_whole(board_id)
    monkeypatch.setattr(turns, "FOREIGN_PER_BOARD", 30)
    write(board_id, "messages.jsonl", message(board_id, "n 5"))
    settle()
    assert [row.content for row in taken(board_id)] == [f"n {n}" for n in range(6)]


def test_lines_for_a_closed_board_wait_in_their_file(who, board_id):
    done("close_board", who.human, board_id=board_id)
    write(board_id, "messages.jsonl", message(board_id))
    settle()
    assert taken(board_id) == []
    assert "the board is closed" in problems(board_id)[0]
    assert place(board_id, "messages.jsonl").stat().st_size
    is_whole(board_id)


def test_foreign_writers_at_the_same_time_lose_nothing_and_double_nothing(who, board_id):
    def write_many(writer: int) -> None:
        for n in range(60):
            write(board_id, "messages.jsonl", message(board_id, f"writer {writer} line {n}"))

    writers = [threading.Thread(target=write_many, args=(n,)) for n in range(4)]
    for writer in writers:
        writer.start()
    for n in range(12):
        done("update_board", who.human, board_id=board_id, objective=f"objective {n}")
        done("send_message", who.human, board_id=board_id, to=["bob"], content=f"ours {n}", type="task_update")
        folder.attempt_once()
    for writer in writers:
        writer.join()
    settle()
    assert sorted(row.content for row in taken(board_id)) == sorted(
        f"writer {writer} line {n}" for writer in range(4) for n in range(60)
    )
    assert len(read(board_id, "messages.jsonl")) == 4 * 60 + 12
    is_whole(board_id)


# --- unverified answers ----------------------------------------------------------------------------------------------


def asked(who, board_id: str, sender: Actor | None = None, to: str = "bob") -> str:
    wish: dict[str, Any] = {"board_id": board_id, "to": [to], "content": "Please record.", "type": "task_request"}
    return str(done("send_message", sender or who.human, **wish).extra["messageId"])


def test_an_answer_reaches_the_sender_and_is_never_an_acknowledgement(who, board_id):
    asked_id = asked(who, board_id)
    write(board_id, "messages.jsonl", message(board_id, f"re: {asked_id} done, see run-014"))
    settle()
    (row,) = taken(board_id)
    assert row.reply_to == asked_id
    assert row.recipients == [human_node_id()]
    copy = Delivery.objects.get(message_id=asked_id)
    assert copy.unverified_answer == row.message_id
    assert (copy.step, copy.acknowledged_at) == ("queued", None)
    delivery.attempt_once()
    assert Delivery.objects.get(message_id=row.message_id).step == "handed"
    assert [need.kind for need in needs(now(), board_id)].count("unverified_answer") == 1


def test_an_answered_copy_is_not_overdue_any_more(who, board_id, clock):
    asked_id = asked(who, board_id)
    Actor_ = Actor("agentlink", "timer")
    done("record_step", Actor_, board_id=board_id, message_id=asked_id, node_id="bob", step="handed", adapter="x")
    clock.move(3600)
    assert [need.kind for need in needs(clock(), board_id)] == ["no_answer"]
    write(board_id, "messages.jsonl", message(board_id, f"Re: {asked_id}\nit is done"))
    settle()
    assert [need.kind for need in needs(clock(), board_id)] == ["unverified_answer"]
    answer = taken(board_id)[0].message_id
    done("acknowledge_message", who.human, board_id=board_id, message_id=answer, answer="read")
    assert needs(clock(), board_id) == []


def test_only_one_answer_for_each_copy_is_carried(who, board_id):
    asked_id = asked(who, board_id, who.alice)
    write(board_id, "messages.jsonl", *(message(board_id, f"re: {asked_id} answer {n}") for n in range(5)))
    settle()
    assert [row.recipients for row in taken(board_id)] == [["alice"], [], [], [], []]


def test_an_answer_that_agintiflow_delivered_itself_is_not_carried_again(who, board_id):
    Node.objects.filter(node_id="alice").update(session_id="kv260", source="agintiflow")
    asked_id = asked(who, board_id, who.alice)
    write(board_id, "messages.jsonl", message(board_id, f"re: {asked_id} here", toSessionId="kv260"))
    settle()
    assert taken(board_id)[0].recipients == []
    assert Delivery.objects.get(message_id=asked_id).unverified_answer
    Node.objects.filter(node_id="alice").update(session_id="", source="")


def test_an_answer_in_the_name_of_somebody_who_was_not_asked_counts_for_nobody(who, board_id):
    Node.objects.filter(node_id="mallory").update(session_id="evil", source="agintiflow")
    asked_id = asked(who, board_id)
    write(board_id, "messages.jsonl", message(board_id, f"re: {asked_id} all done", fromSessionId="evil"))
    settle()
    assert not Delivery.objects.get(message_id=asked_id).unverified_answer
    assert taken(board_id)[0].recipients == []
    Node.objects.filter(node_id="mallory").update(session_id="", source="")


# --- evidence --------------------------------------------------------------------------------------------------------


def test_foreign_evidence_is_attached_unverified(who, board_id):
    contract_id = contract(who, board_id)
    write(
        board_id,
        "evidence.jsonl",
        evidence(board_id, contractId=contract_id, sessionId="kv260", path="/home/somebody/notes.txt"),
    )
    settle()
    row = Evidence.objects.get(board_id=board_id)
    assert (row.trust, row.verdict, row.stated_sender) == ("untrusted-imported-summary", "unverified", "kv260")
    assert row.artifacts == []
    assert "/home/somebody" not in json.dumps(read(board_id, "events.jsonl"))
    is_whole(board_id)


def test_checks_alone_never_verify_foreign_evidence(who, board_id):
    contract_id = contract(who, board_id)
    write(board_id, "evidence.jsonl", evidence(board_id, contractId=contract_id))
    settle()
    row = Evidence.objects.get(board_id=board_id)
    checks = [{"name": "file", "verdict": "verified", "detail": "It is there."}]
    wish = {"board_id": board_id, "evidence_id": row.evidence_id, "checks": checks, "verdict": "verified"}
    done("record_checks", Actor("agentlink", "timer"), **wish)
    assert Evidence.objects.get().verdict == "unverified"
    refused = give("verify_evidence", who.alice, board_id=board_id, evidence_id=row.evidence_id)
    assert refused.code == "role_too_low"
    done("verify_evidence", who.human, board_id=board_id, evidence_id=row.evidence_id)
    assert Evidence.objects.get().verdict == "verified"


def test_evidence_for_a_contract_that_is_not_there_is_a_message(board_id):
    write(board_id, "evidence.jsonl", evidence(board_id, contractId="nothing-like-it", url="http://127.0.0.1/x"))
    settle()
    (row,) = taken(board_id)
    assert row.message_type == "evidence_attached"
    assert "nothing-like-it" in row.content
    assert not Evidence.objects.exists()


# --- contracts and claims --------------------------------------------------------------------------------------------


def test_a_foreign_contract_is_a_proposal_without_owners_that_the_person_decides(who, board_id):
    claim(board_id, "run-pattern-a", title="Run pattern A", ownerSessionId="kv260-recorder")
    settle()
    row = Contract.objects.get(contract_id="run-pattern-a")
    assert (row.status, row.owners, row.accepted_by) == ("proposed", {}, [])
    assert (row.trust, row.stated_sender) == ("untrusted-imported-summary", "kv260-recorder")
    assert [need.kind for need in needs(now(), board_id)] == ["foreign_claim"]
    claimed = give("claim_task", who.alice, board_id=board_id, task_id="run-pattern-a")
    assert claimed.outcome in ("rejected", "conflict")
    assert give("accept_contract", who.alice, board_id=board_id, contract_id="run-pattern-a").code == "role_too_low"
    done("accept_contract", who.human, board_id=board_id, contract_id="run-pattern-a")
    assert Contract.objects.get(contract_id="run-pattern-a").status == "accepted"
    assert needs(now(), board_id) == []


def test_a_claim_over_our_contract_owns_nothing_and_the_file_is_written_again(who, board_id):
    contract_id = contract(who, board_id)
    done("claim_task", who.alice, board_id=board_id, task_id=contract_id)
    settle()
    before = Contract.objects.get(contract_id=contract_id), Task.objects.get(task_id=contract_id)
    claim(board_id, contract_id, ownerSessionId="thief")
    settle()
    after = Contract.objects.get(contract_id=contract_id), Task.objects.get(task_id=contract_id)
    assert (after[0].owners, after[0].revision) == (before[0].owners, before[0].revision)
    assert (after[1].holder, after[1].fencing, after[1].revision) == ("alice", before[1].fencing, before[1].revision)
    shown = record(board_id, f"contracts/{contract_id}.json")
    assert (shown["ownerNodeId"], shown["writtenBy"]) == ("alice", "agentlink")
    (need,) = needs(now(), board_id)
    assert (need.kind, need.contract_id) == ("foreign_claim", contract_id)
    claim(board_id, contract_id, ownerSessionId="thief", updatedAt="2031-01-01T00:00:00.000Z")
    settle()
    assert len(needs(now(), board_id)) == 1, "the same claim is told once"
    assert record(board_id, f"contracts/{contract_id}.json")["ownerNodeId"] == "alice"
    is_whole(board_id)


@pytest.mark.parametrize("foreign_id", ["Upper Case", "a.b", "x" * 110, "..", "sk-" + "A1b2C3d4E5f6G7h8I9j0K1l2"])
def test_a_contract_id_that_cannot_be_ours_is_replaced(board_id, foreign_id):
    data = {"contractId": foreign_id, "title": "Something", "ownerSessionId": "s", "status": "claimed"}
    line = {"timestamp": "t", "type": "contract.created", "data": data}
    write(board_id, "events.jsonl", line, {**line, "data": {**data, "status": "done"}})
    settle()
    row = Contract.objects.get(board_id=board_id)
    assert row.contract_id.startswith("abroad-")
    assert [one.message_type for one in taken(board_id)] == ["task_claim"]
    assert {path.parent.name for path in places.boards().rglob("*.json")} == {board_id, "contracts"}


def test_one_contract_id_on_two_boards_is_two_contracts(who, board_id):
    other = board(who)
    settle()
    for one in (board_id, other):
        claim(one, "final-review")
    settle()
    assert Contract.objects.filter(board_id=board_id).count() == 1
    assert Contract.objects.filter(board_id=other).count() == 1


def test_a_board_that_is_full_of_contracts_keeps_the_rest_waiting(who, board_id, monkeypatch):
    from boards import words

    monkeypatch.setitem(words.BOARD_ROOM, "Contract", ("contracts", 2))
    for n in range(4):
        claim(board_id, f"contract-{n}")
    for _ in range(3):
        folder.attempt_once()
    assert Contract.objects.count() == 2
    assert any("limit is 2" in one for one in problems(board_id))
    done("update_board", who.human, board_id=board_id, objective="still works")
    folder.attempt_once()
    is_whole(board_id)


def test_taking_in_is_the_services_own_act(who, board_id):
    wish = {"board_id": board_id, "message_id": "msg-1", "type": "task_update", "content": "x"}
    assert give("take_message", who.human, **wish).code == "not_allowed"
    assert give("take_message", Actor("agentlink", "api"), **wish).code == "not_allowed"
    assert log.verify() == []
