"""Whole homes: built in a process of their own, kept for the next run, copied."""

from __future__ import annotations

import fcntl
import gc
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tests.crowd.history import history
from tests.crowd.sessions import sessions
from tests.crowd.size import Crowd, Size

ROOT: Final = Path(__file__).resolve().parents[2]
STORED: Final = ("boards/commands", "boards/events", "boards/migrations", "boards/projections", "boards/rules",
                 "boards/schemas", "boards/folder", "boards/log.py", "boards/models.py", "peers/migrations",
                 "peers/models.py", "tests/crowd", "tests/people.py")  # fmt: skip
"""The sources that decide what stands in a built home."""
KEPT_SECONDS: Final = 2 * 3600
LEASE_ENDS: Final = 12 * 3600
"""A built home is used for so long at most: the leases in it must not have ended."""


def build(folder: Path, size: Size) -> Crowd:
    """Makes a whole home in a folder that does not exist yet, in a process of its own. Raises when it cannot."""
    folder.mkdir(parents=True, mode=0o700)
    sessions(folder, size.sessions)
    python(folder, "from tests.crowd.homes import fill; fill()", json.dumps(asdict(size)))
    return opened(folder)


def opened(folder: Path) -> Crowd:
    """The crowd that was made in this folder, or copied to it."""
    made = json.loads((folder / "crowd.json").read_text())
    return Crowd(**{**made, "folder": str(folder)})


def copied(size: Size, to: Path) -> Crowd:
    """A home of its own: a copy of the one that is kept for this size, which is built when there is none."""
    shelf = _shelf()
    with (shelf / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever comes second waits for the first one's
        kept = shelf / _key(size)
        if kept.exists() and kept.stat().st_mtime < time.time() - LEASE_ENDS:
            shutil.rmtree(kept)
        if not kept.exists():
            _tidy(shelf)
            draft = shelf / f"draft-{os.getpid()}"
            build(draft, size)
            draft.rename(kept)
        (kept / "taken").touch()
        shutil.copytree(kept, to, ignore=shutil.ignore_patterns("taken"))
    return opened(to)


def _shelf() -> Path:
    shelf = Path(tempfile.gettempdir()) / f"agentlink-crowd-{os.getuid()}"
    shelf.mkdir(mode=0o700, exist_ok=True)
    if shelf.is_symlink() or shelf.stat().st_uid != os.getuid():
        raise PermissionError(f"{shelf} belongs to somebody else; remove it.")
    return shelf


def _key(size: Size) -> str:
    digest = hashlib.sha256(json.dumps(asdict(size)).encode())
    for name in STORED:
        place = ROOT / name
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _tidy(shelf: Path) -> None:
    for old in shelf.iterdir():
        taken = old / "taken" if (old / "taken").exists() else old
        if old.is_dir() and taken.stat().st_mtime < time.time() - KEPT_SECONDS:
            shutil.rmtree(old)


def python(folder: Path, *arguments: str) -> None:
    """Runs a statement with Django on the home in this folder."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AGENTLINK_", "AGINTIFLOW_", "DJANGO_"))}
    clean |= {"AGENTLINK_HOME": str(folder / "agentlink"), "AGINTIFLOW_HOME": str(folder / "agintiflow")}
    clean |= {"DJANGO_SETTINGS_MODULE": "agentlink_site.settings", "PYTHONPATH": str(ROOT)}
    program = "import django; django.setup(); "
    done = subprocess.run(
        [sys.executable, "-c", program + arguments[0], str(folder), *arguments[1:]],
        env=clean, cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"The home in {folder} could not be made:\n{done.stderr}")


def settle() -> None:
    """What a server does in its first seconds: every session is looked at, every board's folder is written."""
    from boards import folder
    from boards.discovery import scan_once

    scan_once()
    while folder.attempt_once():
        pass


def fill() -> None:
    """The other end of :func:`build`. Not durable until the very end: nobody misses half a home."""
    from django.db import connection

    from agentlink_site.migrations import migrate

    folder, size = Path(sys.argv[1]), Size(**json.loads(sys.argv[2]))
    migrate()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous=OFF")
        gc.disable()
        made = history(size, folder)
        settle()
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    (folder / "crowd.json").write_text(json.dumps(asdict(made)))
