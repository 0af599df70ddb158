"""AgInTiFlow's session index: where a session's project is, and its title. Read-only, and a cache: never the truth.

The file is a WAL database that its owner may be writing. It is opened `mode=ro` (never `immutable`, which misses live
rows), with a busy timeout, for one SELECT; no read transaction stays open. index.json takes over where node:sqlite is
missing; both are read and the database wins.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from peers.adapters.agintiflow.events import decoded_object
from peers.adapters.agintiflow.files import read_bounded, stamp
from peers.adapters.base import Json, Problem

BUSY_SECONDS = 5.0
JSON_LIMIT = 64 << 20
_COLUMNS = {"project_root": "projectRoot", "command_cwd": "commandCwd", "title": "title", "goal": "goal"}


@dataclass(frozen=True, slots=True)
class IndexRow:
    project_root: str = ""
    command_cwd: str = ""
    title: str = ""
    goal: str = ""

    @property
    def digest(self) -> str:
        """Changes when something that is used here changes, not at every save."""
        return f"{zlib.crc32(repr((self.project_root, self.command_cwd, self.title)).encode('utf-8', 'replace')):08x}"


class Index:
    """The rows as of the files' last change. When a file cannot be read now, the last rows that could stay."""

    def __init__(self, sessions: Path) -> None:
        self._database, self._json = sessions / "index.sqlite", sessions / "index.json"
        self._stamp = ""
        self._rows: dict[str, IndexRow] = {}
        self._problems: tuple[Problem, ...] = ()

    def rows(self) -> dict[str, IndexRow]:
        self._refresh()
        return self._rows

    def problems(self) -> tuple[Problem, ...]:
        return self._problems

    def _refresh(self) -> None:
        now = " ".join(stamp(str(path)) for path in (self._database, f"{self._database}-wal", self._json))
        if now == self._stamp:
            return
        problems: list[Problem] = []
        rows = dict(self._from_json(problems))
        rows.update(self._from_database(problems))
        lost = {key: row for key, row in self._rows.items() if key not in rows} if problems else {}
        self._rows, self._problems, self._stamp = lost | rows, tuple(problems), "" if problems else now

    def _from_database(self, problems: list[Problem]) -> Iterator[tuple[str, IndexRow]]:
        if stamp(str(self._database)) == "-":
            return
        uri = f"file:{quote(str(self._database))}?mode=ro"
        try:
            with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)) as connection:
                connection.row_factory = sqlite3.Row
                connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
                rows = connection.execute("SELECT * FROM sessions").fetchall()
        except sqlite3.Error as error:
            sentence = f"index.sqlite cannot be read ({error}); sessions are taken from their folders."
            problems.append(Problem("index_unreadable", sentence, "index.sqlite"))
            return
        for row in rows:
            known = dict(zip(row.keys(), row, strict=True))
            yield str(known.get("session_id", "")), _row({column: known.get(column) for column in _COLUMNS})

    def _from_json(self, problems: list[Problem]) -> Iterator[tuple[str, IndexRow]]:
        try:
            sessions = (decoded_object(read_bounded(self._json, JSON_LIMIT)) or {}).get("sessions")
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            problems.append(Problem("index_unreadable", f"index.json cannot be read ({error}).", "index.json"))
            return
        for key, row in sessions.items() if isinstance(sessions, dict) else ():
            if isinstance(row, dict):
                yield key, _row({column: row.get(name) for column, name in _COLUMNS.items()})


def _row(values: Json) -> IndexRow:
    return IndexRow(**{column: value if isinstance(value, str) else "" for column, value in values.items()})
