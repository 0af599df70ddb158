"""Looking at the session stores: new sessions become one event each, proven steps of messages too."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from functools import lru_cache

from django.conf import settings

from boards import log
from boards.commands import execute, service
from boards.delivery import record_progress
from boards.schemas import DiscoverPeers
from evidence.redaction import RedactionContext, redact
from peers import presence
from peers import queries as peers
from peers.presence import Scan


def clean(text: str) -> str:
    """What of a session's own text may be stored."""
    return _redacted(text, os.path.expanduser("~"), str(settings.SECRET_KEY))  # noqa: PTH111 (asked for each text)


@lru_cache(maxsize=4096)
def _redacted(text: str, home: str, key: str) -> str:
    """Thousands of sessions say the same few words: tools, models, policies."""
    return redact(text, context=RedactionContext(home=home, key=key.encode())).text


def _writing() -> AbstractContextManager[object]:
    return log.writer()


def scan_once(*, most: int | None = None) -> Scan:
    """One look at every store, or at the ``most`` sessions that come first. With mode ``off`` nothing is looked at."""
    if settings.AGENTLINK.mode == "off":
        return Scan()
    found = presence.scan(clean=clean, writing=_writing, most=most)
    if found.new:
        _discovered(found.new)
    if found.changed:
        record_progress()
    return found


def _discovered(session_ids: list[str]) -> None:
    rows = [row for row in (peers.session(session_id) for session_id in session_ids) if row is not None]
    sessions = [
        {"sessionId": r.session_id, "source": r.source, "title": r.title or r.goal, "projectName": r.project_name}
        for r in rows
    ]
    execute(DiscoverPeers(sessions=sessions), service())
