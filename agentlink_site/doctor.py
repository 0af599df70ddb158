"""`agentlink doctor`: everything that AgentLink needs, looked at once, each with a sentence."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Literal, NamedTuple

from agentlink_site import running
from agentlink_site.config import Config, ConfigError, explain, load, unknown_variables
from agentlink_site.database import FILE_NAME, FIRST_SAFE_SQLITE, use_newest_sqlite
from agentlink_site.home import ensure_home

use_newest_sqlite()

import sqlite3  # noqa: E402  (whichever of the two runs)

LOW_DISK_BYTES = 512 * 1024 * 1024

State = Literal["ok", "warn", "bad"]


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    state: State
    sentence: str


def report() -> list[Check]:
    """Every check, in the order in which a person would ask. Never raises: what fails is a `bad` check."""
    try:
        config = load()
    except ConfigError as error:
        return [Check("settings", "bad", str(error)), *_programs()]
    return [check for part in PARTS for check in _safely(part, config)]


def _safely(part: Callable[[Config], Iterable[Check]], config: Config) -> list[Check]:
    name = part.__name__.strip("_").replace("_", " ")
    try:
        return list(part(config))
    except (ConfigError, OSError, sqlite3.Error) as error:
        return [Check(name, "bad", str(error))]


def _settings(config: Config) -> Iterator[Check]:
    for line in explain(config):
        yield Check(line.name, "ok", f"{line.value} ({line.source})")
    for name in unknown_variables():
        yield Check(name, "warn", "This variable means nothing to AgentLink; is it spelled right?")


def _programs(config: Config | None = None) -> Iterator[Check]:
    yield Check("Python", "ok", f"{platform.python_version()} at {sys.executable}")
    which = f"{sqlite3.sqlite_version} from {sqlite3.__name__}"
    if sqlite3.sqlite_version_info >= FIRST_SAFE_SQLITE:
        yield Check("SQLite", "ok", which)
    else:
        wanted = ".".join(map(str, FIRST_SAFE_SQLITE))
        yield Check("SQLite", "warn", f"{which}; before {wanted} several writers can damage the store (a WAL bug).")


def _home(config: Config) -> Iterator[Check]:
    ensure_home(config)
    yield Check("home", "ok", f"{config.home} is yours alone")
    shared = config.agintiflow_home
    if shared.is_dir() and shared.stat().st_mode & 0o077:
        mode = oct(shared.stat().st_mode & 0o777)[2:]
        yield Check(
            "AgInTiFlow's home", "warn", f"{shared} has mode {mode}; others may read it (`chmod 700` closes it)."
        )


def _store(config: Config) -> Iterator[Check]:
    path = config.home / FILE_NAME
    if not path.exists():
        yield Check("store", "ok", "not made yet; `agentlink up` makes it")
        return
    with closing(sqlite3.connect(path, timeout=5)) as connection:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    size = f"{path.stat().st_size / 1e6:.1f} MB"
    if found == "ok":
        yield Check("store", "ok", f"{path} ({size}) is whole")
    else:
        yield Check("store", "bad", f"{path} is damaged ({found}); restore it from a copy.")


def _folder(config: Config) -> Iterator[Check]:
    """What of the board folder needs a person: torn lines of others, files that cannot be written."""
    path = config.home / FILE_NAME
    if not path.exists():
        return
    with closing(sqlite3.connect(path, timeout=5)) as connection:
        known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'boards_foldercursor'").fetchone()
        rows = connection.execute("SELECT board_id, problems FROM boards_foldercursor").fetchall() if known else []
    found = [(board_id, one["sentence"]) for board_id, problems in rows for one in json.loads(problems)]
    for board_id, sentence in found:
        yield Check("board folder", "warn", f"{board_id}: {sentence}")
    if not found:
        yield Check("board folder", "ok", f"{config.home / 'boards'} is in step")


def _server(config: Config) -> Iterator[Check]:
    found = running.read(config.home) if config.home.is_dir() else None
    if found is None:
        yield Check("server", "ok", "not running; `agentlink up` starts it")
    else:
        yield Check("server", "ok", f"running at {found.url} (pid {found.pid}, since {found.startedAt})")


def _sessions(config: Config) -> Iterator[Check]:
    folder = config.agintiflow_home / "sessions"
    count = sum(1 for _ in folder.glob("*/state.json"))
    yield Check("AgInTiFlow sessions", "ok", f"{count} in {folder}" if count else f"none found in {folder}")


def _disk(config: Config) -> Iterator[Check]:
    free = shutil.disk_usage(config.home).free
    state: State = "warn" if free < LOW_DISK_BYTES else "ok"
    yield Check("disk", state, f"{free / 1e9:.1f} GB free where the home is")


PARTS: tuple[Callable[[Config], Iterable[Check]], ...] = (
    _settings, _programs, _home, _store, _folder, _server, _sessions, _disk,
)  # fmt: skip
