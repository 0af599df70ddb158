"""Delivery into real inbox files: each step proven, nothing lost, nothing twice, whatever dies in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from boards import delivery, discovery, log
from boards.models import Delivery, Event, Message, Node, Outbox
from boards.queries.reach import reach_of
from boards.schemas import Actor
from boards.times import iso, now
from tests.fixtures import unpack
from tests.peers.stores import append, event, items, line, make_session, received
from tests.people import done, give, people

SERVICE = Actor("agentlink", "timer")


@pytest.fixture
def home(settings, tmp_path) -> Path:
    """AgInTiFlow's own fixture home, scanned."""
    settings.AGINTIFLOW_HOME = unpack(tmp_path).home
    return Path(settings.AGINTIFLOW_HOME)


def prepared(home: Path, *sessions: str):
    """The people, and a board ``b`` with sessions of the home."""
    who = people()
    discovery.scan_once()
    done("create_board", who.human, title="b", members=dict.fromkeys(sessions, "worker"))
    return who


def step(node_id: str) -> str:
    """How far the newest copy for a node got."""
    return Delivery.objects.filter(node_id=node_id).order_by("-queued_at").values_list("step", flat=True)[0]


def ours(home: Path, session_id: str, message_id: str) -> list[dict[str, object]]:
    """Our inbox items for one message."""
    return [item for item in items(home / "sessions" / session_id) if item["id"] == f"inbox-agentlink-{message_id}"]


@pytest.mark.django_db
def test_a_message_lands_once_in_the_real_inbox_and_touches_nothing_else(home):
    who = prepared(home, "arduino-shell")
    folder = home / "sessions" / "arduino-shell"
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file() and path.suffix != ".sqlite3"}
    sent = done("send_message", who.human, boardId="b", to=["arduino-shell"], content="Run it", priority="asap")
    message_id = sent.extra["messageId"]
    assert delivery.attempt_once() == 1 and delivery.attempt_once() == 0
    assert step("arduino-shell") == "handed"
    [item] = ours(home, "arduino-shell", message_id)
    assert item["priority"] == "asap" and item["source"] == "agentlink"
    assert item["agentlink"] == {
        "boardId": "b",
        "messageId": message_id,
        "kind": "task_request",
        "fromNodeId": who.human.node_id,
        "fromSessionId": "",
    }
    assert item["kind"] == "agentlink" and item["toNodeId"] == "arduino-shell" and item["requiresAck"] is True
    first, *rest = str(item["content"]).split("\n")
    assert first == f"[AgentLink b] task_request from {who.human.node_id}"
    assert delivery.CLOSING in rest and f"ack {message_id} accepted --as arduino-shell" in rest[-1]
    assert len(received(folder, message_id)) == 1
    changed = {path for path, data in before.items() if path.exists() and path.read_bytes() != data}
    assert changed == {folder / "inbox.jsonl", folder / "events.jsonl"}
    assert (folder / "inbox.jsonl").read_bytes().startswith(before[folder / "inbox.jsonl"])


@pytest.mark.django_db
def test_applied_is_read_back_from_the_session_and_never_assumed(home):
    who = prepared(home, "arduino-shell")
    sent = done("send_message", who.human, boardId="b", to=["arduino-shell"], content="Run it")
    message_id = sent.extra["messageId"]
    delivery.attempt_once()
    discovery.scan_once()
    assert step("arduino-shell") == "handed"
    item_id = f"inbox-agentlink-{message_id}"
    applied = event("conversation.queued_input_applied", "2026-11-30T22:00:00.000Z", id=item_id, prompt="x")
    append(home / "sessions" / "arduino-shell" / "events.jsonl", applied)
    discovery.scan_once()
    assert step("arduino-shell") == "applied"
    types = list(Event.objects.filter(type__contains="message.").values_list("type", flat=True))
    assert [name.rpartition(".")[2] for name in types] == ["sent", "received", "applied"]


@pytest.mark.django_db
def test_an_item_that_vanishes_unread_is_said_to_be_removed(home):
    who = prepared(home, "arduino-shell")
    folder = home / "sessions" / "arduino-shell"
    done("send_message", who.human, boardId="b", to=["arduino-shell"], content="Run it")
    delivery.attempt_once()
    discovery.scan_once()
    kept = [
        item for item in items(folder) if item["source"] != "agentlink" or "inbox-agentlink-" not in str(item["id"])
    ]
    (folder / "inbox.jsonl").write_bytes(b"".join(line(item) for item in kept))
    discovery.scan_once()
    assert step("arduino-shell") == "undeliverable"
    assert "removed" in Delivery.objects.get(node_id="arduino-shell").reason


