"""The server's threads: the follower rings the sockets, the rest keeps messages, leases and sessions moving."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

import structlog
from django.db import DatabaseError, connections

from boards import folder, live
from boards.commands import execute, service
from boards.delivery import attempt_once, take_over
from boards.discovery import scan_once
from boards.models import Task
from boards.proof import check_pending
from boards.schemas import ExpireTask
from boards.times import now

logger = structlog.get_logger(__name__)

SCAN_SECONDS: Final = 0.4
SCAN_MOST: Final = 250
"""Sessions that one turn reads: of thousands that are new, the latest are on the page at once."""
TIMER_SECONDS: Final = 0.5
DELIVERY_SECONDS: Final = 1.0
"""At the latest; a commit wakes the delivery at once."""
FOLDER_SECONDS: Final = 1.0
"""Between two looks at the files of the board folder."""
RESTART_SECONDS = 1.0
"""Before a worker that failed is started again."""


def start(stop: threading.Event) -> list[threading.Thread]:
    """Starts every worker; each ends soon after ``stop`` is set."""
    jobs: tuple[tuple[str, Callable[[threading.Event], None]], ...] = (
        ("follower", live.follow),
        ("delivery", _deliver),
        ("scanner", _scan),
        ("folder", _keep_folder),
        ("timer", _time),
    )
    threads = [threading.Thread(target=_run, args=(name, job, stop), name=name, daemon=True) for name, job in jobs]
    for thread in threads:
        thread.start()
    return threads


def _run(name: str, job: Callable[[threading.Event], None], stop: threading.Event) -> None:
    """Keeps one job going: a store that is out of reach for a while must not end it."""
    while not stop.is_set():
        try:
            job(stop)
        except DatabaseError as error:
            logger.error("worker_store_failed", worker=name, error=str(error))
        except Exception:
            logger.exception("worker_failed", worker=name)
        finally:
            connections.close_all()
        stop.wait(RESTART_SECONDS)


def _deliver(stop: threading.Event) -> None:
    take_over()
    woken = live.subscribe()
    try:
        while not stop.is_set():
            attempt_once()
            woken.wait(DELIVERY_SECONDS)
            woken.clear()
    finally:
        live.unsubscribe(woken)


def _keep_folder(stop: threading.Event) -> None:
    """Writes soon after each commit; looks once a second for what others wrote."""
    woken = live.subscribe()
    try:
        looked = 0.0
        while not stop.is_set():
            look = time.monotonic() - looked >= FOLDER_SECONDS
            if look:
                looked = time.monotonic()
            folder.attempt_once(look=look)
            woken.wait(FOLDER_SECONDS)
            woken.clear()
    finally:
        live.unsubscribe(woken)


def _scan(stop: threading.Event) -> None:
    while not stop.is_set():
        found = scan_once(most=SCAN_MOST)
        if found.changed:
            live.presence_changed()
        stop.wait(0.0 if found.behind else SCAN_SECONDS)


def _time(stop: threading.Event) -> None:
    while not stop.is_set():
        expire_leases()
        check_pending()
        stop.wait(TIMER_SECONDS)


def expire_leases() -> int:
    """Makes the event of every lease that has ended; returns how many did."""
    due = Task.objects.filter(status="claimed", lease_until__lte=now()).values_list("board_id", "task_id")
    commands = [ExpireTask(board_id=board_id, task_id=task_id) for board_id, task_id in due]
    return sum(execute(command, service()).outcome == "applied" for command in commands)
