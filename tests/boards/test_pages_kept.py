"""What rings which page, and what is rendered again: only what changed, once for everybody, and bounded."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from boards import live, log, times
from boards.models import Board, Delivery, Outbox
from boards.queries import pages
from boards.queries.pages import snapshot
from boards.views import regions as region_views
from boards.views.kept import Kept
from peers.models import Session
from tests.boards.pages import Story, get, text
from tests.boards.pages import page_clock as page_clock
from tests.people import done

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("page_clock")]


def heard(monkeypatch: pytest.MonkeyPatch, *topics: str) -> list[dict[str, Any]]:
    """The frames that sockets of these topics get from now on."""
    frames: list[dict[str, Any]] = []

    def ring(found: dict[str, str]) -> None:
        frames.extend(json.loads(frame) for topic, frame in found.items() if topic in topics)

    monkeypatch.setattr(live.registry, "ring", ring)
    monkeypatch.setattr(live.registry, "topics", lambda: list(topics))
    return frames


def test_a_frame_names_the_board_and_the_home_regions_each_to_its_own_sockets(monkeypatch):
    story = Story()
    frames = heard(monkeypatch, story.board_id, live.HOME)
    position = log.last_position()
    story.send()
    live._announce(position)
    board, home = frames
    assert (board["board"], board["regions"]) == (story.board_id, ["messages", "needs"])
    assert (home["board"], home["regions"]) == (None, ["needs", "overview", "boards", "count"])


def test_a_new_name_rings_every_board_that_somebody_looks_at(monkeypatch):
    story = Story()
    frames = heard(monkeypatch, story.board_id, live.HOME)
    position = log.last_position()
    done("update_node", story.who.alice, node_id="alice", name="Alice A")
    live._announce(position)
    assert {frame["board"]: frame["regions"] for frame in frames} == {
        story.board_id: list(live.BOARD_ALL),
        None: list(live.HOME_ALL),
    }


def test_a_postponed_delivery_rings_its_board_once_and_the_page_says_why_it_waits(monkeypatch, clock):
    story = Story()
    story.send(to=["alice"])
    frames = heard(monkeypatch, story.board_id)
    known = live._announce_waiting(None)
    url = f"{story.url}regions/messages"
    before = get(url).headers["ETag"]
    key = Delivery.objects.get(message_id=story.message_id).key
    Outbox.objects.create(key=key, attempts=1, next_at=clock(), last_reason="The inbox is locked.", noted_at=clock())
    known = live._announce_waiting(known)
    known = live._announce_waiting(known)
    assert [(frame["board"], frame["regions"]) for frame in frames] == [(story.board_id, ["messages"])]
    assert "The inbox is locked." in text(get(url, if_none_match=before))
    Outbox.objects.update(last_reason="The disk is full.", noted_at=clock() + timedelta(seconds=1))
    live._announce_waiting(known)
    assert len(frames) == 2 and "The disk is full." in text(get(url))


def test_a_working_session_changes_only_what_tells_who_is_there():
    story = Story()
    Session.objects.create(key="agintiflow:s-1", session_id="s-1", source="agintiflow", observed_at=times.now())
    board, at = Board.objects.get(board_id=story.board_id), pages.present()

    def etags() -> dict[str, str]:
        asked = [region_views.Asked(name, board, at) for name in region_views.BOARD_REGIONS]
        asked += [region_views.Asked(name, None, at) for name in region_views.HOME_REGIONS]
        return {f"{one.board}-{one.name}": region_views.region(one).etag for one in asked}

    before = etags()
    Session.objects.update(observed_at=times.now() + timedelta(seconds=1))
    changed = {name.rpartition("-")[2] for name, etag in etags().items() if etag != before[name]}
    assert changed == set(live.PRESENCE_REGIONS)


def test_a_page_reads_what_its_regions_depend_on_once(django_assert_max_num_queries):
    story = Story()
    get(story.url)
    with django_assert_max_num_queries(16):
        get(story.url)
    with django_assert_max_num_queries(4):
        get(f"{story.url}regions/contracts")


def test_an_unchanged_region_is_not_sent_again_and_a_changed_one_is(clock):
    story = Story()
    url = f"{story.url}regions/contracts"
    first = get(url)
    assert first.headers["Cache-Control"] == "private, no-cache"
    etag = first.headers["ETag"]
    again = get(url, if_none_match=etag)
    assert (again.status_code, again.content) == (304, b"")
    clock.move(21)
    assert get(url, if_none_match=etag).status_code == 200, "ages move on"
    etag = get(url).headers["ETag"]
    story.propose()
    assert "run-1" in text(get(url, if_none_match=etag))


def test_a_region_is_rendered_once_however_many_people_watch(monkeypatch):
    story = Story()
    rendered = []
    real = region_views.render_to_string
    monkeypatch.setattr(region_views, "render_to_string", lambda *a, **k: (rendered.append(a[0]), real(*a, **k))[1])
    for _ in range(5):
        get(f"{story.url}regions/messages")
    assert rendered == ["boards/regions/messages.html"]


def test_a_message_is_rendered_again_only_when_something_happens_to_it(monkeypatch, clock):
    story = Story()
    for number in range(3):
        clock.move(4)
        story.send(content=f"message number {number}.")
    rendered: list[str] = []
    real = region_views.render_to_string
    monkeypatch.setattr(region_views, "render_to_string", lambda *a, **k: (rendered.append(a[0]), real(*a, **k))[1])
    url = f"{story.url}regions/messages"

    def cards() -> int:
        rendered.clear()
        get(url)
        return rendered.count("boards/_message_card.html")

    assert cards() == 3
    clock.move(25)
    assert cards() == 0, "a message shows the time of day, which stays"
    story.step("handed", adapter="agintiflow")
    assert cards() == 1
    story.send(content="one more")
    assert cards() == 1
    done("update_node", story.who.alice, node_id="alice", name="Alice A")
    assert cards() == 4, "every message names its recipient"


def test_what_is_kept_in_memory_stays_bounded(monkeypatch):
    story = Story()
    monkeypatch.setattr(region_views, "KEPT", Kept(2500))
    for window in range(100, 1000, 100):
        get(f"{story.url}regions/messages?window={window}")
    kept = region_views.KEPT
    assert 0 < len(kept) < 9 and 0 < kept.characters <= 2500
    assert kept.get("large", lambda: "x" * 3000) == "x" * 3000
    assert (len(kept), kept.characters) == (0, 0)


def test_a_lease_never_shows_more_than_is_left(clock):
    """A page stands for 20 s: right after a claim of 30 min it may not say 30 min and some seconds."""
    clock.frozen = snapshot.present() + timedelta(seconds=5)
    story = Story()
    story.claim()
    assert "29 min 45 s left" in text(get(story.url))
    clock.move(14)
    assert "29 min 45 s left" in text(get(story.url))
    clock.move(1)
    assert "29 min 25 s left" in text(get(story.url))
