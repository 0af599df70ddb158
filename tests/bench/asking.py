"""Requests to Django in this process, as the server's threads make them, and the same bytes from a bare view."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes


@dataclass(frozen=True, slots=True)
class Wanted:
    """One address, and who asks for it: a node with its token, else the person (in the panel, or by the API)."""

    target: str
    node: str | None = None


def answered(wanted: Wanted, *, bare: tuple[bytes, str] | None = None) -> Any:
    """The whole response. ``bare``: body and type that a view answers with that does nothing else."""
    from django.core.handlers.wsgi import WSGIRequest

    request: Any = WSGIRequest(_environ(wanted))
    if bare is not None:
        request.urlconf = _bare(*bare)
    response = _handler().get_response(request)
    if not response.streaming:
        response.close()
    return response


@cache
def _handler() -> Any:
    from django.core.handlers.base import BaseHandler

    handler = BaseHandler()
    handler.load_middleware(is_async=False)
    return handler


@cache
def _bare(body: bytes, kind: str) -> tuple[Any, ...]:
    from django.http import HttpRequest, HttpResponse
    from django.urls import path

    def view(request: HttpRequest, rest: str) -> HttpResponse:
        return HttpResponse(body, content_type=kind)

    return (path("<path:rest>", view), path("", view, {"rest": ""}))


def _environ(wanted: Wanted) -> dict[str, Any]:
    path, _, query = wanted.target.partition("?")
    surface = "api" if path.startswith("/api/") else "panel"
    return {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "HTTP_HOST": "localhost",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "0",
        "REMOTE_ADDR": "",
        "wsgi.input": BytesIO(),
        "wsgi.url_scheme": "http",
        "agentlink.actor": {"node_id": wanted.node, "surface": surface, "human": wanted.node is None},
    }
