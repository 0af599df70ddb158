"""Live equals fresh: after every event, an old page whose regions fetched themselves is the page of now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from boards import live
from boards.events import EVENTS
from boards.models import Event
from boards.views import regions as region_views
from boards.views.kept import Kept
from tests.boards.pages import Story, completed, get, page, refetched, regions, text
from tests.boards.pages import page_clock as page_clock
from tests.people import claim, done

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("page_clock")]


Prepared = Callable[[], Any]
CASES: dict[str, Callable[[Story], Prepared]] = {}
NOT_SHOWN = {
    "agentlink.identity.created": "it comes before any page",
    "agentlink.peer.discovered": "who is there is read from the sessions' own rows, not from the log",
}


def case(name: str) -> Callable[[Callable[[Story], Prepared]], Callable[[Story], Prepared]]:
    """What must be there before, and (returned) the step that makes the event."""

    def keep(function: Callable[[Story], Prepared]) -> Callable[[Story], Prepared]:
        CASES[f"agentlink.{name}"] = function
        return function

    return keep


@case("peer.registered")
def _(story):
    return lambda: done("register_node", story.who.human, name="carol")


@case("peer.updated")
def _(story):
    return lambda: done("update_node", story.who.alice, node_id="alice", name="Alice A")


@case("board.created")
def _(story):
    return lambda: done("create_board", story.who.human, title="Another board")


@case("board.adopted")
def _(story):
    return lambda: done("adopt_board", story.who.human, board_id="From-afar", title="Made by another program")


@case("board.updated")
def _(story):
    return lambda: story.give("update_board", story.who.human, title="Light and sound")


@case("board.invited")
def _(story):
    return lambda: story.give("invite", story.who.human, node="mallory", role="observer")


@case("board.joined")
def _(story):
    return lambda: story.give("join_board", story.who.alice)


@case("board.left")
def _(story):
    return lambda: story.give("leave_board", story.who.bob)


@case("board.closed")
def _(story):
    completed(story)
    return lambda: story.give("close_board", story.who.human)


@case("contract.proposed")
def _(story):
    return story.propose


@case("contract.accepted")
def _(story):
    contract_id = story.propose()
    return lambda: story.give("accept_contract", story.who.alice, contract_id=contract_id)


@case("contract.rejected")
def _(story):
    contract_id = story.propose()
    return lambda: story.give("reject_contract", story.who.alice, contract_id=contract_id, reason="no")


@case("contract.activated")
@case("task.claimed")
def _(story):
    contract_id = story.accept()
    return lambda: claim(story.who, story.board_id, contract_id)


@case("contract.blocked")
@case("blocker.opened")
def _(story):
    contract_id = story.accept()
    wish = {"contract_id": contract_id, "stop_condition_id": "stop-1", "summary": "busy"}
    return lambda: story.give("open_blocker", story.who.alice, **wish)


@case("contract.unblocked")
@case("blocker.resolved")
def _(story):
    blocker_id = story.blocked()
    return lambda: story.give("resolve_blocker", story.who.human, blocker_id=blocker_id, resolution="free again")


@case("contract.completed")
@case("task.completed")
def _(story):
    contract_id, fencing = story.claim()
    story.give("verify_evidence", story.who.human, evidence_id=story.attach(contract_id))
    return lambda: story.give("complete_task", story.who.alice, task_id=contract_id, fencing=fencing)


@case("contract.edited")
def _(story):
    contract_id = story.accept()
    return lambda: story.give("edit_contract", story.who.human, contract_id=contract_id, objective="Record two files")


@case("contract.withdrawn")
def _(story):
    contract_id = story.propose()
    return lambda: story.give("withdraw_contract", story.who.human, contract_id=contract_id)


def offered(story: Story) -> tuple[Prepared, str]:
    """A task that anybody may hold, held by Alice, and her offer to Bob."""
    contract_id = story.propose(owners={})
    fencing = claim(story.who, story.board_id, contract_id)
    wish = {"task_id": contract_id, "fencing": fencing, "to": "bob", "summary": "Half of it is recorded."}
    return lambda: story.give("hand_over_task", story.who.alice, **wish), contract_id


@case("task.updated")
def _(story):
    return offered(story)[0]


@case("task.handed_over")
def _(story):
    offer, contract_id = offered(story)
    offer()
    return lambda: story.give("claim_task", story.who.bob, task_id=contract_id)


@case("payload.erased")
def _(story):
    story.send()
    event = Event.objects.get(type="agentlink.message.sent")
    return lambda: story.give("erase_payload", story.who.human, event_ids=[event.event_id], reason="a leak")


@case("task.renewed")
def _(story):
    contract_id, fencing = story.claim()
    return lambda: story.give("renew_task", story.who.alice, task_id=contract_id, fencing=fencing, lease_seconds=7200)


@case("task.released")
def _(story):
    contract_id, fencing = story.claim()
    return lambda: story.give("release_task", story.who.alice, task_id=contract_id, fencing=fencing)


@case("task.expired")
def _(story):
    contract_id = story.accept()
    story.give("claim_task", story.who.alice, task_id=contract_id, lease_seconds=60)
    return lambda: story.found("expire_task", task_id=contract_id)


@case("message.sent")
def _(story):
    return story.send


@case("message.received")
def _(story):
    story.send()
    return lambda: story.step("handed", adapter="agintiflow")


@case("message.applied")
def _(story):
    story.send()
    return lambda: story.step("applied")


@case("message.acknowledged")
def _(story):
    message_id = story.send()
    wish = {"message_id": message_id, "answer": "blocked", "note": "no camera"}
    return lambda: story.give("acknowledge_message", story.who.alice, **wish)


@case("message.answered")
def _(story):
    wish = {"type": "task_update", "content": f"re: {story.send()} it is done"}
    return lambda: story.found("take_message", message_id="msg-from-the-folder", **wish)


@case("message.expired")
def _(story):
    story.send()
    return lambda: story.step("expired")


@case("message.undeliverable")
def _(story):
    story.send()
    return lambda: story.step("undeliverable", reason="The session's folder is gone.")


@case("message.withdrawn")
def _(story):
    message_id = story.send()
    return lambda: story.give("withdraw_message", story.who.human, message_id=message_id)


@case("evidence.attached")
def _(story):
    contract_id = story.accept()
    return lambda: story.attach(contract_id)


def judged(story: Story, verdict: str) -> Prepared:
    evidence_id = story.attach(story.accept())
    line = {"name": "exists", "verdict": verdict, "detail": f"The file is {verdict}."}
    return lambda: story.found("record_checks", evidence_id=evidence_id, checks=[line], verdict=verdict)


@case("evidence.checked")
def _(story):
    return judged(story, "unverified")


@case("evidence.verified")
def _(story):
    return judged(story, "verified")


@case("evidence.rejected")
def _(story):
    return judged(story, "rejected")


@case("evidence.stale")
def _(story):
    return judged(story, "stale")


@case("summary.created")
def _(story):
    wish = {"node": "alice", "summary": {"node": "alice"}, "text": "status: recording"}
    return lambda: story.give("summarize_session", story.who.alice, **wish)


def test_every_event_has_a_case_or_a_reason_why_no_page_shows_it():
    assert set(CASES) | set(NOT_SHOWN) == set(EVENTS)
    assert not set(CASES) & set(NOT_SHOWN)


@pytest.mark.parametrize("event_type", CASES)
def test_old_pages_with_the_regions_that_the_frame_names_equal_fresh_pages_and_did_change(event_type, clock):
    story = Story()
    step = CASES[event_type](story)
    clock.move(300)
    paths = [*story.views, "/"]
    old = {path: page(path) for path in paths}
    parts = {path: regions(old[path]) for path in paths}
    before = Event.objects.count()
    step()
    events = list(Event.objects.filter(position__gt=before))
    assert event_type in [event.type for event in events]
    changed = False
    for path in paths:
        fresh = page(path)
        assert refetched(old[path], parts[path], story.board_id, events) == fresh, path
        changed = changed or fresh != old[path]
    assert changed, f"no page shows {event_type}"


def test_every_noun_of_an_event_says_what_it_changes_and_every_region_can_be_named():
    """A noun that no table has would change everything; that is for events of a newer version."""
    nouns = {event_type.split(".")[1] for event_type in EVENTS}
    for table, every, shown in (
        (live.REGIONS, live.BOARD_ALL, region_views.BOARD_REGIONS),
        (live.HOME_REGIONS, live.HOME_ALL, region_views.HOME_REGIONS),
    ):
        assert set(table) == nouns
        assert set(every) == set(shown) == {name for names in table.values() for name in names}
    assert live.changed(["agentlink.unheard.of"]) == live.BOARD_ALL
    assert live.changed_at_home(["agentlink.unheard.of"]) == live.HOME_ALL
    assert set(live.PRESENCE_REGIONS) == {name for name, reads in region_views.READS.items() if "presence" in reads}
    assert set(live.WAITING_REGIONS) == {name for name, reads in region_views.READS.items() if "waiting" in reads}


def test_the_comparison_catches_a_frame_that_forgets_a_region(monkeypatch, clock):
    """A planted bug: a frame that leaves the contracts out leaves the old ones on the page."""
    story = Story()
    old = page(story.url)
    parts = regions(old)
    before = Event.objects.count()
    story.propose()
    events = list(Event.objects.filter(position__gt=before))
    assert refetched(old, parts, story.board_id, events) == page(story.url)
    monkeypatch.setitem(live.REGIONS, "contract", ("needs", "choices"))
    assert refetched(old, parts, story.board_id, events) != page(story.url)


def test_the_comparison_catches_a_region_that_forgets_to_look_at_the_log(monkeypatch):
    """A planted bug: with a cache key that has no revision, a proposed contract changes no page."""
    monkeypatch.setattr(region_views, "KEPT", Kept(1_000_000))
    story = Story()
    with monkeypatch.context() as patch:
        patch.setattr(region_views, "_key", lambda asked: f"{asked.name}|{asked.current}|{asked.board is None}")
        old = page(story.url)
        story.propose()
        assert page(story.url) == old
    assert page(story.url) != old


def test_more_than_a_hundred_messages_load_above_on_demand(clock):
    story = Story()
    for number in range(105):
        clock.move(4)
        story.send(content=f"message number {number}.", type="task_update")
    shown = text(get(f"{story.url}regions/messages"))
    assert "message number 5." in shown and "message number 4." not in shown and "Older messages (5)" in shown
    more = text(get(f"{story.url}regions/messages?window=200"))
    assert "message number 0." in more and "Older messages" not in more
    assert f'hx-get="{story.url}regions/messages?window=200"' in more, "the wider region keeps fetching itself as wide"


def test_a_long_message_is_shown_in_part_and_whole_on_demand():
    story = Story()
    message_id = story.send(content="a " * 3000 + "the end")
    shown = text(get(f"{story.url}regions/messages"))
    assert "the end" not in shown and "more characters" in shown
    assert "the end" in text(get(f"{story.url}messages/{message_id}"))
