"""Which sessions are there, by folder, and where their project is. Nothing is opened here but folders.

`<home>/sessions/<id>` is where a session is, whatever the index or a pointer says: their `sessionDir` is a copy of the
path at the time of writing and wrong after a home moved. What only the index knows has no log and no inbox: it is no
session.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from peers.adapters.agintiflow.files import stamp
from peers.adapters.agintiflow.index import Index, IndexRow
from peers.adapters.base import Glance, Problem
from peers.ids import is_session_id

# Each can change alone: state by rename, the log by appends of several programs, the inbox by its lock's holder.
WATCHED = ("events.jsonl", "inbox.jsonl", "inbox-claims.jsonl", "inbox-acknowledgements.jsonl")
POINTER_LEVELS = 12
COLD = 250
HOT_SECONDS = 60.0
SETTLED_SECONDS = 2.0


class Refused(Exception):
    """This folder is no session that AgentLink may touch; the problem says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.sentence)
        self.problem = problem


def locate(sessions: Path, session_id: str) -> Path | None:
    """The session's folder, or None. Raises Refused for an unsafe id and for a link that leaves the home."""
    if not is_session_id(session_id):
        sentence = "A session's folder was skipped: its name may only have letters, digits and . _ : - and no '..'."
        raise Refused(Problem("unsafe_id", sentence, shown_name(session_id)))
    folder = sessions / session_id
    if folder.is_symlink() and not folder.resolve().is_relative_to(sessions.parent.resolve()):
        sentence = f"The folder of session {session_id} is a link that leaves AgInTiFlow's home; it is not followed."
        raise Refused(Problem("link_leaves_home", sentence, session_id))
    return folder if os.path.lexists(folder / "state.json") else None


class Glances:
    """Every session's stamp, call after call. Folders without state.json are leftovers of failed sends: no sessions.

    A session that nobody works on does not change for weeks: of those only `COLD` are looked at in one call, in turn.
    What changed in the last `HOT_SECONDS`, is new or is watched is looked at in every call.
    """

    def __init__(self, sessions: Path, index: Index) -> None:
        self._sessions, self._index = sessions, index
        self._folder = ""
        self._names: list[str] = []
        self._problems: list[Problem] = []
        self._stamps: dict[str, str] = {}
        self._hot: dict[str, float] = {}
        self._turn = 0

    def glance(self, watched: Collection[str] = ()) -> Glance:
        try:
            self._list()
        except FileNotFoundError:
            return Glance({}, (), complete=True)
        except OSError as error:
            sentence = f"AgInTiFlow's sessions cannot be listed: {error.strerror}."
            return Glance({}, (Problem("store_unreadable", sentence, "sessions"),), complete=False)
        rows, moment, new = self._index.rows(), time.monotonic(), not self._stamps
        for name in self._wanted(watched, moment):
            self._look(name, rows.get(name), moment)
        if new:
            self._stamps = dict(sorted(self._stamps.items(), key=_log_time, reverse=True))
            self._hot.clear()  # everything is new to a process that has just started
        return Glance(dict(self._stamps), (*self._problems, *self._index.problems()))

    def _list(self) -> None:
        """The names, read again when the folder changed; one that changed just now may change within the same tick."""
        found = os.stat(self._sessions)
        folder = f"{found.st_ino}.{found.st_mtime_ns}"
        if folder == self._folder:
            return
        names = sorted(_folders(self._sessions))
        self._folder = folder if time.time() - found.st_mtime > SETTLED_SECONDS else ""
        self._names, self._problems = [], []
        for name, linked in names:
            if self._is_safe(name, linked):
                self._names.append(name)
        present = set(self._names)
        for name in [name for name in self._stamps if name not in present]:
            del self._stamps[name]

    def _is_safe(self, name: str, linked: bool) -> bool:
        if linked or not is_session_id(name):
            try:
                locate(self._sessions, name)
            except Refused as refused:
                self._problems.append(refused.problem)
                return False
        return True

    def _wanted(self, watched: Collection[str], moment: float) -> Iterable[str]:
        """Never stamped, watched, or changed lately; then the next of the others."""
        self._hot = {name: since for name, since in self._hot.items() if moment - since < HOT_SECONDS}
        if len(self._names) <= COLD:
            return self._names
        new = [name for name in self._names if name not in self._stamps]
        start = self._turn % len(self._names)
        self._turn = start + COLD
        turn = self._names[start : start + COLD]
        return dict.fromkeys([*new, *(name for name in watched if name in self._stamps), *self._hot, *turn])

    def _look(self, name: str, row: IndexRow | None, moment: float) -> None:
        prefix = f"{self._sessions}/{name}/"
        state = stamp(prefix + "state.json")
        if state == "-":
            self._stamps.pop(name, None)
            return
        now = " ".join([state, *_watched(prefix), row.digest if row else "-"])
        if self._stamps.get(name) != now:
            self._stamps[name], self._hot[name] = now, moment


def _log_time(item: tuple[str, str]) -> int:
    """When the log was last written, out of a session's stamp."""
    time_ns = item[1].split()[1].rpartition(".")[2]
    return int(time_ns) if time_ns.isdecimal() else 0


def _folders(sessions: Path) -> Iterator[tuple[str, bool]]:
    with os.scandir(sessions) as entries:
        for entry in entries:
            if entry.is_symlink() or entry.is_dir(follow_symlinks=False):
                yield entry.name, entry.is_symlink()


def _watched(prefix: str) -> Iterator[str]:
    return (stamp(prefix + name) for name in WATCHED)


def shown_name(name: str) -> str:
    """A folder's name that cannot harm whoever reads it."""
    return ascii(name[:80])


def project_root(session_id: str, indexed: str, command_cwd: str) -> str:
    """The project's absolute root: the index's, else the folder at or above the cwd with a pointer to this session,
    else the cwd.

    "" when none is an absolute path. A pointer's place is believed, never its content: repositories are foreign.
    """
    if _absolute(indexed):
        return os.path.normpath(indexed)
    if not _absolute(command_cwd):
        return ""
    return _pointed(session_id, Path(os.path.normpath(command_cwd))) or os.path.normpath(command_cwd)


def _pointed(session_id: str, cwd: Path) -> str:
    for folder in (cwd, *cwd.parents)[:POINTER_LEVELS]:
        if os.path.lexists(folder / ".aginti-sessions" / session_id / "session.json"):
            return str(folder)
    return ""


def _absolute(path: str) -> bool:
    return os.path.isabs(path) and "\x00" not in path
