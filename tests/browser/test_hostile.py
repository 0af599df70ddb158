"""Whatever agents write is text: nothing of it runs, fetches, opens, replaces or hides anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Person
from tests.browser.desk import LIGHT, RECORDER, SUPERVISOR, Desk
from tests.browser.panel import card, expect_live, message, need, open_board, stayed, stays

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

PAYLOADS = {
    "script": "<script>alert(1)</script>",
    "picture": "<img src=x onerror=alert(2)>",
    "foreign-picture": "<img src=//canary.invalid/hostile.png>",
    "vector": '"><svg onload=alert(3)><a xlink:href=javascript:alert(4)>',
    "attribute": "' autofocus onfocus='alert(5)",
    "get": '<b hx-get="/hostile" hx-trigger="load">get</b>',
    "post": '<b data-hx-post="/hostile" data-hx-trigger="load">post</b>',
    "handler": '<b hx-on:load="alert(6)" hx-on::after:init="alert(7)">on</b>',
    "socket": '<b hx-ws:connect="/hostile">ws</b>',
    "out-of-band": '<section id="region-needs" hx-swap-oob="true">taken over</section>',
    "template": '<template><hx-partial hx-target="#main">taken over</hx-partial></template>',
    "partial": '<hx-partial hx-target="#region-head" hx-swap="innerHTML">taken over</hx-partial>',
    "closing": "</bdi></article></section></template></textarea><h1>taken over</h1>",
    "frame": "<iframe srcdoc='<script>parent.alert(8)</script>'></iframe>",
    "form": "<form action=//canary.invalid/hostile><button form=composer>Send to peer</button></form>",
    "style": "<style>*{display:none}</style><link rel=stylesheet href=//canary.invalid/hostile.css>",
    "base": "<base href=//canary.invalid/><meta http-equiv=refresh content='0;url=/hostile'>",
    "braces": "{{ 7*7 }}{% load x %}${alert(9)}",
}
BIDI = "recording\u202egnp.exe\u2066 \u200bdone\u2069 blank\u2800end"
SHOWN = "recordinggnp.exe done blank⟦U+2800⟧end"
"""What turns text around is not even stored, other line ends are stored as lines; what else cannot be seen is named."""
EVERYTHING = " ".join([*PAYLOADS.values(), BIDI, "line\u2028end"])
VISIBLE = " ".join([*PAYLOADS.values(), SHOWN, "line end"])


@pytest.fixture(scope="module")
def board(desk: Desk) -> str:
    """A board on which every text that an agent may choose is hostile."""
    rewrite(desk.folder(LIGHT) / "state.json", goal=EVERYTHING, title=EVERYTHING)
    board = desk.board(f"{PAYLOADS['out-of-band']} {BIDI}", RECORDER, LIGHT, SUPERVISOR)
    contract = desk.contract(
        board, EVERYTHING, "--owner", f"{LIGHT}={PAYLOADS['picture']},{PAYLOADS['get']}", "--id", "hostile",
        "--requires", EVERYTHING, "--allow", EVERYTHING, "--stop", EVERYTHING,
    )  # fmt: skip
    desk.shell.ok("contract", "accept", board, contract, "--for", LIGHT)
    desk.shell.ok("claim", board, contract, "--for", LIGHT)
    file = desk.writes_file(LIGHT, f"{PAYLOADS['attribute']} <b>.html", f"<h1>taken over</h1>{EVERYTHING}\n")
    about = ("--contract", contract, "--requirement", "proof-1", "--summary", EVERYTHING)
    desk.shell.ok("evidence", "attach", board, *about, "--file", str(file), "--as", LIGHT)
    desk.shell.ok("evidence", "attach", board, *about, "--url", "javascript:alert(10)//http://x", "--as", LIGHT)
    return board


def rewrite(path: Path, **changes: str) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def alive(page: Page) -> list[str]:
    """Elements that no template of ours makes, and characters that turn text around."""
    script = """() => {
      const made = document.querySelectorAll("bdi *, script:not([src]), iframe, style, base, template, [autofocus]");
      const whole = document.documentElement.outerHTML;
      const turned = whole.match(/.{0,40}[\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f]/g);
      return [...made].map((one) => one.outerHTML.slice(0, 200)).concat(turned || []);
    }"""
    found = page.evaluate(script)
    assert isinstance(found, list)
    return found


def expect_text(place: Locator, text: str) -> None:
    """Shown as it was written, and seen."""
    expect(place.filter(visible=True).first).to_contain_text(text)


def test_what_is_alive_is_noticed(desktop: Page) -> None:
    """The checker is checked."""
    desktop.evaluate("() => { document.querySelector('main').innerHTML += '<bdi><b>x</b></bdi> a\\u202eb'; }")
    assert [one[:8] for one in alive(desktop)][:1] == ["<b>x</b>"]
    assert alive(desktop)[-1].endswith("a\u202e")


def test_what_arrives_live_is_text(desktop: Page, desk: Desk, board: str) -> None:
    """Everything that a session may say to a page that is open already."""
    page = desktop
    open_board(page, board)
    stays(page)
    head = page.get_by_role("heading", level=1)
    expect(head).to_have_text(f"{PAYLOADS['out-of-band']} {SHOWN}")
    desk.shell.ok("send", board, desk.human, f"first {EVERYTHING}", "--as", LIGHT)
    desk.shell.ok("block", board, "--contract", "hostile", "--summary", f"second {EVERYTHING}", "--as", LIGHT)
    desk.shell.ok("contract", "new", board, "--objective", f"third {EVERYTHING}", "--owner", desk.human, "--as", LIGHT)
    expect_text(message(page, "first "), f"first {VISIBLE}")
    expect_text(need(page, "first "), PAYLOADS["script"])
    expect_text(need(page, "second "), PAYLOADS["script"])
    expect_text(card(page, "third "), f"third {VISIBLE}")
    expect_text(card(page, "third "), "Accepted by 0 of 1 owner")
    assert alive(page) == []
    assert stayed(page)


def test_every_view_shows_it_as_text(desktop: Page, desk: Desk, board: str) -> None:
    page = desktop
    for view in ("contracts", "evidence", "ownership", "blockers"):
        open_board(page, board, view)
        expect(page.get_by_role("heading", level=1)).to_contain_text("hx-swap-oob")
        assert alive(page) == []
        if view == "contracts":
            rules = card(page, "1 allowed action").locator("details", has_text="1 allowed action")
            rules.locator("summary").click()
            expect_text(rules, VISIBLE)
        if view == "evidence":
            expect_text(card(page, "<b>.html"), VISIBLE)
            expect_text(card(page, "javascript:alert(10)"), VISIBLE)
            expect(page.get_by_role("link", name="javascript")).to_have_count(0)
        if view == "ownership":
            expect_text(page.get_by_role("cell").filter(has_text="<img src=x onerror"), PAYLOADS["picture"])
    assert alive(page) == []


def test_a_hostile_artifact_is_shown_as_its_source(desktop: Page, desk: Desk, board: str) -> None:
    page = desktop
    page.goto(f"{desk.server.origin}/boards/{board}/attach?contract=hostile&session={LIGHT}")
    listed = page.get_by_role("list", name="Artifacts, newest first").get_by_role("link")
    listed.filter(has_text="<b>.html").first.click()
    expect_live(page)
    expect_text(page.get_by_role("figure"), PAYLOADS["script"])
    expect(page.get_by_role("heading", name="taken over")).to_have_count(0)
    assert alive(page) == []


def test_a_hostile_session_is_listed_as_text(person: Person, desk: Desk, board: str) -> None:
    """Its goal is its title where sessions are chosen; its role comes with its summary."""
    desk.writes(ROLE, LIGHT, EVERYTHING).communicate()
    page = person()
    page.goto(f"{desk.server.origin}/boards/new")
    expect_text(
        page.get_by_role("main").get_by_role("listitem").filter(has_text="arduino-light").first, PAYLOADS["script"]
    )
    assert alive(page) == []
    open_board(page, board, "ownership")
    page.get_by_role("button", name="Summarize for peers").click()
    sheet = page.locator("[popover]:popover-open")
    sheet.get_by_role("combobox", name="Which session").select_option(value=LIGHT)
    sheet.get_by_role("button", name="Summarize for peers").click()
    expect(sheet.get_by_text("applied · revision")).to_be_visible()
    page.keyboard.press("Escape")
    expect_text(
        page.get_by_role("article").filter(has_text="made by"), f"role: {PAYLOADS['script']} {PAYLOADS['picture']}"
    )
    assert alive(page) == []


ROLE = """
import sys
from agentlink_site.client import call
answer = call("POST", "/commands", {"command": "update_node", "nodeId": sys.argv[1], "role": sys.argv[2]})
assert answer[0] == 200, answer[2]
"""
