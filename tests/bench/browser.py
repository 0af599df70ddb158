"""From a commit in another process to changed text in Chromium, with one tab that shows the board."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import time
from contextlib import closing

from playwright.sync_api import Page, sync_playwright

from tests.bench.committer import Committer
from tests.bench.desk import Desk, report
from tests.bench.figures import Figure, percentile, spread
from tests.site.servers import Server

MOST_MS = 100.0
PATIENCE = 20_000
"""Milliseconds."""
REST = (0.2, 0.5)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

_marks = itertools.count(1)
WATCH = """() => {
  // Says when each marked text is in the page; a mutation is told in the task that made it.
  const told = new Set();
  new MutationObserver(() => {
    for (const found of document.getElementById("region-messages").textContent.matchAll(/mark-\\d+-/g)) {
      if (told.has(found[0])) continue;
      told.add(found[0]);
      console.debug(`${found[0]} ${Date.now()}`);
    }
  }).observe(document.body, { childList: true, characterData: true, subtree: true });
}"""


def chromium() -> str | None:
    """The browser to measure with: ``$CHROMIUM``, or the system's."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def waits(desk: Desk, server: Server, committer: Committer, path: str, samples: int) -> list[float]:
    """Milliseconds from an accepted command to its text in the page, in a fresh browser."""
    with (
        sync_playwright() as playwright,
        closing(playwright.chromium.launch(executable_path=path, args=ARGUMENTS)) as browser,
    ):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE)
        _open(page, desk, server)
        return [_wait(page, committer) for _ in range(samples)]


def figure(board: str, waits: list[float], floor: float) -> tuple[list[Figure], list[str]]:
    """The 95th percentile; its floor is the frame's at the socket in the same run."""
    name = f"commit in another process to changed text in Chromium, {board}, p95"
    told = f"commit to text on {board}: {spread(waits, 'ms')}"
    return [Figure(name, "ms", percentile(waits, 0.95), floor, most=MOST_MS)], [told]


def _open(page: Page, desk: Desk, server: Server) -> None:
    """Logs in by a link and its button, and shows the board until it says that it is live."""
    page.goto(f"{server.origin}/login?code={server.new_code()}")
    page.get_by_role("button").click()
    page.wait_for_url(f"{server.origin}/")
    page.goto(f"{server.origin}/boards/{desk.board_id}/")
    page.get_by_text("Live · revision").wait_for()
    page.evaluate(WATCH)


def _wait(page: Page, committer: Committer) -> float:
    mark = f"mark-{next(_marks)}-"
    time.sleep(random.uniform(*REST))
    with page.expect_console_message(lambda said: said.text.startswith(mark)) as told:
        committed = committer.message(f"{mark} {report()}")
    # Date.now() has whole milliseconds, cut off; half of one is what is missing on average.
    return max(0.0, float(told.value.text.split()[1]) + 0.5 - committed.clock)
