"""Messages: typos, peers that are away, watchers that restart, listings, length, clocks."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from boards import delivery, discovery, log
from boards.models import Delivery, Event, Message, Outbox
from boards.queries.needs import needs
from boards.times import iso
from tests.boards.conftest import Clock
from tests.fixtures import unpack
from tests.peers.stores import append, event, items
from tests.people import board, done, give, people

pytestmark = pytest.mark.django_db
BASE = "/api/agentlink"


def api(node: str, path: str) -> Any:
    """What a node gets to read; no node: the person."""
    actor = {"node_id": node or None, "surface": "api", "human": not node}
    answer = Client().get(BASE + path, **{"agentlink.actor": actor})  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.fixture
def home(settings: Any, tmp_path: Path) -> Path:
    """A real home of sessions, scanned, with the board ``b``."""
    settings.AGINTIFLOW_HOME = unpack(tmp_path).home
    return Path(settings.AGINTIFLOW_HOME)


def on_board(home: Path, *sessions: str) -> Any:
    who = people()
    discovery.scan_once()
    done("create_board", who.human, title="b", members=dict.fromkeys(sessions, "worker"))
    return who


def test_a_typo_names_nobody_and_stores_nothing() -> None:
    who = people()
    done("register_node", who.human, name="reviewer")
    board_id = board(who, members={"reviewer": "worker"})
    before, position = Event.objects.count(), log.last_position()
    receipt = give("send_message", who.human, board_id=board_id, to=["reviwer"], content="x")
    assert (receipt.outcome, receipt.code) == ("rejected", "unknown_peer")
    assert receipt.extra["nearest"][0] == "reviewer" and "'reviewer'" in receipt.detail
    both = give("send_message", who.human, board_id=board_id, to=["reviewer", "reviwer"], content="x")
    assert both.code == "unknown_peer", "one wrong name and nobody gets it"
    assert (Event.objects.count(), log.last_position()) == (before, position)
    assert not Message.objects.exists() and not Delivery.objects.exists()


def test_a_receipt_never_says_more_than_what_happened(home: Path) -> None:
    """Queued, handed, applied and acknowledged are four things, each with its time; only a proof moves a copy on."""
    who = on_board(home, "arduino-shell", "kv260-recorder")
    done("invite", who.human, board_id="b", node="alice")
    names = ["arduino-shell", "alice"]
    sent = done("send_message", who.human, board_id="b", to=names, content="x", type="task_request")
    message_id = sent.extra["messageId"]

    def seen() -> dict[str, str]:
        copies = api("", f"/messages/{message_id}")["deliveries"]
        assert all(copy["queuedAt"] for copy in copies)
        return {copy["nodeId"]: copy["step"] for copy in copies}

    assert seen() == {"arduino-shell": "queued", "alice": "queued"}
    delivery.attempt_once()
    assert seen() == {"arduino-shell": "handed", "alice": "queued"}, "who only asks for its mail has got nothing"
    applied = event("conversation.queued_input_applied", id=f"inbox-agentlink-{message_id}", prompt="x")
    append(home / "sessions" / "arduino-shell" / "events.jsonl", applied)
    discovery.scan_once()
    delivery.attempt_once()
    assert seen()["arduino-shell"] == "applied"
    done("acknowledge_message", who.alice, board_id="b", message_id=message_id, answer="read")
    assert seen() == {"arduino-shell": "applied", "alice": "acknowledged"}


def test_who_takes_mail_and_dies_has_not_read_it(home: Path) -> None:
    """Claimed by a session that then died: it stays handed, and is in the inbox for the next run."""
    who = on_board(home, "arduino-shell")
    sent = done("send_message", who.human, board_id="b", to=["arduino-shell"], content="x")
    delivery.attempt_once()
    item = f"inbox-agentlink-{sent.extra['messageId']}"
    for _ in range(3):
        discovery.scan_once()
        delivery.attempt_once()
    assert Delivery.objects.get().step == "handed"
    assert [one["id"] for one in items(home / "sessions" / "arduino-shell")].count(item) == 1


def test_a_worker_that_died_with_a_copy_in_hand_gives_it_back(home: Path, clock: Clock) -> None:
    who = on_board(home, "arduino-shell")
    done("send_message", who.human, board_id="b", to=["arduino-shell"], content="x")
    copy = Delivery.objects.get()
    with log.writer() as at:
        claim = {"trying": True, "owner": "999999999-1", "until": at + delivery.CLAIM, "attempts": 1, "next_at": at}
        Outbox.objects.create(key=copy.key, **claim)
    assert delivery.attempt_once() == 0
    delivery.take_over()
    assert delivery.attempt_once() == 1
    assert Delivery.objects.get().step == "handed"


def test_listing_twice_lists_the_same_and_changes_nothing(home: Path) -> None:
    who = on_board(home, "arduino-shell")
    done("invite", who.human, board_id="b", node="alice")
    for number in range(3):
        done("send_message", who.human, board_id="b", to=["alice"], content=f"{number}")
    position = log.last_position()
    first, second = (api("alice", "/inbox")["inbox"] for _ in range(2))
    assert [item["messageId"] for item in first] == [item["messageId"] for item in second]
    assert len(first) == 3
    assert log.last_position() == position
    done("acknowledge_message", who.alice, board_id="b", message_id=first[0]["messageId"], answer="read")
    assert len(api("alice", "/inbox")["inbox"]) == 2


def test_mail_belongs_to_the_node_and_waits_for_its_next_run(home: Path) -> None:
    """The session ends and starts again with mail in its queue: the same node, the same mail."""
    who = on_board(home, "arduino-shell")
    log_file = home / "sessions" / "arduino-shell" / "events.jsonl"
    append(log_file, event("session.stopped", reason="closed"))
    discovery.scan_once()
    sent = done("send_message", who.human, board_id="b", to=["arduino-shell"], content="x")
    delivery.attempt_once()
    append(log_file, event("session.resumed", sessionId="arduino-shell"))
    discovery.scan_once()
    delivery.attempt_once()
    item = f"inbox-agentlink-{sent.extra['messageId']}"
    assert [one["id"] for one in items(home / "sessions" / "arduino-shell")].count(item) == 1
    assert Delivery.objects.get().node_id == "arduino-shell"


def test_mail_to_an_idle_peer_says_what_would_make_it_read(home: Path, clock: Clock) -> None:
    """Nothing can wake an idle session of this kind: that is said before sending, and an old copy raises a need."""
    who = on_board(home, "arduino-shell")
    reach = api("", "/boards/b")["members"]
    told = next(row["reach"] for row in reach if row["nodeId"] == "arduino-shell")
    assert told["kind"] == "push" and told["sentence"] and told["resumeCommand"] == "aginti resume arduino-shell"
    done("send_message", who.human, board_id="b", to=["arduino-shell"], content="x", type="task_request")
    delivery.attempt_once()
    clock.move(601)
    assert [need.kind for need in needs(clock(), "b")] == ["no_answer"]


def test_a_watcher_that_restarts_goes_on_where_it_was() -> None:
    who = people()
    board_id = board(who)
    position = log.last_position()
    wanted = []
    for number in range(7):
        done("send_message", who.human, board_id=board_id, to=["alice"], content=f"{number}", type="status_response")
        wanted.append(Event.objects.order_by("-position").values_list("event_id", flat=True)[0])
    seen: list[str] = []
    while True:
        page = api("alice", f"/events?after={position}&limit=2")  # as if started anew each time
        seen += [one["eventId"] for one in page["events"]]
        if page["nextAfter"] is None:
            break
        position = page["nextAfter"]
    assert seen == wanted


def test_a_text_over_what_a_session_takes_is_kept_whole_and_announced_with_length_and_hash(home: Path) -> None:
    who = on_board(home, "arduino-shell")
    said = "0123456789 " * 9_000
    sent = done("send_message", who.human, board_id="b", to=["arduino-shell"], content=said)
    delivery.attempt_once()
    item = next(one for one in items(home / "sessions" / "arduino-shell") if sent.extra["messageId"] in str(one["id"]))
    content = str(item["content"])
    assert len(content.encode()) <= delivery.CONTENT_LIMIT
    assert f"{len(said):,} bytes" in content and hashlib.sha256(said.encode()).hexdigest() in content
    assert Message.objects.get().content == said


def test_ten_thousand_unread_are_a_bounded_page_and_the_newest_urgent_one_is_first(home: Path) -> None:
    who = on_board(home, "arduino-shell")
    done("invite", who.human, board_id="b", node="alice")
    crowd(who, 10_000)
    urgent = done(
        "send_message", who.human, board_id="b", to=["alice", "arduino-shell"], content="now", priority="asap"
    )
    page = api("alice", "/inbox?limit=50")
    assert page["inbox"][0]["messageId"] == urgent.extra["messageId"]
    assert (len(page["inbox"]), page["total"]) == (50, 10_001)
    assert page["nextCursor"]
    again = api("alice", f"/inbox?limit=50&cursor={page['nextCursor']}")
    assert not {one["messageId"] for one in page["inbox"]} & {one["messageId"] for one in again["inbox"]}
    delivery.attempt_once()
    handed = Delivery.objects.get(message_id=urgent.extra["messageId"], node_id="arduino-shell")
    assert handed.step == "handed", "a full inbox elsewhere keeps nothing back"


def crowd(who: Any, count: int) -> None:
    """So many messages to Alice, appended as the command would, without its limit on bursts."""
    from boards.events import MessageSent

    with log.writer() as present:
        at = present - timedelta(minutes=1)
        for start in range(0, count, 500):
            sent = [
                MessageSent(
                    message_id=f"msg-crowd-{number}", sender=who.human.node_id, to=["alice"],
                    message_type="status_response", priority="normal", content=f"{number}",
                    thread_id=f"msg-crowd-{number}",
                    requires_ack=False, chain_origin=who.human.node_id,
                )
                for number in range(start, start + 500)
            ]  # fmt: skip
            log.append("b", list(sent), actor=who.human.node_id, origin={"surface": "api", "host": "x"}, at=at)


def test_the_servers_clock_decides_whatever_a_sessions_clock_says(home: Path, clock: Clock) -> None:
    """A session whose clock is ten minutes off: expiry, leases and order follow the server's own time."""
    who = on_board(home, "arduino-shell")
    ahead = iso(clock() + timedelta(minutes=10))
    append(
        home / "sessions" / "arduino-shell" / "events.jsonl", event("session.resumed", ahead, sessionId="arduino-shell")
    )
    discovery.scan_once()
    done("invite", who.human, board_id="b", node="alice")
    done("propose_contract", who.human, board_id="b", contract_id="c", objective="x")
    lease = done("claim_task", who.alice, board_id="b", task_id="c", lease_seconds=120)
    assert lease.extra["leaseUntil"] == iso(clock() + timedelta(seconds=120))
    sent = done("send_message", who.human, board_id="b", to=["arduino-shell"], content="x",
                expires_at=iso(clock() + timedelta(minutes=5)))  # fmt: skip
    delivery.attempt_once()
    assert Delivery.objects.get(message_id=sent.extra["messageId"], node_id="arduino-shell").step == "handed"
    assert Message.objects.get(pk=sent.extra["messageId"]).created_at == clock()
