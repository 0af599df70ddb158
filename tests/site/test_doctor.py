"""`agentlink doctor` looks at real homes, good and bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.servers import Server, run

pytestmark = pytest.mark.process


def lines(home: Path, **more: str) -> tuple[int, dict[str, str]]:
    done = run(home, "doctor", **more)
    assert done.stderr == ""
    parts = [(line[:4].strip(), *line[6:].split(": ", 1)) for line in done.stdout.splitlines()]
    return done.returncode, {name: f"{state} {sentence}" for state, name, sentence in parts}


def test_a_healthy_home_has_nothing_bad(home: Path) -> None:
    with Server(home) as server:
        status, seen = lines(home)
        assert status == 0
        assert (
            seen["server"]
            == f"ok running at {server.ready['url']} (pid {server.process.pid}, since "
            + seen["server"].rpartition("since ")[2]
        )
        assert "is whole" in seen["store"]
        assert seen["AGENTLINK_HOME"] == f"ok {home} (environment AGENTLINK_HOME)"
        assert {"Python", "SQLite", "home", "disk", "AgInTiFlow sessions"} <= set(seen)
    assert lines(home)[1]["server"].startswith("ok not running")


def test_an_open_agintiflow_folder_is_a_warning_and_stays_as_it_is(home: Path) -> None:
    shared = home.parent / "agintiflow"
    shared.mkdir(mode=0o755)
    shared.chmod(0o755)
    status, seen = lines(home)
    assert status == 0
    assert seen["AgInTiFlow's home"].startswith("warn")
    assert shared.stat().st_mode & 0o777 == 0o755


def test_a_damaged_store_is_bad(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "agentlink.sqlite3").write_bytes(b"this is no database" * 100)
    status, seen = lines(home)
    assert status == 1
    assert seen["store"].startswith("bad")


def test_a_wrong_setting_is_bad_and_a_misspelt_one_a_warning(home: Path) -> None:
    status, seen = lines(home, AGENTLINK_PORT="many")
    assert (status, seen["settings"][:3]) == (1, "bad")
    status, seen = lines(home, AGENTLINK_PROT="1")
    assert (status, seen["AGENTLINK_PROT"][:4]) == (0, "warn")


def test_a_symlinked_home_is_bad(home: Path) -> None:
    home.symlink_to(home.parent)
    status, seen = lines(home)
    assert (status, seen["home"][:3]) == (1, "bad")


def test_sessions_are_counted(home: Path) -> None:
    (home.parent / "agintiflow/sessions/one").mkdir(parents=True)
    (home.parent / "agintiflow/sessions/ghost").mkdir()
    (home.parent / "agintiflow/sessions/one/state.json").write_text("{}")
    assert lines(home)[1]["AgInTiFlow sessions"].startswith("ok 1 in ")
