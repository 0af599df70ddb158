"""What agents write stays text, and what we write in templates and scripts stays within the policy."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from boards.texts import visible
from tests.boards.pages import PERSON, Skeleton, Story, get, text
from tests.boards.pages import page_clock as page_clock
from tests.people import done, people

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("page_clock")]
ROOT = Path(__file__).resolve().parents[2]


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "</textarea><script>alert(1)</script>",
    "</title><style>*{display:none}</style>",
    "</bdi></article><div id=region-needs hx-swap-oob=true>",
    '<b hx-get="/boards/new" hx-trigger="load">',
    "<template><hx-partial hx-target=#main>",
    "<hx-partial hx-target='#main'>gone</hx-partial>",
    "{{ board.title }}{% now 'Y' %}",
    "javascript:alert(1)",
    "[x](javascript:alert(1)) ![y](http://canary.invalid/?d=1)",
    "<!-- --><![CDATA[ x ]]>",
    "&lt;script&gt;&#60;script&#62;",
    "-->'\"`><iframe srcdoc='<script>alert(1)</script>'>",
    "<a href=//canary.invalid>click</a><form action=//canary.invalid>",
    "<math><mtext><table><mglyph><style><img src onerror=alert(1)>",
    "user\u202egnp.exe \u2066x\u2069 \u200bzero\ufeff \U000e0041tag",
    "esc \x1b[2J\x1b]52;c;x\x07 back\x08 nul-free \x9b",
    "line\u2028sep\u2029arators\x85and\rreturns",
]
RAW = "\x1b\x07\x08\x9b\x85\u202e\u2066\u2069\u200b\ufeff\u2028\u2029\U000e0041"


def written_everywhere(said: str) -> dict[str, str]:
    """Pages of a board where agents have written one text into every field that they can."""
    story = Story()
    alice = story.who.alice
    done("update_board", story.who.human, board_id=story.board_id, title="Light", objective=said)
    done("update_node", alice, node_id="alice", role=said, capabilities=[said])
    lists: dict[str, Any] = {name: [said] for name in ("allowed_actions", "stop_conditions", "required_evidence")}
    wish = {"contract_id": "run-1", "objective": said, "owners": {"alice": [said], "bob": [said]}, **lists}
    story.give("propose_contract", alice, tasks=[said, said], **wish)
    story.give("propose_contract", alice, **{**wish, "contract_id": "run-2"})
    story.give("accept_contract", story.who.bob, contract_id="run-1")
    story.give("reject_contract", story.who.bob, contract_id="run-2", reason=said)
    story.give("claim_task", alice, task_id="run-1.1")
    file = {"root": "project", "path": said, "sizeBytes": 3}
    # An event's pointer takes no free text: its type and time fit a pattern, its session is a member's.
    bundle = {"contract_id": "run-1", "requirement_id": "proof-1", "evidenceKind": "file", "summary": said, "url": said}
    given = story.give("attach_evidence", alice, artifacts=[file], **bundle)
    check = {"name": said, "verdict": "rejected", "detail": said}
    evidence_id = given.extra["evidenceId"]
    story.found("record_checks", evidence_id=evidence_id, checks=[check], verdict="rejected")
    opened = {"contract_id": "run-1", "summary": said, "evidence_ids": [evidence_id]}
    blocker = story.give("open_blocker", alice, **opened)
    story.give("open_blocker", alice, stop_condition_id="stop-1", **opened)
    story.give("resolve_blocker", story.who.human, blocker_id=blocker.extra["blockerId"], resolution=said)
    to = [story.who.human.node_id, "bob"]
    story.give("send_message", alice, to=to, content=said, requires_ack=True, refs=[{"file": said}])
    story.send(content="Please")
    story.give("acknowledge_message", alice, message_id=story.message_id, answer="blocked", note=said)
    story.send(content="Again, please")
    story.step("undeliverable", reason=said)
    story.give("summarize_session", alice, node="alice", summary={}, text=said)
    paths = [*story.views, "/", "/boards/new", f"/boards/{story.board_id}/attach?contract=run-1"]
    return {path: text(get(path)) for path in paths}


@cache
def plain() -> dict[str, list[tuple[str, ...]]]:
    """The same pages with a harmless text, as a browser builds them."""
    with transaction.atomic():
        pages = {path: Skeleton(html).parts for path, html in written_everywhere("quite harmless").items()}
        transaction.set_rollback(True)
    return pages


@pytest.mark.parametrize("said", HOSTILE, ids=range(len(HOSTILE)))
def test_what_agents_write_adds_no_element_and_no_attribute(said):
    expected = plain()
    for path, html in written_everywhere(said).items():
        assert Skeleton(html).parts == expected[path], path
        assert not set(RAW) & set(html), "an invisible character came through"


def test_the_checker_sees_an_element_that_a_template_did_not_write():
    """The checker is checked: text that is marked as safe must be noticed."""
    assert Skeleton("<p>&lt;b&gt;</p>").parts == Skeleton("<p>x</p>").parts
    assert Skeleton("<p><b></p>").parts != Skeleton("<p>x</p>").parts
    assert Skeleton("<p title='x' onclick='y'></p>").parts != Skeleton("<p title='x'></p>").parts


def test_invisible_characters_get_a_name_and_visible_ones_stay():
    assert visible("a\u202eb") == "a\u27e6U+202E\u27e7b"
    assert visible("\x1b[2J") == "\u241b[2J"
    assert visible("\x7f") == "\u2421"
    assert visible("tab\tand\nline, Zoë, 日本語 🙂") == "tab\tand\nline, Zoë, 日本語 🙂"
    assert visible("\ud800").encode() == "\u27e6U+D800\u27e7".encode()


def test_agents_text_is_out_of_reach_of_htmx():
    story = Story()
    story.send(content="<b hx-get=/>")
    shown = text(get(f"{story.url}regions/messages"))
    assert "<bdi hx-ignore>&lt;b hx-get=/&gt;</bdi>" in shown


TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
FORBIDDEN = {
    "a style attribute": r"\sstyle\s*=",
    "a style element": r"<style\b",
    "an inline script": r"<script\b(?![^>]*\bsrc=)",
    "an event attribute": r"""[\s"']on[a-z]+\s*=""",
    "htmx that needs eval": r"hx-on|hx-vals=.js:|[\"' ]js:|javascript:",
    "text marked as safe": r"\|\s*safe\b|autoescape\s+off|\|\s*safeseq\b",
    "another host": r"(?:src|href|action|hx-\w+)=[\"'](?:https?:)?//",
    "an attribute without quotes": r"<[a-z][^<>]*\s(?:href|src|value|id|class|name|title)=\{\{",
}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT / "templates")))
def test_a_template_is_short_and_has_nothing_that_the_policy_forbids(template):
    source = template.read_text()
    assert len(source.splitlines()) < 120
    for what, pattern in FORBIDDEN.items():
        assert not re.search(pattern, source), what


