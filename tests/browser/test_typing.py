"""What a person is doing survives whatever arrives meanwhile: text, focus, caret, scroll position, open details."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.desk import Desk
from tests.browser.panel import card, message, need, open_board, stayed, stays, unfold
from tests.browser.writers import BEFORE, SIXTY

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

NODES = ("alice", "bob", "carol", "dave", "erin", "frank")
TEXT = "Five seconds of pattern A, while everybody else keeps writing on this board"
MIDDLE = "contract 6 of before"


def composer(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Messages").get_by_role("textbox", name="Message")


def reason(page: Page) -> Locator:
    return card(page, MIDDLE).get_by_role("textbox", name="Reason")


def objective(page: Page) -> Locator:
    return page.locator("#propose").get_by_role("textbox", name="Objective")


@dataclass(frozen=True)
class Place:
    """Where a person types: how to open it, its input, and what must not move on the screen meanwhile."""

    opened: Callable[[Page], object]
    input: Callable[[Page], Locator]
    steady: Callable[[Page], Locator]


def open_form(page: Page) -> None:
    page.get_by_role("main").get_by_role("button", name="New contract").first.click()


PLACES = {
    "composer": Place(lambda page: None, composer, lambda page: message(page, "note 5 of before")),
    "reject-reason": Place(lambda page: unfold(card(page, MIDDLE), "Reject"), reason, lambda page: card(page, MIDDLE)),
    "new-contract": Place(open_form, objective, objective),
}


@pytest.mark.parametrize("name", PLACES)
def test_what_is_typed_survives_sixty_events_by_another_process(desktop: Page, desk: Desk, name: str) -> None:
    page, place = desktop, PLACES[name]
    nodes = [f"{node}-{name}" for node in NODES]
    desk.shell.register(nodes)
    board = desk.board(f"Typing in the {name}", *nodes)
    before = desk.writes(BEFORE, board, *nodes)
    assert before.communicate()[1] == ""
    open_board(page, board)
    stays(page)
    rules = card(page, MIDDLE).locator("details", has_text="1 allowed action")
    rules.locator("summary").click()
    place.opened(page)
    place.steady(page).scroll_into_view_if_needed()
    place.input(page).press_sequentially("> ")
    top = top_of(place.steady(page))

    other = desk.writes(SIXTY, board, *nodes)
    while other.poll() is None:
        page.keyboard.type(f"{TEXT}. ", delay=20)
    assert other.communicate()[1] == ""
    expect(page.get_by_role("main")).to_contain_text("6 more")  # the new contracts are on the lane's next page
    expect(message(page, "note 60 of sixty")).to_be_attached()
    expect(need(page, "blocker 53 of sixty")).to_be_attached()

    written = place.input(page).input_value()
    assert written.count(TEXT) >= 1
    assert written == "> " + f"{TEXT}. " * written.count(TEXT)
    expect(place.input(page)).to_be_focused()
    page.keyboard.type("End")
    expect(place.input(page)).to_have_value(written + "End")
    expect(rules.get_by_text("look at x")).to_be_attached()
    expect(rules).to_have_attribute("open", "")
    assert abs(top_of(place.steady(page)) - top) <= 1
    assert stayed(page)


def top_of(found: Locator) -> float:
    box = found.bounding_box()
    assert box is not None
    return box["y"]
