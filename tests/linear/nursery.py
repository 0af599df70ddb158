"""A process that has everything loaded and forks one child for each check, with or without a planted fault.

It reads ``{"fault": ..., "check": ...}`` a line and answers ``{"status": ..., "said": ...}``: 0 when the check passed,
1 when it failed, another status when it could not be run. A check is one of :mod:`tests.linear.checks`, or a pytest id.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Final

from tests import homes as homes  # first of all: scratch homes

PATIENCE: Final = 100
"""Seconds for one check."""
PYTEST: Final = ("-q", "-x", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:schemathesis")


def load() -> Path:
    """Everything of the product, and a migrated store; returns the home."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "agentlink_site.settings"
    import django

    django.setup()
    for name in ("boards", "peers", "evidence"):
        package = import_module(name)
        for module in walk_packages(package.__path__, f"{name}."):
            if ".migrations" not in module.name and ".management" not in module.name:
                import_module(module.name)
    from django.conf import settings
    from django.db import connection

    from agentlink_site.migrations import migrate

    migrate()
    connection.close()
    return Path(settings.AGENTLINK_HOME)


def run(home: Path, template: bytes, wish: dict[str, Any]) -> dict[str, Any]:
    """One check in a child of its own."""
    with tempfile.TemporaryFile() as said:
        pid = os.fork()
        if pid == 0:
            os.setsid()
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            os._exit(_checked(home, template, wish))
        ended = _wait(pid)
        said.seek(0)
        return {"status": ended, "said": said.read().decode("utf-8", "replace")[-4000:]}


def _wait(pid: int) -> int:
    """Its status; with it goes whatever it started."""
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(pid, signal.SIGKILL))
    signal.alarm(PATIENCE)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    signal.alarm(0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    return status


def _checked(home: Path, template: bytes, wish: dict[str, Any]) -> int:
    from tests.linear.checks import CHECKS
    from tests.linear.planted import FAULTS

    try:
        if wish["fault"]:
            FAULTS[wish["fault"]]()
        if wish["check"] not in CHECKS:
            import pytest

            return int(pytest.main([*PYTEST, wish["check"]]))
        for path in home.glob("agentlink.sqlite3*"):
            path.unlink()
        (home / "agentlink.sqlite3").write_bytes(template)
        CHECKS[wish["check"]]()
    except AssertionError:
        traceback.print_exc()
        return 1
    except BaseException:
        traceback.print_exc()
        return 3
    return 0


def main() -> None:
    """Until its input ends."""
    home = load()
    template = (home / "agentlink.sqlite3").read_bytes()
    for line in sys.stdin:
        print(json.dumps(run(home, template, json.loads(line))), flush=True)
    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
