"""One Chromium for all journeys; a fresh profile, logged in by the link's button, for each."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.desk import Desk
from tests.browser.watch import REFUSED, Watch

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PATIENCE = 20_000
"""Milliseconds until something that must happen is missed; nothing is measured with it."""
Person = Callable[..., Page]


# Not until the end of the session: Playwright's event loop disturbs Django's tests.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    path = os.environ.get("CHROMIUM") or "/usr/bin/chromium"
    with (
        sync_playwright() as playwright,
        closing(playwright.chromium.launch(executable_path=path, args=ARGUMENTS)) as browser,
    ):
        yield browser


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    """The real home with a server, shared by the journeys of one file."""
    with tempfile.TemporaryDirectory(prefix="al-") as folder, Desk(Path(folder)) as running:
        yield running


@pytest.fixture
def allowed() -> list[str]:
    """What the console may say in this journey; a test adds to it what it provokes."""
    return [REFUSED]


@pytest.fixture
def visitor(chromium: Browser, desk: Desk, allowed: list[str]) -> Iterator[Callable[..., BrowserContext]]:
    """Fresh profiles, not logged in; each is watched, and checked at the end."""
    watches: list[Watch] = []
    with ExitStack() as contexts:

        def new(**options: Any) -> BrowserContext:
            context = chromium.new_context(**options)
            contexts.callback(context.close)
            context.set_default_timeout(PATIENCE)
            watches.append(Watch(context, desk.server.host))
            return context

        yield new
        for watch in watches:
            watch.check(*allowed)


@pytest.fixture
def person(visitor: Callable[..., BrowserContext], desk: Desk) -> Person:
    """Somebody who opens a new login link and presses its button: the page after it."""

    def arrive(**options: Any) -> Page:
        page = visitor(**options).new_page()
        log_in(page, desk)
        return page

    return arrive


@pytest.fixture
def desktop(person: Person) -> Page:
    """The person on a desktop."""
    return person(viewport={"width": 1440, "height": 900})


def log_in(page: Page, desk: Desk) -> None:
    """Opens a new login link and presses its button."""
    page.goto(desk.link)
    page.get_by_role("button", name="Log in on this browser").click()
    page.wait_for_url(f"{desk.server.origin}/")
