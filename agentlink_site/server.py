"""`agentlink up`: one process with everything in it, from the bound port to the last thread."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import structlog

from agentlink_site import running
from agentlink_site.config import Config, ConfigError, load
from agentlink_site.home import ensure_home, instance_id, secret_key, take_lock, write_private
from agentlink_site.running import Running
from boards.times import iso, now

PORTS_TRIED = 50
FIRST_ONE_SECONDS = 10.0
STOP_SECONDS = 1.0
DESCRIPTORS = 4096
REDIRECT = "open.html"


def prepare() -> None:
    """Make Django and the store usable in this process; migrates the home when there is something to do.

    Every process that works on a home calls this first. Raises ConfigError when the store is from a newer AgentLink.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentlink_site.settings")
    load()  # a wrong setting is a sentence here, a traceback inside Django
    import django

    django.setup()
    from agentlink_site.migrations import is_current

    if not is_current():
        _migrate_in_turn()
    from boards.commands import ensure_identity

    ensure_identity()


def _migrate_in_turn() -> None:
    from django.conf import settings

    from agentlink_site.migrations import is_current, migrate

    descriptor = take_lock(settings.AGENTLINK_HOME / "migrate.lock", wait=True)
    try:
        if not is_current():
            migrate()
    finally:
        os.close(descriptor or -1)


def up(*, port: int | None = None, host: str | None = None, open_browser: bool = True, as_json: bool = False) -> int:
    """Start the server of this home and serve until SIGINT or SIGTERM; returns the exit status.

    With a server already there, prints its URL and a new login link and returns 0. Raises ConfigError.
    """
    config = load(port=port, host=host)
    home = ensure_home(config)
    first = _wait_for_lock_or_server(home)
    if first is not None:
        _announce(first, running.ask_for_link(first), home, as_json)
        return 0
    listening = bind(config)
    os.environ["AGENTLINK_HOME"] = str(home)
    os.environ["AGENTLINK_HOST"] = config.host
    _allow_descriptors()
    prepare()
    return _Run(home, listening, open_browser=open_browser and not as_json, as_json=as_json).serve()


def open_panel() -> int:
    """Print a new login link of the running server and open it in the browser. Raises ConfigError."""
    home = ensure_home(load())
    found = running.read(home)
    if found is None:
        raise ConfigError(f"No server runs on {home}; start it with `agentlink up`.")
    link = running.ask_for_link(found)
    print(link, flush=True)
    show_in_browser(home, link)
    return 0


def _wait_for_lock_or_server(home: Path) -> Running | None:
    """Hold the home's lock (None), or find who does. A first one that still starts is waited for."""
    end = time.monotonic() + FIRST_ONE_SECONDS
    while running.hold(home) is None:
        if found := running.read(home):
            return found
        if time.monotonic() > end:
            raise ConfigError(f"Another process holds {home / running.LOCK} but serves nothing; stop it and try again.")
        time.sleep(0.05)
    return None


def bind(config: Config) -> socket.socket:
    """Listen on the wanted port, or on the next free one; the socket is taken before anything slow happens."""
    last = min(config.port + PORTS_TRIED, 65535) if config.port else 0
    for port in range(config.port, last + 1):
        try:
            listening = _listen(config.host, port)
        except OSError as error:
            refused = error
            continue
        if config.port and port != config.port:
            print(f"Port {config.port} is taken; using {port} instead.", file=sys.stderr, flush=True)
        return listening
    raise ConfigError(
        f"No port from {config.port} to {last} on {config.host} can be used ({refused.strerror}); "
        "set AGENTLINK_PORT to a free one, or to 0."
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setblocking(False)
        listening.bind((host, port))
        listening.listen(512)
    except BaseException:
        listening.close()
        raise
    return listening


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _allow_descriptors() -> None:
    """The soft limit of 256 (macOS) or 1024 is less than a busy day with websockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # a sandbox may forbid it; the smaller limit works too
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@dataclass
class _Run:
    """One run of the server on one home."""

    home: Path
    listening: socket.socket
    open_browser: bool
    as_json: bool
    stop: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)
    was_ready: bool = False

    def serve(self) -> int:
        from django.urls import get_resolver

        from agentlink_site import wire
        from agentlink_site.asgi import application
        from agentlink_site.logs import access

        self.url = _url(self.listening)
        self.socket = running.socket_path(self.home, instance_id(secret_key(self.home)))
        self.socket.unlink(missing_ok=True)  # a killed server's; the lock says that nobody uses it
        get_resolver().url_patterns  # noqa: B018  (imports every view now, not during the first request)
        server = wire.build(application, self.socket, access, lambda: self.ready_or_stop(server.stop))
        wire.adopt(server, self.listening)
        try:
            server.run()
        finally:
            self.clean_up()
        return 0 if self.was_ready else 1

    def ready_or_stop(self, stop: Callable[[], None]) -> None:
        """A server that could not tell where it is must not go on: it ends with a status that is not 0."""
        try:
            self.ready()
            self.was_ready = True
        except Exception:
            structlog.get_logger(__name__).exception("the server could not get ready")
            stop()

    def ready(self) -> None:
        """Everything listens: tell the world, then start what runs beside."""
        from agentlink_site.login import new_link
        from boards import workers

        facts = Running(os.getpid(), iso(now()), self.url, str(self.socket))
        running.write(self.home, facts)
        link = new_link(self.url)
        gc.collect()
        gc.freeze()  # what lives now lives on: no collection looks at it again
        _announce(facts, link, self.home, self.as_json)
        self.threads += workers.start(self.stop)
        if self.open_browser and sys.stdout.isatty():
            show_in_browser(self.home, link)

    def clean_up(self) -> None:
        self.stop.set()
        end = time.monotonic() + STOP_SECONDS
        for thread in self.threads:
            thread.join(max(0.0, end - time.monotonic()))
        running.forget(self.home)
        for path in (self.socket, self.home / REDIRECT):
            path.unlink(missing_ok=True)


def _announce(facts: Running, link: str, home: Path, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"url": facts.url, "loginUrl": link, "pid": facts.pid, "home": str(home)}), flush=True)
        return
    already = "already " if facts.pid != os.getpid() else ""
    print(f"AgentLink runs {already}at {facts.url}", flush=True)
    print(f"Log in with this link, once, within ten minutes:\n  {link}", flush=True)


def show_in_browser(home: Path, link: str) -> bool:
    """Open the link through a private redirect file, because a command line can be read by everyone."""
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False  # webbrowser would start a text browser in this terminal
    page = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={escape(link)}">\n'
    path = home / REDIRECT
    write_private(path, page.encode())
    return webbrowser.open(path.as_uri())
