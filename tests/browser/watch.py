"""What a journey's pages must never do: throw, break the page's policy, open a dialog, or talk to anybody else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page, Request, WebSocket

REFUSED: Final = r"status of (409|422)"
"""Chromium prints every answer that refuses a form; the page shows it to the person."""
GONE: Final = (
    r"net::ERR_(CONNECTION_(REFUSED|RESET)|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED|ABORTED)|Failed to fetch|ws:error"
)
"""What Chromium prints while the server is dead."""
LISTEN: Final = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy violated: ${event.violatedDirective} by ${event.blockedURI} at ${event.sourceFile}`);
}, true);
"""


class Watch:
    """Listens to every page of a context from its first request on."""

    def __init__(self, context: BrowserContext, host: str) -> None:
        self.host = host
        self.faults: list[str] = []
        self.asked: list[str] = []
        self.sockets: list[str] = []
        context.add_init_script(LISTEN)
        context.on("request", self._request)
        context.on("page", self._page)

    def _page(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"page error: {error}"))
        page.on("dialog", self._dialog)
        page.on("websocket", self._socket)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"console {message.type}: {message.text}")

    def _dialog(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        self.asked.append(request.url)

    def _socket(self, socket: WebSocket) -> None:
        self.sockets.append(socket.url)

    def strangers(self) -> list[str]:
        """Every address that is not this server's, and the one that only agents' text names."""
        addresses = [urlsplit(url) for url in [*self.asked, *self.sockets] if not url.startswith("data:")]
        return [one.geturl() for one in addresses if one.netloc != self.host or one.path == "/hostile"]

    def check(self, *allowed: str) -> None:
        """Raises ``AssertionError`` for anything that this journey does not expect."""
        assert self.asked, "the journey asked for nothing: the watch did not see its pages"
        strangers, faults = self.strangers(), unexpected(self.faults, allowed)
        assert not strangers, f"asked of others: {strangers}"
        assert not faults, "\n".join(faults)


def unexpected(faults: Iterable[str], allowed: Iterable[str]) -> list[str]:
    """The faults that no pattern allows."""
    patterns = [re.compile(pattern) for pattern in allowed]
    return [fault for fault in faults if not any(pattern.search(fault) for pattern in patterns)]
