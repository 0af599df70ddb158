"""What the rest of AgentLink may ask about sessions: redacted text, except for `roots`, which stays on this machine."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Q, QuerySet

from peers.models import InboxMark, ScanMark, Session, SessionRoots
from peers.roots import project_key as project_key

PER_PAGE = 50
PER_PAGE_LIMIT = 200
_TEXT_FIELDS = ("title", "goal", "session_id", "project_name", "model", "status")


@dataclass(frozen=True, slots=True)
class Page:
    items: list[Session]
    total: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True)
class Freshness:
    scanned_at: datetime | None
    """When the stores were last looked at, to within a minute; None before the first time."""
    seen: int
    problems: list[dict[str, str]]


def sessions(
    text: str = "",
    *,
    status: str = "",
    project_key: str = "",
    include_gone: bool = False,
    page: int = 1,
    per_page: int = PER_PAGE,
) -> Page:
    """Sessions by latest activity, newest first; every word of `text` must occur in some field.

    A page too far is the last one.
    """
    rows = Session.objects.all() if include_gone else Session.objects.filter(present=True)
    for word in text.replace("\x00", " ").split():
        rows = rows.filter(_mentions(word))
    if status:
        rows = rows.filter(status=status)
    if project_key:
        rows = rows.filter(project_key=project_key)
    total = rows.count()
    per_page = min(max(per_page, 1), PER_PAGE_LIMIT)
    pages = max(1, -(-total // per_page))
    page = min(max(page, 1), pages)
    ordered = rows.order_by(F("last_activity_at").desc(nulls_last=True), "key").defer("details", "life")
    return Page(list(ordered[(page - 1) * per_page : page * per_page]), total, page, pages)


def _mentions(word: str) -> Q:
    found = Q()
    for name in _TEXT_FIELDS:
        found |= Q(**{f"{name}__icontains": word})
    return found


def session(session_id: str, source: str = "") -> Session | None:
    """One session, gone ones too. Without a source the first store that knows the id."""
    rows = Session.objects.filter(session_id=session_id)
    if source:
        rows = rows.filter(source=source)
    return rows.order_by("-present", "key").first()


def sessions_of(wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Session]:
    """These sessions, gone ones too, by (source, session id)."""
    keys = [f"{source}:{session_id}" for source, session_id in wanted if session_id]
    rows = Session.objects.filter(key__in=keys).defer("details", "life")
    return {(row.source, row.session_id): row for row in rows}


def present_without(keys: Collection[str]) -> QuerySet[Session]:
    """The sessions that are there, but for these (`<source>:<session id>`), by latest activity."""
    others = Session.objects.filter(present=True).exclude(key__in=keys)
    return others.order_by(F("last_activity_at").desc(nulls_last=True), "key").defer("details", "life")


def present_count() -> int:
    """How many sessions are there."""
    return Session.objects.filter(present=True).count()


def project_count() -> int:
    """How many projects they belong to."""
    return Session.objects.filter(present=True).exclude(project_key="").values("project_key").distinct().count()


def roots(session_id: str, source: str = "") -> SessionRoots | None:
    """Where the session lives: private to this machine, never to be shown or stored on a board."""
    row = session(session_id, source)
    return SessionRoots.objects.filter(session=row).first() if row else None


def session_ids() -> list[str]:
    """The ids of all sessions that are there."""
    return list(Session.objects.filter(present=True).order_by("session_id").values_list("session_id", flat=True))


def marks(message_id: str) -> list[InboxMark]:
    """Every step recorded for a message, in whatever session."""
    return list(InboxMark.objects.filter(message_id=message_id).order_by("session_id", "id"))


def marks_after(position: int, limit: int) -> list[InboxMark]:
    """Recorded steps of any messages after a mark's id, in the order in which they were recorded."""
    return list(InboxMark.objects.filter(id__gt=position).order_by("id")[:limit])


def marks_of(message_ids: Collection[str]) -> list[InboxMark]:
    """Every step recorded for these messages, in whatever session."""
    return list(InboxMark.objects.filter(message_id__in=message_ids))


def freshness() -> Freshness:
    """How old what this module says may be."""
    scans = list(ScanMark.objects.all())
    oldest = min((scan.scanned_at for scan in scans), default=None)
    return Freshness(oldest, sum(scan.seen for scan in scans), [p for scan in scans for p in scan.problems])
