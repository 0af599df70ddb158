"""Keeping the session rows equal to the stores, by looking at stat first and reading only what changed.

A scan of an unchanged store opens no file and writes no row. What it wrote is consistent even if another process scans
at the same time: a session's row, its cursor and its marks are written together, and were read from the same point on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar
from weakref import WeakKeyDictionary

from django.db import transaction
from django.db.models import Count, Max, Model
from django.utils import timezone

from peers.adapters import adapter, sources
from peers.adapters.base import Adapter, Cursor, Glance, Mark, Problem, Reading, SessionFacts
from peers.models import FileCursor, InboxMark, ScanMark, Session, SessionRoots
from peers.roots import project_key, project_name
from peers.texts import Clean, cleaned
from peers.times import parse

# Rows per transaction: the first scan of thousands of sessions must not keep other writers waiting.
BATCH = 250
# An idle scan records that it looked no more often than this.
SCAN_MARK_SECONDS = 60
NAME, LONG = 200, 4000
_SETTLED = ("applied", "saved", "removed")

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan found. `changed` and `new` are session ids (`new` ones are in both); `marks` are new steps."""

    seen: int = 0
    changed: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    behind: bool = False
    """A log was too long for one scan: scan again soon."""


@dataclass(slots=True)
class _Known:
    stamp: str
    status: str
    present: bool


def scan(
    *,
    clean: Clean,
    writing: Callable[[], AbstractContextManager[object]] = nullcontext,
    now: datetime | None = None,
    most: int | None = None,
) -> Scan:
    """Look at every store once. `clean` redacts all text before it is stored; `writing` surrounds each transaction.

    With `most` no more sessions than that are read of each store; the rest is read by the next scans (`behind`).

    Never raises for what agents wrote; errors of our own database are raised.
    """
    moment = now or timezone.now()
    found = [_Scanner(adapter(source), clean, writing, moment).scan(most) for source in sources()]
    return Scan(
        seen=sum(one.seen for one in found),
        changed=[session_id for one in found for session_id in one.changed],
        new=[session_id for one in found for session_id in one.new],
        marks=[mark for one in found for mark in one.marks],
        problems=[problem for one in found for problem in one.problems],
        behind=any(one.behind for one in found),
    )


