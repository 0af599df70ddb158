"""`agentlink` with two more addresses to test the guard with: who acts, and a websocket that echoes."""

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentlink_site.settings")

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path

from agentlink_site import asgi, rates, urls
from agentlink_site.cli import main
from agentlink_site.security import Receive, Scope, Send


def actor(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"actor": request.actor, "length": len(request.body)})  # type: ignore[attr-defined]


def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("this view always fails")


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Accept, say who acts, then send back whatever comes."""
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.send", "text": str(scope["agentlink"]["surface"])})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"]})


if "UNHURRIED" in os.environ:  # for tests that ask more often than anybody may
    rates.RATES.update(dict.fromkeys(rates.RATES, rates.Rate(10**6, 10**6)))
guard: Any = asgi.application
guard.app.application_mapping["websocket"] = echo
urls.urlpatterns[:0] = [path("test/actor", actor), path("api/test/actor", actor), path("test/broken", broken)]
main()
