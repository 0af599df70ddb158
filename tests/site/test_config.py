"""The settings and the home: each wrong one is a sentence, nothing foreign is used."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agentlink_site import config as configuration
from agentlink_site.config import ConfigError, explain, load, unknown_variables
from agentlink_site.database import databases
from agentlink_site.home import ensure_home, instance_id, read_private, secret_key, take_lock, write_private
from tests.site.servers import ROOT, environment, run


@pytest.fixture(autouse=True)
def no_settings_of_our_own(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("AGENTLINK_", "AGINTIFLOW_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home.parent))


def test_the_home_is_found_in_three_places(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load().home == home.parent / ".agintiflow/agentlink"
    monkeypatch.setenv("AGINTIFLOW_HOME", str(home / "a"))
    assert (load().home, load().agintiflow_home) == (home / "a/agentlink", home / "a")
    monkeypatch.setenv("AGENTLINK_HOME", "~/own")
    assert (load().home, load().agintiflow_home) == (home.parent / "own", home / "a")
    monkeypatch.setenv("AGENTLINK_HOME", "")
    assert load().home == home / "a/agentlink"


def test_the_defaults_are_those_of_the_documentation() -> None:
    config = load()
    assert (config.host, config.port, config.mode, config.log_level) == ("127.0.0.1", 8767, None, "warning")
    assert (config.database_url, config.node, config.board) == (None, None, None)


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("PORT", "abc", "whole number"), ("PORT", "65536", "65535"), ("PORT", "-1", "from 0"), ("PORT", "1.5", "whole"),
        ("HOST", "0.0.0.0", "this machine only"), ("HOST", "localhost.evil", "127.0.0.1"), ("HOME", "x/y", "absolute"),
        ("DATABASE_URL", "mysql://u:hunter2@h/d", "unset"), ("DATABASE_URL", "postgresql://u:hunter2@h", "unset"),
        ("NODE", "../x", "id of a node"), ("NODE", "a b", "letters"), ("BOARD", "a..b", "id of a board"),
        ("MODE", "mesh", "not a coordination mode"), ("MODE", "all", "off or local"),
        ("MODE", "team", "not there yet"), ("LOG_LEVEL", "loud", "debug"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_one_sentence(monkeypatch: pytest.MonkeyPatch, name: str, value: str, right: str) -> None:
    monkeypatch.setenv(f"AGENTLINK_{name}", value)
    with pytest.raises(ConfigError) as wrong:
        load()
    sentence = str(wrong.value)
    assert sentence.startswith(f"AGENTLINK_{name} ")
    assert right in sentence
    assert "hunter2" not in sentence
    assert "\n" not in sentence


def test_another_database_is_refused_instead_of_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTLINK_DATABASE_URL", "postgresql://me:hunter2@localhost/board")
    with pytest.raises(ConfigError, match="unset it") as refused:
        databases(load())
    assert "hunter2" not in str(refused.value)


def test_every_setting_says_what_would_be_right() -> None:
    assert set(configuration.RIGHT) == set(configuration.Config.model_fields)


def test_explain_names_the_source_and_keeps_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTLINK_DATABASE_URL", "postgresql://me:hunter2@localhost/board")
    monkeypatch.setenv("AGENTLINK_PORT", "9000")
    lines = {line.name: line for line in explain(load(host="localhost"))}
    assert lines["AGENTLINK_PORT"][1:] == ("9000", "environment AGENTLINK_PORT")
    assert lines["AGENTLINK_HOST"][1:] == ("127.0.0.1", "option --host")
    assert lines["AGENTLINK_MODE"].source == "default"
    assert "hunter2" not in repr(lines)


def test_a_misspelt_variable_is_noticed() -> None:
    assert unknown_variables({"AGENTLINK_PROT": "1", "AGENTLINK_PORT": "1", "OTHER": "1"}) == ["AGENTLINK_PROT"]


def test_a_missing_home_is_made_private_with_its_parent(home: Path) -> None:
    made = ensure_home(load())
    assert [stat.S_IMODE(path.stat().st_mode) for path in (made, made.parent)] == [0o700, 0o700]


def test_agintiflows_own_folder_is_left_alone_and_ours_is_closed(home: Path) -> None:
    ours = load().home
    ours.mkdir(parents=True, mode=0o755)
    ours.chmod(0o755)
    ours.parent.chmod(0o755)
    (ours / "agentlink.sqlite3").touch(0o644)
    ensure_home(load())
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (ours.parent, ours, ours / "agentlink.sqlite3")]
    assert modes == [0o755, 0o700, 0o600]


@pytest.mark.parametrize("kind", ["link to a folder", "dangling link", "file"])
def test_something_else_in_the_place_of_the_home_is_refused(home: Path, kind: str) -> None:
    target = home.parent / "elsewhere"
    if kind == "link to a folder":
        target.mkdir()
    if kind == "file":
        home.touch()
    else:
        home.symlink_to(target)
    with pytest.raises(ConfigError, match="folder"):
        ensure_home(load(home=home))
    refused = run(home, "up", "--port", "0")
    assert refused.returncode == 2
    assert len(refused.stderr.strip().splitlines()) == 1
    assert list(target.iterdir() if target.exists() else []) == []


def test_a_home_of_another_user_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(ConfigError, match="another user"):
        ensure_home(load(home=home))


def test_a_home_that_cannot_be_made_is_a_sentence() -> None:
    with pytest.raises(ConfigError, match="cannot be made"):
        ensure_home(load(home="/proc/agentlink/home"))


def test_the_secret_is_made_once_even_by_many_at_once(home: Path) -> None:
    home.mkdir(mode=0o700)
    secrets: list[str] = []
    threads = [threading.Thread(target=lambda: secrets.append(secret_key(home))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(secrets) == 8
    assert len(set(secrets)) == 1
    assert [path.name for path in home.iterdir()] == ["secret.key"]
    assert stat.S_IMODE((home / "secret.key").stat().st_mode) == 0o600


def test_a_damaged_secret_is_a_sentence(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "secret.key").write_text("short")
    with pytest.raises(ConfigError, match="damaged"):
        secret_key(home)


def test_the_instance_id_does_not_tell_the_secret() -> None:
    assert instance_id("a" * 64) != instance_id("b" * 64)
    assert len(instance_id("a" * 64)) == 12


def test_a_private_file_is_replaced_whole_and_never_through_a_link(home: Path) -> None:
    home.mkdir(mode=0o700)
    target, path = home / "target", home / "file"
    target.write_bytes(b"theirs")
    path.symlink_to(target)
    with pytest.raises(ConfigError):
        read_private(path)
    write_private(path, b"ours")
    assert (read_private(path), target.read_bytes()) == (b"ours", b"theirs")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(entry.name for entry in home.iterdir()) == ["file", "target"]


def test_a_pipe_in_the_place_of_a_file_is_refused_without_waiting(home: Path) -> None:
    home.mkdir(mode=0o700)
    os.mkfifo(home / "file")
    with pytest.raises(ConfigError, match="regular file"):
        read_private(home / "file")


def test_a_lock_is_held_until_it_is_closed(home: Path) -> None:
    home.mkdir(mode=0o700)
    first = take_lock(home / "lock", wait=False)
    assert first is not None
    assert take_lock(home / "lock", wait=False) is None
    os.close(first)
    second = take_lock(home / "lock", wait=True)
    assert second is not None
    os.close(second)


def test_the_newer_sqlite_takes_the_place_of_an_old_one(home: Path) -> None:
    script = (
        "import sqlite3, importlib.util as u; old = sqlite3.sqlite_version_info < (3, 51, 3)\n"
        "import agentlink_site.settings, sys\n"
        "wanted = 'pysqlite3' if old and u.find_spec('pysqlite3') else 'sqlite3'\n"
        "from django.db.backends.sqlite3.base import Database\n"
        "print(wanted == sys.modules['sqlite3'].__name__ == Database.__name__.partition('.')[0])\n"
    )
    seen = subprocess.run(
        [sys.executable, "-c", script], env=environment(home), cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert seen.stdout.strip() == "True"


def test_an_old_sqlite_is_a_warning(home: Path) -> None:
    said = run(home, "doctor").stdout
    assert "SQLite" in said
