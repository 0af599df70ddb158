"""The JSON API under /api/agentlink/, its OpenAPI document, and a reference page without script or internet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import structlog
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, URLResolver
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.openapi.docs import DocsBase
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation

from agentlink_site import __version__, reference
from boards.api import TOO_LARGE, JsonParser, Malformed, malformed, problem, refused, router
from boards.api.documents import components, read
from boards.api.reading import reader
from boards.api.replies import ok
from boards.queries import answers
from boards.queries.answers import BadCursor
from boards.rules import Refused
from boards.schemas.sentences import sentence_of

log = structlog.get_logger(__name__)

View = Callable[..., HttpResponse]

SECURITY: Final = {
    "token": {"type": "http", "scheme": "bearer", "description": "The content of `tokens/<nodeId>` in the home."},
    "panel": {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME},
}
"""How somebody shows who it is; on the home's own socket nothing is needed."""


class Reference(DocsBase):
    """ninja's own page is drawn by a large script; ours is plain HTML and needs none."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        """The OpenAPI document as a page."""
        document = api.get_openapi_schema(path_params=kwargs)
        about = reference.spans(document["info"]["description"])
        shown = {"info": document["info"], "about": about}
        shown |= {"groups": reference.groups(document), "forms": reference.forms(document)}
        return render(request, "api/reference.html", shown)


class Api(NinjaAPI):
    """NinjaAPI whose document holds our shared schemas and whose every error is a problem."""

    def get_openapi_schema(self, **kwargs: Any) -> OpenAPISchema:
        """The OpenAPI document."""
        document = super().get_openapi_schema(**kwargs)
        document["components"].setdefault("schemas", {}).update(components())
        document["components"]["securitySchemes"] = SECURITY
        document["security"] = [{name: []} for name in SECURITY]
        return document

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """The view's own name: what generated clients call it."""
        return operation.view_func.__name__

    def _get_urls(self) -> list[URLResolver | URLPattern]:
        patterns = super()._get_urls()
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                pattern.callback = _no_bare_405(pattern.callback)
        return patterns


def _no_bare_405(view: View) -> View:
    """ninja answers a wrong method in plain text; here it is a problem that names the right ones."""

    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        if response.status_code != 405:
            return response
        allowed = ", ".join(sorted(response["Allow"].split(", ")))
        answer = problem(405, "wrong_method", f"This address takes {allowed}.")
        answer["Allow"] = allowed
        return answer

    checked.csrf_exempt = True  # type: ignore[attr-defined]  # the guard has checked Origin and content type
    return checked


api = Api(
    title="AgentLink",
    version=__version__,
    description=(
        "The machine edge of a local collaboration desk for coding-agent sessions. Programs send "
        "`Authorization: Bearer` with the token of their node, or use the home's own socket as its person. Everything "
        "that changes is a command and is answered by a receipt."
    ),
    urls_namespace="agentlink-api",
    docs=Reference(),
    parser=JsonParser(),
)
api.add_router("", router)


@api.get("/status", summary="The home in one look", tags=["read"], openapi_extra=read("StatusAnswer"))
def status(request: HttpRequest) -> HttpResponse:
    """Who asks, the mode, how many boards, peers and needs there are, and how old the sight of the sessions is."""
    return ok(answers.status(reader(request), __version__))


@api.exception_handler(Malformed)
def _malformed(request: HttpRequest, error: Malformed) -> HttpResponse:
    return malformed(error)


@api.exception_handler(BadCursor)
def _bad_cursor(request: HttpRequest, error: BadCursor) -> HttpResponse:
    return problem(400, "bad_cursor", str(error))


@api.exception_handler(DatabaseError)
def _no_store(request: HttpRequest, error: DatabaseError) -> HttpResponse:
    """A read that the store could not answer (commands say so in their receipt)."""
    log.exception("the store cannot be read")
    return problem(503, "store_unavailable", "The store cannot be read now; try again.")


@api.exception_handler(RequestDataTooBig)
def _too_large(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return malformed(TOO_LARGE)


@api.exception_handler(Refused)
def _refused(request: HttpRequest, error: Refused) -> HttpResponse:
    return refused(error)


@api.exception_handler(ValidationError)
def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Bodies and queries that are not as documented; the first step of each place only says where it was."""
    errors = [{**line, "loc": _place(line["loc"])} for line in error.errors]
    return problem(400, "malformed", sentence_of(errors))


def _place(loc: tuple[Any, ...]) -> tuple[Any, ...]:
    return loc[2:] if loc[:1] in (("body",), ("query",)) and loc[1:2] in (("body",), ("query",)) else loc[1:]


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    """ninja wraps what the parser raised; the cause says what was wrong."""
    if isinstance(error.__cause__, Malformed):
        return malformed(error.__cause__)
    return problem(error.status_code, "malformed", error.message)
