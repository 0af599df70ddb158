"""Attaching evidence in the panel: what is chosen is seen, attached and checked; what must not be is refused."""

from __future__ import annotations

import re

import pytest

from boards import discovery
from boards.models import Evidence
from tests.boards.pages import Story, get, post, text
from tests.fixtures import unpack

pytestmark = pytest.mark.django_db


@pytest.fixture
def attaching(settings, tmp_path) -> Story:
    """A board with a session of the real home, and a contract that asks for one file."""
    settings.AGINTIFLOW_HOME = unpack(tmp_path).home
    story = Story()
    discovery.scan_once()
    story.give("invite", story.who.human, node="arduino-patch")
    story.accept()
    return story


def test_an_artifact_is_chosen_seen_attached_and_checked(attaching):
    url = f"/boards/{attaching.board_id}/attach"
    shown = text(get(f"{url}?session=arduino-patch&contract=run-1"))
    assert "Final answer" in shown and "Change: patch-target.txt" in shown
    chosen = re.search(r'name="artifact" value="([^"]+)"', shown)
    assert chosen
    wish = {"what": "artifact", "session": "arduino-patch", "artifact": chosen[1], "answers": "run-1/proof-1"}
    answer = text(post(url, summary="It finished", **wish))
    assert "applied · revision" in answer and "session&#x27;s log" in answer
    assert Evidence.objects.get().checks


def test_a_diff_is_coloured_by_class_and_stays_text(attaching):
    base = f"/boards/{attaching.board_id}/attach?session=arduino-patch"
    shown = text(get(base))
    links = re.findall(r'href="(\?[^"]*artifact=[^"]+)".*?<b><bdi hx-ignore>([^<]*)', shown, re.DOTALL)
    diff = next(link for link, title in links if title.startswith("Change: patch-target"))
    page_with_diff = text(get(f"/boards/{attaching.board_id}/attach{diff.replace('&amp;', '&')}"))
    assert '<span class="add">+' in page_with_diff


def test_what_cannot_be_attached_is_refused_with_a_sentence(attaching):
    url = f"/boards/{attaching.board_id}/attach"
    common = {"answers": "run-1/proof-1", "summary": "x"}
    outside = text(post(url, what="file", path="/etc/passwd", **common), 422)
    assert "refused" in outside
    assert "choose the requirement" in text(post(url, what="file", path="x", summary="x"), 422)
    assert "Choose an artifact, a file or a URL" in text(post(url, what="soul", **common), 422)
    assert text(post(url, what="file", path="/etc/passwd", answers="run-1/proof-1", summary=" "), 422)
    foreign = {"session": "kv260-recorder", "artifact": "x"}
    assert "no member" in text(post(url, what="artifact", **foreign, **common), 422)
    assert Evidence.objects.count() == 0


def test_artifact_bytes_are_served_sandboxed_and_only_of_members(attaching):
    shown = text(get(f"/boards/{attaching.board_id}/attach?session=arduino-patch"))
    chosen = re.search(r'name="artifact" value="([^"]+)"', shown)
    assert chosen
    url = f"/boards/{attaching.board_id}/artifact"
    response = get(f"{url}?session=arduino-patch&artifact={chosen[1]}")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.headers["Content-Disposition"].startswith("attachment")
    assert response.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert get(f"{url}?session=kv260-recorder&artifact={chosen[1]}").status_code == 404
    assert get(f"{url}?session=arduino-patch&artifact=none").status_code == 404
