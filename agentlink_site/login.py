"""Logging a person in: one-time links, exchanged by a button for a session cookie."""

from __future__ import annotations

import secrets
import threading
import time
from hashlib import sha256
from hmac import compare_digest
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.middleware.csrf import rotate_token
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_POST

from agentlink_site import problems, running
from agentlink_site.problems import HOW_TO_LOG_IN, Refusal

CODE_BYTES = 32
LIFE_SECONDS = 600
WRONG_CODES = 10
SESSION_MARK = "agentlink_human"

SENTENCES = {
    "none": HOW_TO_LOG_IN,
    "wrong": "This login link is not valid or is over; run `agentlink open` in a terminal to get a new one.",
    "used": "This login link was used already; run `agentlink open` in a terminal to get a new one.",
    "locked": "Too many wrong login links were tried; run `agentlink open` in a terminal to get a new one.",
}


class LoginCodes:
    """One-time codes, in this process's memory only, as hashes. Ten wrong ones void every code that is out."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[bytes, float] = {}
        self._used: dict[bytes, float] = {}
        self._wrong = 0

    def mint(self) -> str:
        """A new code of 256 bits, good for ten minutes; minting ends a lockout."""
        code = secrets.token_urlsafe(CODE_BYTES)
        with self._lock:
            self._forget_old()
            self._open[_digest(code)] = time.monotonic() + LIFE_SECONDS
            self._wrong = 0
        return code

    def look(self, code: str, *, consume: bool) -> str:
        """`ok`, `none`, `used`, `wrong` or `locked`. Consuming is atomic: one code logs in once."""
        if not code:
            return "none"
        with self._lock:
            self._forget_old()
            digest = _digest(code)
            if self._wrong >= WRONG_CODES:
                return "locked"
            if _among(digest, self._used):
                return "used"
            if not _among(digest, self._open):
                return self._count_wrong()
            if consume:
                self._used[digest] = self._open.pop(digest)
            return "ok"

    def _count_wrong(self) -> str:
        self._wrong += 1
        if self._wrong >= WRONG_CODES:
            self._open.clear()
        return "wrong"

    def _forget_old(self) -> None:
        now = time.monotonic()
        for codes in (self._open, self._used):
            for digest in [digest for digest, until in codes.items() if until <= now]:
                del codes[digest]


def _digest(code: str) -> bytes:
    return sha256(code.encode("utf-8", "surrogatepass")).digest()


def _among(digest: bytes, codes: dict[bytes, float]) -> bool:
    """Compares with every one, each in constant time."""
    return sum(compare_digest(digest, other) for other in codes) > 0


CODES = LoginCodes()


def new_link(url: str) -> str:
    """A login link for the server at `url` (which ends with a slash)."""
    return f"{url}login?{urlencode({'code': CODES.mint()})}"


def is_logged_in(session_key: str) -> bool:
    """Does this key belong to a session that a person opened with a login link?"""
    return SessionStore(session_key).get(SESSION_MARK) is True


@require_http_methods(["GET", "HEAD", "POST"])
def login(request: HttpRequest) -> HttpResponse:
    """GET shows one button and consumes nothing (link previews fetch too); POST logs in."""
    fields = request.POST if request.method == "POST" else request.GET
    code = fields.get("code", "")
    outcome = CODES.look(code, consume=request.method == "POST")
    if outcome in ("used", "wrong") and is_logged_in(request.session.session_key or ""):
        return _see_other("/")  # an old link in a browser that is logged in: there is nothing to do
    if outcome != "ok":
        status = HTTPStatus.TOO_MANY_REQUESTS if outcome == "locked" else HTTPStatus.UNAUTHORIZED
        return problems.response(request, Refusal(status, f"login_{outcome}", SENTENCES[outcome]))
    if request.method != "POST":
        return render(request, "site/login.html", {"code": code})
    request.session.flush()
    request.session[SESSION_MARK] = True
    rotate_token(request)
    return _see_other("/")


@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    """End this browser's session; its websockets close within two seconds."""
    request.session.flush()
    return _see_other(settings.LOGIN_URL)


def _see_other(path: str) -> HttpResponse:
    response = HttpResponseRedirect(path)
    response.status_code = HTTPStatus.SEE_OTHER
    return response


@require_POST
def login_links(request: HttpRequest) -> HttpResponse:
    """A new login link, for whoever may open the home's unix socket as the person."""
    actor: Any = request.actor  # type: ignore[attr-defined]
    if not actor["human"] or actor["surface"] == "panel":
        return problems.response(
            request, Refusal(403, "socket_only", "Login links are made only over the home's own socket.")
        )
    found = running.read(settings.AGENTLINK_HOME)
    if found is None:
        return problems.response(request, Refusal(503, "not_ready", "The server is not ready yet; try again."))
    return JsonResponse({"url": found.url, "loginUrl": new_link(found.url)}, status=HTTPStatus.CREATED)
