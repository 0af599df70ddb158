"""The ASGI application: the guard, inside it Django on a few threads and the websocket routes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, cast

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentlink_site.settings")

import django

django.setup()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.core import signals  # noqa: E402
from django.core.exceptions import RequestAborted  # noqa: E402
from django.core.handlers.asgi import ASGIHandler, ASGIRequest  # noqa: E402
from django.core.handlers.base import BaseHandler  # noqa: E402
from django.http import FileResponse, HttpResponse, StreamingHttpResponse  # noqa: E402
from django.urls import re_path, set_script_prefix  # noqa: E402

from agentlink_site.security import SAFE_METHODS, Guard, Receive, Scope, Send  # noqa: E402
from boards.live import websocket_urlpatterns  # noqa: E402

WRITER = ThreadPoolExecutor(1, "agentlink-writer")
READERS = ThreadPoolExecutor(3, "agentlink-reader")


async def on_reader(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function on a thread that may read the database."""
    return await asyncio.get_running_loop().run_in_executor(READERS, function, *arguments)


class Handler(ASGIHandler):
    """Django on threads that live on: one hop a request instead of a thread a request and a hop a middleware.

    Whatever may change something goes through the one writer, so readers never wait for a thread behind it.
    """

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # type: ignore[override]
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        request, error = self.create_request(scope, body)
        if request is None:
            body.close()
            await self.send_response(cast(HttpResponse, error), cast(Any, send))
            return
        pool = READERS if request.method in SAFE_METHODS else WRITER
        run = partial(asyncio.get_running_loop().run_in_executor, pool)
        response = await run(self.answer, request, scope)
        if isinstance(response, StreamingHttpResponse):
            response.streaming_content = _chunks(response.streaming_content, run)
        await self.send_response(response, cast(Any, send))
        if response.streaming:
            await run(response.close)

    def answer(self, request: ASGIRequest, scope: Scope) -> HttpResponse | StreamingHttpResponse:
        """The response, made and (unless it streams) closed on this thread: its database connection is here."""
        signals.request_started.send(sender=self.__class__, scope=scope)
        set_script_prefix("/")
        response = cast("HttpResponse | StreamingHttpResponse", self.get_response(request))
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if isinstance(response, HttpResponse):
            response.headers.setdefault("Content-Length", str(len(response.content)))
            response.close()
        return response


async def _chunks(content: Any, run: Callable[..., Any]) -> AsyncIterator[bytes]:
    """Read a streaming response chunk by chunk on a thread, so that a large file never fills the memory."""
    iterator = iter(content)
    while (chunk := await run(next, iterator, None)) is not None:
        yield chunk


async def no_such_socket(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a websocket to an address that has none."""
    await receive()
    await send({"type": "websocket.close", "code": 4404})


sockets: list[Any] = [*websocket_urlpatterns, re_path(r"", cast(Any, no_such_socket))]
application = Guard(
    ProtocolTypeRouter({"http": Handler(), "websocket": URLRouter(sockets)}),
    on_thread=on_reader,
)
