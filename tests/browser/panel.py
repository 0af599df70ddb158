"""The panel as a person works it: by what it says, not by how it is built."""

from __future__ import annotations

import re
from collections.abc import Mapping

from playwright.sync_api import Locator, Page, expect


def open_board(page: Page, board: str, view: str = "") -> None:
    """The board's page, when it is live."""
    origin = page.url.split("/", 3)[:3]
    page.goto("/".join([*origin, "boards", board, f"?view={view}" if view else ""]))
    expect_live(page)


def expect_live(page: Page, revision: int | None = None) -> None:
    """The chip says that what is seen is current (of this very revision)."""
    words = re.compile(rf"^Live · revision {revision if revision is not None else '[0-9]+'}$")
    expect(page.get_by_role("banner").get_by_text(words)).to_be_visible()


def card(page: Page, text: str) -> Locator:
    """The contract, evidence or blocker card that says this."""
    return page.get_by_role("main").get_by_role("article").filter(has_text=text)


def message(page: Page, text: str) -> Locator:
    """The message card that says this."""
    return page.get_by_role("complementary", name="Messages").get_by_role("article").filter(has_text=text)


def step(name: str) -> re.Pattern[str]:
    """A proven step of a message, with its time."""
    return re.compile(rf"{name} \d\d:\d\d")


def need(page: Page, text: str) -> Locator:
    """The line of "Needs you" that says this."""
    return page.get_by_role("region", name="Needs you").get_by_role("listitem").filter(has_text=text)


def unfold(place: Locator, label: str) -> Locator:
    """Opens the few inputs behind a button of a card."""
    summary = place.page.locator("summary").get_by_text(label, exact=True)
    form = place.locator("details").filter(has=summary)
    form.locator(summary).click()
    expect(form).to_have_attribute("open", "")
    return form


def fill(form: Locator, fields: Mapping[str, str | bool]) -> None:
    """Fills inputs by their labels: texts, choices, and checkboxes."""
    for label, value in fields.items():
        if isinstance(value, bool):
            form.get_by_role("checkbox", name=label).set_checked(value)
        elif form.get_by_role("combobox", name=label, exact=True).count():
            form.get_by_role("combobox", name=label, exact=True).select_option(label=value)
        else:
            form.get_by_role("textbox", name=label, exact=True).fill(value)


def act(place: Locator, label: str, **fields: str | bool) -> None:
    """A button with inputs: opens them, fills them, presses it."""
    form = unfold(place, label)
    fill(form, {name.replace("_", " "): value for name, value in fields.items()})
    form.get_by_role("button", name=label, exact=True).click()


def stays(page: Page) -> None:
    """From now on :func:`stayed` tells whether this very document is still there."""
    page.evaluate("() => { window.stayed = true; }")


def stayed(page: Page) -> bool:
    return page.evaluate("() => window.stayed === true") is True
