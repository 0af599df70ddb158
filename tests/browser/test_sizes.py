"""On a phone, in both themes: nothing has to be pushed sideways, whatever long words agents write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Person
from tests.browser.desk import LIGHT, RECORDER, Desk
from tests.browser.panel import expect_live, open_board

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

LONG = "recordings/" + "event-camera-take-" * 12 + "001.raw"
WORD = "W" * 120
SIZES = {"phone": {"width": 360, "height": 740}, "tablet": {"width": 820, "height": 1180}}
VIEWS = ("contracts", "evidence", "blockers", "ownership")


@pytest.fixture(scope="module")
def full(desk: Desk) -> str:
    """A board with one of everything, each with words that cannot be broken anywhere."""
    board = desk.board(f"Title {WORD[:80]}", RECORDER, LIGHT)
    contract = desk.contract(
        board, f"Objective {WORD}", "--owner", f"{LIGHT}={LONG}", "--owner", f"{RECORDER}=/dev/{WORD}", "--id", "long",
        "--requires", f"proof {WORD}", "--allow", f"read {LONG}", "--stop", f"stop {WORD}", "--mutating",
    )  # fmt: skip
    for node in (LIGHT, RECORDER):
        desk.shell.ok("contract", "accept", board, contract, "--for", node)
    desk.shell.ok("claim", board, contract, "--for", LIGHT)
    desk.writes_file(LIGHT, LONG, f"{WORD}\n")
    place = desk.project(LIGHT) / LONG
    about = ("--contract", contract, "--requirement", "proof-1", "--summary", f"Shows {WORD}")
    desk.shell.ok("evidence", "attach", board, *about, "--file", str(place))
    desk.shell.ok("evidence", "attach", board, *about, "--url", f"http://127.0.0.1:9/{WORD}")
    desk.shell.ok("block", board, "--contract", contract, "--summary", f"Blocked by {WORD}")
    desk.shell.ok("send", board, LIGHT, f"{WORD} {LONG}", "--contract", contract, "--priority", "asap")
    desk.shell.ok("send", board, desk.human, f"{WORD} {LONG}", "--type", "permission_request", "--as", LIGHT)
    return board


def pages_of(board: str) -> list[str]:
    attach = f"/boards/{board}/attach?contract=long&session={LIGHT}"
    return ["/", "/boards/new", *(f"/boards/{board}/?view={view}" for view in VIEWS), attach, "/boards/none/"]


# First in this file: no board is there yet.
def test_the_first_visit_fits_on_a_phone(person: Person) -> None:
    page = person(viewport=SIZES["phone"])
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        expect(page.get_by_role("button", name="Create a board with 0 sessions")).to_be_visible()
        assert too_wide(page) == []
        page.get_by_role("button", name="Try the demo board instead").click()
        expect(page.locator("[popover]:popover-open")).to_contain_text("make demo")
        assert too_wide(page) == []
        page.keyboard.press("Escape")
    wide = "() => { document.querySelector('main').append(Object.assign(document.createElement('hr'), {id: 'w'})); "
    page.evaluate(wide + "document.querySelector('#w').style.width = '400px'; }")
    assert too_wide(page) != [], "what is too wide was not noticed"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_the_screen(
    person: Person, desk: Desk, full: str, allowed: list[str], scheme: str, size: str
) -> None:
    allowed.append("status of 404")
    page = person(viewport=SIZES[size], color_scheme=scheme)
    wide: dict[str, list[str]] = {}
    for path in pages_of(full):
        page.goto(desk.server.origin + path)
        expect(page.get_by_role("heading").first).to_be_visible()
        wide[path] = too_wide(page)
    page.goto(desk.link)
    expect(page.get_by_role("button", name="Log in on this browser")).to_be_visible()
    wide["/login"] = too_wide(page)
    open_board(page, full)
    for name in ("New contract", "Close board", "Members: 3", "Summarize for peers"):
        with opened(page, name):
            wide[name] = too_wide(page)
    assert {name: found for name, found in wide.items() if found} == {}


def too_wide(page: Page) -> list[str]:
    """What reaches over the right edge, when the page (or an open sheet) can be pushed sideways."""
    script = """() => {
      const sheet = document.querySelector("[popover]:popover-open");
      const whole = document.documentElement;
      if (whole.scrollWidth <= innerWidth && (!sheet || sheet.scrollWidth <= sheet.clientWidth)) return [];
      const edge = sheet ? sheet.getBoundingClientRect().right : innerWidth;
      const all = [...(sheet || document.body).querySelectorAll("*")];
      const over = all.filter((one) => one.getBoundingClientRect().right > edge + 1);
      return [`${whole.scrollWidth} of ${innerWidth}`, ...over.slice(0, 8).map((one) => one.outerHTML.slice(0, 120))];
    }"""
    found = page.evaluate(script)
    assert isinstance(found, list)
    return found


@contextmanager
def opened(page: Page, name: str) -> Iterator[None]:
    page.get_by_role("main").get_by_role("button", name=name).first.click()
    sheet = page.locator("[popover]:popover-open")
    expect(sheet).to_be_visible()
    yield
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()


def test_the_theme_that_was_chosen_stays(person: Person, full: str) -> None:
    """The button wins over the system's theme, at once and after a reload, with no flash in between."""
    page = person(color_scheme="light")
    open_board(page, full)
    scheme = "() => getComputedStyle(document.documentElement).colorScheme"
    background = "() => getComputedStyle(document.querySelector('header')).backgroundColor"
    bright = page.evaluate(background)
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate(scheme) == "dark"
    dark = page.evaluate(background)
    assert dark != bright
    page.reload()
    expect_live(page)
    assert page.evaluate(background) == dark
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate(background) == bright
