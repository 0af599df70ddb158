"""Is the store's schema the one this program needs? Asked at every start, so it must cost next to nothing."""

from __future__ import annotations

from importlib.util import find_spec
from io import StringIO
from pathlib import Path

from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.utils import DatabaseError

from agentlink_site.config import ConfigError

Names = set[tuple[str, str]]


def is_current() -> bool:
    """Nothing to migrate. Raises ConfigError when a newer AgentLink has been here."""
    wanted, there = _on_disk(), _applied()
    newer = sorted(name for name in there - wanted if name[0] in _ours())
    if newer:
        raise ConfigError(
            f"This home was written by a newer AgentLink (it has {newer[0][0]} {newer[0][1]}); use that version."
        )
    return wanted <= there


def migrate() -> None:
    """Bring the store's schema up to date; what is derived from the log is derived anew, with its new columns."""
    had_log = "boards_event" in connection.introspection.table_names()
    call_command("migrate", interactive=False, verbosity=0)
    if had_log:
        call_command("rebuild", stdout=StringIO())


def _ours() -> set[str]:
    root = Path(__file__).resolve().parent.parent
    return {config.label for config in apps.get_app_configs() if Path(config.path).parent == root}


def _on_disk() -> Names:
    """The migrations that the installed apps have, by their files' names: no import, no graph."""
    found: Names = set()
    for config in apps.get_app_configs():
        folder = Path(config.path) / "migrations"
        if folder.is_dir() and find_spec(f"{config.name}.migrations"):
            found |= {(config.label, file.stem) for file in folder.glob("[!_]*.py")}
    return found


def _applied() -> Names:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT app, name FROM django_migrations")
            return set(cursor.fetchall())
    except DatabaseError:  # a new store has no such table
        return set()
