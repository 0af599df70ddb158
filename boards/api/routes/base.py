"""The one router: an address that can be read and written must be one pattern, or the other method is a 405."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.http import HttpResponse
from ninja import Router

View = TypeVar("View", bound=Callable[..., HttpResponse])

router = Router()


def get(path: str, summary: str, openapi_extra: dict[str, Any]) -> Callable[[View], View]:
    """A route that reads."""
    return router.get(path, summary=summary, openapi_extra=openapi_extra, tags=["read"])


def post(path: str, summary: str, openapi_extra: dict[str, Any]) -> Callable[[View], View]:
    """A route that gives a command."""
    return router.post(path, summary=summary, openapi_extra=openapi_extra, tags=["write"])


def patch(path: str, summary: str, openapi_extra: dict[str, Any]) -> Callable[[View], View]:
    """A route that gives one of the commands that change what is there."""
    return router.patch(path, summary=summary, openapi_extra=openapi_extra, tags=["write"])