class _Scanner:
    """One scan of one store."""

    def __init__(
        self, store: Adapter, clean: Clean, writing: Callable[[], AbstractContextManager[object]], now: datetime
    ) -> None:
        self._store, self._clean, self._writing, self._now = store, clean, writing, now
        self._memory = _MEMORIES.setdefault(store, _Memory())
        self._new: list[str] = []
        self._changed: list[str] = []
        self._marks: list[Mark] = []
        self._behind = False
        self._project_keys: dict[str, str] = {}

    def scan(self, most: int | None = None) -> Scan:
        known = self._memory.known(self._store.source)
        glance = self._store.glance([name for name, row in known.items() if row.status == "running"])
        differing = list(_differing(glance, known))
        for names in _batches(differing[:most]):
            self._read(names, glance, known)
        self._behind |= most is not None and len(differing) > most
        self._mark_gone(glance, known)
        self._age(glance, known)
        problems = [Problem(p.code, cleaned(p.sentence, self._clean, LONG), p.where) for p in glance.problems]
        self._record(len(glance.stamps), problems)
        return Scan(len(glance.stamps), self._changed, self._new, self._marks, problems, self._behind)

    def _read(self, names: Sequence[str], glance: Glance, known: dict[str, _Known]) -> None:
        """Read these sessions and write them in one transaction."""
        keys = [self._key(name) for name in names]
        cursors = {row.session_id: row for row in FileCursor.objects.filter(session__in=keys)}
        details = dict(Session.objects.filter(key__in=keys).values_list("key", "details"))
        marked = _marked(keys)
        readings: list[Reading] = []
        for name, key in zip(names, keys, strict=True):
            reading = self._store.read(
                name,
                cursor=_cursor(cursors.get(key)),
                details=details.get(key),
                open_items=_open(marked.get(key, set())),
                clean=self._clean,
            )
            if reading:
                readings.append(reading)
        fresh = [mark for reading in readings for mark in _fresh(reading, marked.get(self._key_of(reading), set()))]
        self._write(readings, glance, fresh)
        self._changed += [reading.facts.session_id for reading in readings]
        self._new += [reading.facts.session_id for reading in readings if reading.facts.session_id not in known]
        self._marks += fresh
        self._behind |= any(reading.behind for reading in readings)

    def _write(self, readings: Sequence[Reading], glance: Glance, marks: Sequence[Mark]) -> None:
        rows = [self._row(reading, glance) for reading in readings]
        roots = [self._roots(reading.facts) for reading in readings]
        cursors = [_cursor_row(self._key_of(reading), reading.cursor) for reading in readings if reading.cursor]
        lost = [self._key_of(reading) for reading in readings if not reading.cursor]
        with self._writing(), transaction.atomic():
            _upsert(Session, rows, "key")
            _upsert(SessionRoots, roots, "session")
            _upsert(FileCursor, cursors, "session")
            FileCursor.objects.filter(session__in=lost).delete()
            InboxMark.objects.bulk_create([self._mark_row(mark) for mark in marks], ignore_conflicts=True)

    def _mark_gone(self, glance: Glance, known: dict[str, _Known]) -> None:
        gone = [name for name, row in known.items() if row.present and name not in glance.stamps]
        if not gone or not glance.complete:
            return
        rows = Session.objects.filter(key__in=[self._key(name) for name in gone])
        reach = {"kind": "none", "wakesIdle": False, "maxBytes": 0, "sentence": "It is gone.", "resumeCommand": None}
        reason = "its store has no such session any more"
        with self._writing(), transaction.atomic():
            rows.update(present=False, status="unknown", reason=reason, stamp="", reach=reach, observed_at=self._now)
        self._changed += gone

    def _age(self, glance: Glance, known: dict[str, _Known]) -> None:
        """Running sessions whose files did not change may be stale by now."""
        names = [name for name, row in known.items() if row.status == "running" and name in glance.stamps]
        aged = []
        for row in Session.objects.filter(key__in=[self._key(name) for name in names], status="running"):
            status = self._store.status_at(row.life, self._now)
            if status.word != row.status:
                row.status, row.reason, row.observed_at = status.word, status.reason, self._now
                row.reach = _reach(self._store, facts_of(row))
                aged.append(row)
        if aged:
            with self._writing(), transaction.atomic():
                Session.objects.bulk_update(aged, ["status", "reason", "reach", "observed_at"])
            self._changed += [row.session_id for row in aged if row.session_id not in self._changed]

    def _record(self, seen: int, problems: Sequence[Problem]) -> None:
        listed = [{"code": p.code, "sentence": p.sentence, "where": p.where} for p in problems[:50]]
        last = ScanMark.objects.filter(source=self._store.source).first()
        recent = last and abs((self._now - last.scanned_at).total_seconds()) < SCAN_MARK_SECONDS
        if last and recent and not self._changed and (last.seen, last.problems) == (seen, listed):
            return
        with self._writing(), transaction.atomic():
            ScanMark(source=self._store.source, scanned_at=self._now, seen=seen, problems=listed).save()

    def _row(self, reading: Reading, glance: Glance) -> Session:
        facts = reading.facts
        return Session(
            key=self._key_of(reading),
            session_id=facts.session_id,
            source=facts.source,
            project_key=self._project_key(facts.project_root),
            status=facts.status,
            created_at=parse(facts.created_at),
            last_activity_at=parse(facts.last_activity_at),
            observed_at=self._now,
            steps=facts.steps,
            capabilities=list(facts.capabilities),
            constraints=[self._text(text, NAME) for text in facts.constraints],
            problems=[{"code": p.code, "sentence": self._text(p.sentence, LONG)} for p in facts.problems],
            reach=_reach(self._store, facts),
            details=facts.details,
            life=facts.life | {"goalStatus": self._text(facts.goal_status, NAME)},
            stamp="" if reading.behind else glance.stamps[facts.session_id],
            project_name=self._text(project_name(facts.project_root), NAME),
            goal_status=self._text(facts.goal_status, NAME)[:32],
            title=self._text(facts.title, NAME),
            goal=self._text(facts.goal, LONG),
            provider=self._text(facts.provider, NAME),
            model=self._text(facts.model, NAME),
            reason=self._text(facts.reason, LONG),
            result=self._text(facts.result, LONG),
            error=self._text(facts.error, LONG),
        )

    def _text(self, text: str, limit: int) -> str:
        return cleaned(text, self._clean, limit)

    def _project_key(self, root: str) -> str:
        if root not in self._project_keys:
            self._project_keys[root] = project_key(root)
        return self._project_keys[root]

    def _roots(self, facts: SessionFacts) -> SessionRoots:
        return SessionRoots(
            session_id=self._key(facts.session_id),
            project_root=facts.project_root,
            command_cwd=facts.command_cwd,
            session_dir=facts.session_dir,
        )

    def _mark_row(self, mark: Mark) -> InboxMark:
        return InboxMark(
            session_id=self._key(mark.session_id),
            item_id=mark.item_id,
            message_id=mark.message_id,
            step=mark.step,
            at=parse(mark.at),
        )

    def _key(self, session_id: str) -> str:
        return f"{self._store.source}:{session_id}"

    def _key_of(self, reading: Reading) -> str:
        return self._key(reading.facts.session_id)