@pytest.mark.django_db
def test_a_session_that_is_deleted_makes_its_messages_undeliverable(settings, tmp_path):
    settings.AGINTIFLOW_HOME = tmp_path
    make_session(tmp_path, "gone")
    who = prepared(tmp_path, "gone")
    (tmp_path / "sessions" / "gone" / "state.json").unlink()
    done("send_message", who.human, boardId="b", to=["gone"], content="hello")
    delivery.attempt_once()
    assert step("gone") == "undeliverable" and Delivery.objects.get(node_id="gone").reason
    assert not (tmp_path / "sessions" / "gone" / "inbox.jsonl").exists()


@pytest.mark.django_db
def test_a_store_that_cannot_take_it_now_is_tried_again_later(settings, tmp_path):
    settings.AGINTIFLOW_HOME = tmp_path
    folder = make_session(tmp_path, "busy")
    who = prepared(tmp_path, "busy")
    (folder / "inbox.jsonl").write_bytes(b"not json\n" + line({"id": "x", "content": "y", "timestamp": "t"}))
    done("send_message", who.human, boardId="b", to=["busy"], content="hello")
    assert delivery.attempt_once() == 0
    row = Outbox.objects.get()
    assert step("busy") == "queued" and not row.trying and row.last_reason and row.attempts == 1
    (folder / "inbox.jsonl").unlink()
    Outbox.objects.update(next_at=now())
    assert delivery.attempt_once() == 1 and step("busy") == "handed"


@pytest.mark.django_db
def test_a_copy_that_another_worker_has_in_hand_is_left_alone_and_cannot_be_withdrawn(home):
    who = prepared(home, "arduino-shell")
    sent = done("send_message", who.human, boardId="b", to=["arduino-shell"], content="Run it")
    copy = Delivery.objects.get(node_id="arduino-shell")
    assert delivery._claim(copy) and not delivery._claim(copy)
    assert delivery.attempt_once() == 0
    withdrawn = give("withdraw_message", who.human, boardId="b", messageId=sent.extra["messageId"])
    assert (withdrawn.outcome, withdrawn.code) == ("conflict", "being_handed")


@pytest.mark.django_db
def test_a_message_whose_time_is_over_expires_instead_of_being_handed(home, clock, monkeypatch):
    monkeypatch.setattr(delivery, "now", clock)
    who = prepared(home, "arduino-shell")
    expires = iso(clock().replace(microsecond=0).replace(year=2027))
    done("send_message", who.human, boardId="b", to=["arduino-shell"], content="Run it", expiresAt=expires)
    clock.move(400 * 24 * 3600)
    delivery.attempt_once()
    assert step("arduino-shell") == "expired"


@pytest.mark.django_db
@pytest.mark.parametrize("ref", ["../evil", "a..b", "..", ".", "no-such-session", "arduino-shel"])
def test_a_wrong_session_is_a_clear_error_and_nothing_is_stored_anywhere(home, ref):
    who = prepared(home, "arduino-shell")
    before = sorted(str(path) for path in home.parent.rglob("*"))
    position = log.last_position()
    receipt = give("send_message", who.human, boardId="b", to=[ref], content="hello")
    assert (receipt.outcome, receipt.code) == ("rejected", "unknown_peer")
    assert log.last_position() == position and not Message.objects.exists()
    delivery.attempt_once()
    assert sorted(str(path) for path in home.parent.rglob("*")) == before


@pytest.mark.django_db
def test_a_long_text_enters_the_session_as_a_preview_that_says_how_to_read_it(home):
    who = prepared(home, "arduino-shell")
    text = "\u20ac" * 30_000
    sent = done("send_message", who.human, boardId="b", to=["arduino-shell"], content=text)
    delivery.attempt_once()
    [item] = ours(home, "arduino-shell", sent.extra["messageId"])
    content = str(item["content"])
    assert len(content.encode()) <= delivery.CONTENT_LIMIT
    assert "90,000 bytes" in content and "sha256" in content and "board b --json" in content
    assert Message.objects.get().content == text


