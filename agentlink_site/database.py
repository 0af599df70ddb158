"""Which database, and which SQLite: one file in the home."""

from __future__ import annotations

import sqlite3
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agentlink_site.config import Config, ConfigError

# Older ones can corrupt a WAL database that several processes write.
FIRST_SAFE_SQLITE = (3, 51, 3)
FILE_NAME = "agentlink.sqlite3"
BUSY_SECONDS = 10


def use_newest_sqlite() -> None:
    """Put the `pysqlite3` wheel in the place of `sqlite3` when the standard library's is too old.

    Must run before anything imports Django's SQLite backend.
    """
    if sqlite3.sqlite_version_info >= FIRST_SAFE_SQLITE or find_spec("pysqlite3") is None:
        return
    sys.modules["sqlite3"] = import_module("pysqlite3")
    sys.modules["sqlite3.dbapi2"] = import_module("pysqlite3.dbapi2")


def databases(config: Config) -> dict[str, dict[str, Any]]:
    """Django's DATABASES for this start."""
    if config.database_url is not None:
        raise ConfigError("AGENTLINK_DATABASE_URL is set, but this version keeps everything in its own file; unset it.")
    return {"default": _sqlite(config.home)}


def _sqlite(home: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(home / FILE_NAME),
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": BUSY_SECONDS,
            # Django converts times and booleans by itself; the driver doing it too costs a fifth of a command.
            "detect_types": 0,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON",
        },
        # A file: in memory there is no WAL and no second process.
        "TEST": {"NAME": str(home / "test.sqlite3")},
    }
