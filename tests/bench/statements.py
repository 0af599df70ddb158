"""The statements of a command, recorded once, and the same again on a plain ``sqlite3`` connection."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Values = tuple[Any, ...]
Statement = tuple[str, Values]
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")
_HASH = re.compile(r"[0-9a-f]{64}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@contextmanager
def recording() -> Iterator[list[Statement]]:
    """Every statement that Django's connection runs meanwhile, without COMMIT, which goes past its cursor."""
    from django.db import connection

    seen: list[Statement] = []

    def note(run: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        seen.append((sql.replace("%s", "?"), tuple(params or ())))
        return run(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield seen


def plain(database: Path) -> Any:
    """A connection of the module that Django runs on, with the same PRAGMAs and nothing around it."""
    from django.conf import settings
    from django.db import connection

    options = settings.DATABASES["default"]["OPTIONS"]
    module: Any = connection.Database  # type: ignore[attr-defined]  # the backend's own module
    raw = module.connect(str(database), isolation_level=None, timeout=600)
    raw.executescript(options["init_command"])
    return raw


def copy_to(twin: Path) -> None:
    """The database as it is now, in another file of the same file system."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(twin)])


def run(raw: Any, statements: list[Statement]) -> Any:
    """One transaction: what is read is fetched, what is written is committed with full durability."""
    for sql, values in statements:
        raw.execute(sql, values).fetchall()
    return raw.execute("COMMIT")


@dataclass(frozen=True, slots=True)
class Template:
    """A recorded command that any number of writers can repeat: fresh ids, next position, next revision."""

    statements: list[Statement]
    position: int
    revision: int

    @classmethod
    def of(cls, seen: list[Statement], position: int, revision: int) -> Template:
        """``position`` and ``revision``: what the recorded event got; both stand for the next ones from now on."""
        if len({position, revision, 0, 1}) < 4:
            raise ValueError("The log is too short to tell its position from its revision and from flags.")
        return cls([(sql, tuple(_never(sql, value) for value in values)) for sql, values in seen], position, revision)

    def run(self, raw: Any) -> None:
        """One transaction; the log's head is read inside of it, as the command did."""
        fresh: dict[str, str] = {}
        numbers: dict[int, int] = {}
        for sql, values in self.statements:
            ids = _HASH if "boards_storedreceipt" in sql else _UUID  # a receipt's key is stored as a hash
            found = raw.execute(sql, tuple(_filled(value, ids, fresh, numbers) for value in values)).fetchall()
            if 'FROM "boards_event"' in sql:
                last = self.position if sql.startswith('SELECT "position"') else self.revision
                numbers[last] = found[0][0] + 1
        raw.execute("COMMIT")


def _never(sql: str, value: Any) -> Any:
    """Every copy has the recorded time: "messages since" would otherwise find more with each of them."""
    return (
        "9999-12-31 00:00:00"
        if sql.startswith("SELECT") and isinstance(value, str) and _MOMENT.fullmatch(value)
        else value
    )


def _new(ids: re.Pattern[str]) -> str:
    return uuid.uuid4().hex * 2 if ids is _HASH else str(uuid.uuid4())


def _filled(value: Any, ids: re.Pattern[str], fresh: dict[str, str], numbers: dict[int, int]) -> Any:
    if isinstance(value, str):
        return ids.sub(lambda match: fresh.setdefault(match.group(), _new(ids)), value)
    return numbers.get(value, value) if type(value) is int else value
