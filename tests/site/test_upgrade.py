"""A home that an earlier version wrote: it is brought up to date at the first start, and nothing of it is lost."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.site.servers import WAIT, Server, environment, run

FIRST = Path(__file__).parent.parent / "fixtures" / "first-home.sqlite3.gz"
"""Written by version 0.1.0 before it had edits, offers and the board folder; one finished board, one going on."""
pytestmark = pytest.mark.process


@pytest.fixture
def first_home(home: Path) -> Path:
    home.mkdir(mode=0o700)
    store = home / "agentlink.sqlite3"
    store.write_bytes(gzip.decompress(FIRST.read_bytes()))
    store.chmod(0o600)
    return home


def test_boards_of_the_first_version_go_on(first_home: Path) -> None:
    with Server(first_home):
        board = json.loads(run(first_home, "board", "going-on", "--json").stdout)
        task = board["tasks"][0]
        assert (task["status"], task["lastHolder"]) == ("open", "alice"), "its lease ended long ago, and says so"
        assert len(board["messages"]) > 3
        edited = run(first_home, "contract", "edit", "going-on", "run", "--objective", "Record two")
        assert edited.returncode == 0, edited.stderr


def test_what_is_derived_is_derived_anew_with_its_new_columns(first_home: Path) -> None:
    assert run(first_home, "status").returncode == 0
    script = (
        "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'agentlink_site.settings'\n"
        "import django; django.setup()\n"
        "from django.core.management import call_command\n"
        "from boards.models import Delivery\n"
        "call_command('verify_log'); call_command('rebuild', '--check')\n"
        "assert Delivery.objects.exclude(sender='').count() == Delivery.objects.count() > 3\n"
    )
    checked = subprocess.run(
        [sys.executable, "-c", script], env=environment(first_home), capture_output=True, text=True, timeout=WAIT
    )
    assert checked.returncode == 0, checked.stderr