def facts_of(row: Session) -> SessionFacts:
    """A stored session as its adapter takes it, with the redacted text and without roots."""
    return SessionFacts(
        source=row.source,
        session_id=row.session_id,
        title=row.title,
        goal=row.goal,
        provider=row.provider,
        model=row.model,
        status=row.status,  # type: ignore[arg-type]
        reason=row.reason,
        result=row.result,
        error=row.error,
        steps=row.steps,
        goal_status=row.goal_status,
        capabilities=tuple(row.capabilities),
        constraints=tuple(row.constraints),
        details=row.details,
        life=row.life,
    )


class _Memory:
    """The sessions as this process last read or wrote them, as long as no other has written any."""

    def __init__(self) -> None:
        self._mark: object = None
        self._rows: dict[str, _Known] = {}

    def known(self, source: str) -> dict[str, _Known]:
        """What the table says. Of thousands of wide rows, mostly the same ones, only what marks a change is read."""
        mark = _mark(source)
        if mark != self._mark:
            self._rows, self._mark = _known(source), mark
        return self._rows


_MEMORIES: WeakKeyDictionary[Adapter, _Memory] = WeakKeyDictionary()


def _mark(source: str) -> object:
    """Changes with every write of a session's row: each tells when it was looked at."""
    rows = Session.objects.filter(source=source)
    return rows.aggregate(count=Count("*"), at=Max("observed_at"))


def _known(source: str) -> dict[str, _Known]:
    rows = Session.objects.filter(source=source).values_list("session_id", "stamp", "status", "present")
    return {name: _Known(stamp, status, present) for name, stamp, status, present in rows.iterator(chunk_size=5000)}


def _differing(glance: Glance, known: dict[str, _Known]) -> Iterator[str]:
    for name, stamp in glance.stamps.items():
        row = known.get(name)
        if row is None or row.stamp != stamp or not row.present:
            yield name


def _batches(names: Iterable[str]) -> Iterator[list[str]]:
    listed = list(names)
    return (listed[start : start + BATCH] for start in range(0, len(listed), BATCH))


def _marked(keys: Sequence[str]) -> dict[str, set[tuple[str, str]]]:
    """session key -> (item, step) recorded for it."""
    marked: dict[str, set[tuple[str, str]]] = {}
    for key, item, step in InboxMark.objects.filter(session__in=keys).values_list("session_id", "item_id", "step"):
        marked.setdefault(key, set()).add((item, step))
    return marked


def _open(marked: Iterable[tuple[str, str]]) -> set[str]:
    marked = list(marked)
    settled = {item for item, step in marked if step in _SETTLED}
    return {item for item, step in marked if step == "queued"} - settled


def _fresh(reading: Reading, marked: set[tuple[str, str]]) -> Iterator[Mark]:
    """The reading's steps that are not recorded yet, each once."""
    seen = set(marked)
    for mark in reading.marks:
        if (mark.item_id, mark.step) not in seen:
            seen.add((mark.item_id, mark.step))
            yield mark


def _cursor(row: FileCursor | None) -> Cursor | None:
    if row is None:
        return None
    return Cursor(row.path, int(row.inode), row.size, row.mtime_ns, row.offset, row.tail)


def _cursor_row(key: str, cursor: Cursor) -> FileCursor:
    return FileCursor(
        session_id=key,
        path=cursor.path,
        inode=cursor.inode,
        size=cursor.size,
        mtime_ns=cursor.mtime_ns,
        offset=cursor.offset,
        tail=cursor.tail,
    )


def _upsert(model: type[Row], rows: Sequence[Row], key: str) -> None:
    fields = [f.name for f in model._meta.concrete_fields if not f.primary_key]
    model._default_manager.bulk_create(rows, update_conflicts=True, unique_fields=[key], update_fields=fields)


def _reach(store: Adapter, facts: SessionFacts) -> dict[str, object]:
    reach = store.reach(facts)
    return {
        "kind": reach.kind,
        "wakesIdle": reach.wakes_idle,
        "maxBytes": reach.max_bytes,
        "sentence": reach.sentence,
        "resumeCommand": reach.resume_command,
    }
