"""Which sessions are there, by folder, and where their project is. Nothing is opened here but folders.

`<home>/sessions/<id>` is where a session is, whatever the index or a pointer says: their `sessionDir` is a copy of the
path at the time of writing and wrong after a home moved. What only the index knows has no log and no inbox: it is no
session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from peers.adapters.agintiflow.files import stamp
from peers.adapters.agintiflow.index import Index
from peers.adapters.base import Glance, Problem
from peers.ids import is_session_id

# Each can change alone: state by rename, the log by appends of several programs, the inbox by its lock's holder.
WATCHED = ("events.jsonl", "inbox.jsonl", "inbox-claims.jsonl", "inbox-acknowledgements.jsonl")
POINTER_LEVELS = 12


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


def glance(sessions: Path, index: Index) -> Glance:
    """Every session's stamp. Folders without state.json are leftovers of failed sends: no sessions."""
    problems: list[Problem] = []
    try:
        names = sorted(_folders(sessions))
    except FileNotFoundError:
        return Glance({}, (), complete=True)
    except OSError as error:
        sentence = f"AgInTiFlow's sessions cannot be listed: {error.strerror}."
        return Glance({}, (Problem("store_unreadable", sentence, "sessions"),), complete=False)
    rows = index.rows()
    stamps: dict[str, str] = {}
    for name, linked in names:
        if linked or not is_session_id(name):
            try:
                locate(sessions, name)
            except Refused as refused:
                problems.append(refused.problem)
                continue
        state = stamp(f"{sessions}/{name}/state.json")
        if state != "-":
            row = rows.get(name)
            stamps[name] = " ".join([state, *_watched(f"{sessions}/{name}/"), row.digest if row else "-"])
    return Glance(stamps, (*problems, *index.problems()))


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
