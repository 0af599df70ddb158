"""How a decision reads the store: rows by filters, sessions found on this machine, fresh ids."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any, TypeVar

from django.db import models

from boards import rows
from boards.rules import Found
from peers import queries as peers

M = TypeVar("M", bound=models.Model)


class Memory:
    """Reads each thing once: while a decision is made, no row changes."""

    def __init__(self) -> None:
        self._known: dict[tuple[type[models.Model], str], list[Any]] = {}

    def fetch(self, model: type[M], **filters: Any) -> list[M]:
        """The rows that fit, in the order of their keys."""
        question = (model, repr(filters))
        if question not in self._known:
            self._known[question] = rows.fetch(model, **filters)
        return list(self._known[question])


def new_id(prefix: str) -> str:
    """``msg-`` and so on with a random UUID."""
    return f"{prefix}{uuid.uuid4()}"


def find_session(ref: str) -> Found | None:
    """A session of a local store by its id."""
    session = peers.session(ref)
    if session is None or not session.present:
        return None
    return Found(
        session_id=session.session_id,
        source=session.source,
        title=session.title,
        role="",
        capabilities=tuple(session.capabilities),
        constraints=tuple(session.constraints),
        project_name=session.project_name,
        project_key=session.project_key,
    )


def known_sessions() -> Iterable[str]:
    """The ids of all sessions found, for nearest names."""
    return peers.session_ids()