@pytest.mark.django_db
def test_a_message_to_the_person_is_handed_to_the_panel_and_not_called_read(home):
    who = prepared(home, "arduino-shell")
    done("send_message", Actor("arduino-shell", "cli"), boardId="b", to=[who.human.node_id], content="hello")
    delivery.attempt_once()
    copy = Delivery.objects.get(node_id=who.human.node_id)
    assert (copy.step, copy.adapter) == ("handed", "panel")


def test_how_a_peer_is_reached_is_known_before_sending(db, home):
    who = prepared(home, "arduino-patch")
    reach = reach_of(Node.objects.get(node_id="arduino-patch"))
    assert reach.resume_command == "aginti resume arduino-patch" and reach.sentence
    assert reach_of(Node.objects.get(node_id=who.human.node_id)).kind == "push"
    assert reach_of("no-such-session").kind == "none"


# --- killed anywhere -----------------------------------------------------------------------------------------------

POINTS = [
    "before_claim",
    "after_claim",
    "after_inbox_write",
    "after_deliver",
    "before_record_commit",
    "after_record",
    "never",
]

CHILD = """
import os, signal, sys
import django
django.setup()
from django.db import connection
connection.settings_dict["NAME"] = sys.argv[2]
from django.conf import settings
from pathlib import Path
settings.AGINTIFLOW_HOME = Path(sys.argv[3])
from boards import delivery, log
point = sys.argv[1]

def die(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)

def after(module, name, wanted):
    original = getattr(module, name)
    def wrapped(*args, **kwargs):
        result = original(*args, **kwargs)
        if point == wanted:
            die()
        return result
    setattr(module, name, wrapped)

if point == "before_claim":
    delivery._claim = die
after(delivery, "_claim", "after_claim")
after(delivery, "_record", "after_record")
if point == "after_inbox_write":
    import peers.adapters.agintiflow.inbox as inbox
    inbox._append_received = die
if point == "after_deliver":
    delivery._settle = die
if point == "before_record_commit":
    original = log.append
    def append(*args, **kwargs):
        original(*args, **kwargs)
        die()
    log.append = append
delivery.take_over()
delivery.attempt_once()
"""


def environment() -> dict[str, str]:
    """For a child that uses this test's homes and code."""
    root = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": root, "DJANGO_SETTINGS_MODULE": "agentlink_site.settings"}


@pytest.mark.process
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("point", POINTS)
def test_a_worker_killed_between_any_two_steps_loses_and_doubles_nothing(home, point):
    who = prepared(home, "arduino-shell")
    sent = done("send_message", who.human, boardId="b", to=["arduino-shell"], content="Run it")
    message_id = sent.extra["messageId"]
    name = str(connection.settings_dict["NAME"])
    child = subprocess.run([sys.executable, "-c", CHILD, point, name, str(home)], env=environment(), timeout=60)
    assert child.returncode == (0 if point == "never" else -signal.SIGKILL)
    delivery.take_over()
    for _ in range(3):
        delivery.attempt_once()
    assert step("arduino-shell") == "handed"
    assert len(ours(home, "arduino-shell", message_id)) == 1
    assert len(received(home / "sessions" / "arduino-shell", message_id)) == 1
    assert Event.objects.filter(type="agentlink.message.received").count() == 1
    assert not Outbox.objects.filter(trying=True).exists()
    assert json.loads(Event.objects.get(type="agentlink.message.received").data)["adapter"] == "agintiflow"


SENDER = """
import os, signal, sys
import django
django.setup()
from django.db import connection
connection.settings_dict["NAME"] = sys.argv[1]
from boards.commands import execute
from boards.schemas import Actor, SendMessage
wish = SendMessage(board_id="b", to=["arduino-shell"], content="Run it")
assert execute(wish, Actor(sys.argv[2], "cli"), key="k").outcome == "applied"
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.process
@pytest.mark.django_db(transaction=True)
def test_killed_between_commit_and_reply_a_retry_with_the_same_key_sends_nothing_again(home):
    who = prepared(home, "arduino-shell")
    name = str(connection.settings_dict["NAME"])
    child = subprocess.run([sys.executable, "-c", SENDER, name, who.human.node_id], env=environment(), timeout=60)
    assert child.returncode == -signal.SIGKILL
    again = give("send_message", who.human, key="k", boardId="b", to=["arduino-shell"], content="Run it")
    assert again.outcome == "already_applied"
    assert again.extra["messageId"] == Message.objects.get().message_id
