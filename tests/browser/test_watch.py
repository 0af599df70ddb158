"""The checker is checked: a journey that breaks a rule is noticed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import log_in
from tests.browser.desk import Desk
from tests.browser.watch import Watch

pytestmark = pytest.mark.browser

FAULTS: dict[str, tuple[str, str]] = {
    "inline script": ("() => { document.body.append(Object.assign(document.createElement('script'), {text: '1'})); }",
                      "policy violated: script-src-elem by inline"),
    "inline handler": ("() => { document.body.innerHTML += '<b onclick=\"1\">x</b>'; }",
                       "policy violated: script-src-attr by inline"),
    "style attribute": ("() => { document.body.innerHTML += '<b style=\"color: red\">x</b>'; }",
                        "policy violated: style-src-attr by inline"),
    "another host": ("() => fetch('http://canary.invalid/x').catch(() => {})",
                     "policy violated: connect-src by http://canary.invalid/x"),
    "foreign picture": ("() => { new Image().src = 'http://canary.invalid/x.png'; }",
                        "policy violated: img-src by http://canary.invalid/x.png"),
    "page error": ("() => { setTimeout(() => { throw new Error('it broke'); }); }", "page error: it broke"),
    "dialog": ("() => { setTimeout(() => alert('hello')); }", "dialog: hello"),
}  # fmt: skip


@pytest.fixture
def watched(chromium: Browser, desk: Desk) -> Callable[[], tuple[Page, Watch]]:
    def new() -> tuple[Page, Watch]:
        context = chromium.new_context()
        watch = Watch(context, desk.server.host)
        page = context.new_page()
        log_in(page, desk)
        watch.check()
        return page, watch

    return new


@pytest.mark.parametrize("fault", FAULTS)
def test_a_journey_that_breaks_a_rule_is_noticed(watched: Callable[[], tuple[Page, Watch]], fault: str) -> None:
    page, watch = watched()
    script, expected = FAULTS[fault]
    page.evaluate(script)
    for _ in range(400):
        if any(expected in found for found in watch.faults):
            break
        page.wait_for_timeout(50)
    assert any(expected in found for found in watch.faults), watch.faults
    with pytest.raises(AssertionError):
        watch.check()
    page.context.close()
