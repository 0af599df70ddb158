"""A bare server of the same shape: Django with one view behind daphne in one process. Prints its port when it listens.

``python -m tests.bench.bare``: the floor of AgentLink's own start.
"""

from __future__ import annotations

import socket
from typing import Any

import daphne.server  # before any Twisted: it installs the reactor


def main() -> None:
    """Serves until it is killed."""
    import django
    from django.conf import settings
    from django.core.asgi import get_asgi_application
    from django.http import HttpRequest, HttpResponse
    from django.urls import path

    def healthy(request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")

    settings.configure(ROOT_URLCONF=(path("", healthy),), ALLOWED_HOSTS=["127.0.0.1"], SECRET_KEY="of the bench")
    django.setup()
    listening = socket.create_server(("127.0.0.1", 0))
    port, descriptor = listening.getsockname()[1], listening.detach()  # Twisted takes it over

    def ready() -> None:
        print(port, flush=True)

    server: Any = daphne.server.Server(
        application=get_asgi_application(), endpoints=[f"fd:fileno={descriptor}"], ready_callable=ready
    )
    server.run()


if __name__ == "__main__":
    main()
