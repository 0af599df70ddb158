"""What a refused request gets to read: one sentence, as a page or as an RFC 9457 problem."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

HOW_TO_LOG_IN = "You are not logged in here; run `agentlink open` in a terminal to get a login link."


@dataclass(frozen=True)
class Refusal:
    """A request that goes no further: HTTP status, stable code, sentence for people, seconds until a next attempt."""

    status: int
    code: str
    detail: str
    retry_after: int = 0


NOT_LOGGED_IN = Refusal(401, "not_logged_in", HOW_TO_LOG_IN)
BAD_TOKEN = Refusal(401, "bad_token", "This token is not valid here; use the token of a registered node.")
NO_STORE = Refusal(503, "store_unavailable", "The store cannot be reached; nothing was changed, try again.")


def too_often(seconds: int) -> Refusal:
    """For whoever asks more often than its rate allows."""
    return Refusal(429, "rate_limited", f"You ask too often; ask again in {seconds} s. Nothing was done.", seconds)


def body(refusal: Refusal, *, as_json: bool) -> tuple[bytes, bytes]:
    """The refusal's body and content type."""
    title = HTTPStatus(refusal.status).phrase
    if not as_json:
        page = render_to_string(
            "site/problem.html", {"title": title, "detail": refusal.detail, "known": refusal.status != 401}
        )
        return page.encode(), b"text/html; charset=utf-8"
    problem = {"type": "about:blank", "title": title, "status": refusal.status, "detail": refusal.detail}
    return json.dumps(problem | {"code": refusal.code}).encode(), b"application/problem+json"


def response(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """The refusal as Django's response: a problem for the API, a page for people."""
    content, kind = body(refusal, as_json=is_api(request.path))
    answer = HttpResponse(content, status=refusal.status, content_type=kind.decode())
    if refusal.retry_after:
        answer["Retry-After"] = str(refusal.retry_after)
    return answer


def is_api(path: str) -> bool:
    """Routes under /api answer in JSON, errors too."""
    return path == "/api" or path.startswith("/api/")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The page for a form without its CSRF token."""
    return response(
        request, Refusal(403, "csrf", "This form is too old or came from elsewhere; reload the page and try again.")
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return response(request, Refusal(400, "bad_request", "This request cannot be understood."))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return response(request, Refusal(403, "forbidden", "You may not do this here."))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return response(request, Refusal(404, "not_found", "There is nothing at this address."))


def server_error(request: HttpRequest) -> HttpResponse:
    return response(request, Refusal(500, "error", "Something went wrong here; the server's log has the details."))