def test_our_own_script_stays_small_and_needs_no_eval():
    sources = [path.read_text() for path in sorted((ROOT / "static/js").glob("*.js"))]
    assert sum(len(source.splitlines()) for source in sources) < 200
    for source in sources:
        assert not re.search(r"\beval\b|new Function|innerHTML|document\.write|https?://", source)


def test_every_input_of_a_page_has_a_label_and_every_id_is_there_once():
    story = Story()
    contract_id, _ = story.claim()
    story.attach(contract_id)
    story.send()
    for path in [*story.views, "/", "/boards/new", f"/boards/{story.board_id}/attach"]:
        html = text(get(path))
        ids = re.findall(r'\sid="([^"]+)"', html)
        assert sorted(ids) == sorted(set(ids)), path
        for tag in re.findall(r"<(?:input|select|textarea)\b[^>]*>", html):
            if 'type="hidden"' in tag or "aria-label=" in tag:
                continue
            named = re.search(r'id="([^"]+)"', tag)
            assert named and f'for="{named[1]}"' in html, (path, tag)


def test_the_theme_that_was_chosen_is_rendered_by_the_server(client):
    people()
    client.cookies["agentlink_theme"] = "dark"
    assert '<html lang="en" class="dark">' in client.get("/", **PERSON).content.decode()
    client.cookies["agentlink_theme"] = '"><script>'
    assert '<html lang="en">' in client.get("/", **PERSON).content.decode()
