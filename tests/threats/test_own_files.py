"""Our own files: private whatever the umask is, and never through somebody's link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.site.desks import Shell
from tests.site.servers import Server, run
from tests.threats.test_network import give, token_of

pytestmark = pytest.mark.process


def everything(home: Path) -> list[Path]:
    return [home, *home.rglob("*")]


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_no_file_of_a_whole_days_work_can_be_read_by_others(home: Path, umask: int) -> None:
    with Server(home, umask=umask, launcher=False) as server:
        token_of(server, "alice")
        board = give(server, "create_board", title="b", members={"alice": "worker"})["boardId"]
        contract = give(server, "propose_contract", boardId=board, objective="x")["contractId"]
        shell = Shell(home)
        shell.ok("claim", board, contract, "--as", "alice")
        shell.ok("evidence", "attach", board, "--contract", contract, "--summary", "x", "--as", "alice")
        run(home, "open")
        server.login()
        assert [path for path in everything(home) if path.lstat().st_mode & 0o077] == []
    assert [path for path in everything(home) if path.lstat().st_mode & 0o077] == []


STATE = [
    "agentlink.sqlite3", "agentlink.sqlite3-wal", "agentlink.sqlite3-shm", "agentlink.sqlite3.lock", "secret.key",
    "server.lock", "server.json", "agentlink.sock", "open.html", "migrate.lock", "tokens", "fencing", "boards",
    "artifacts", "identity.json", "peers.json", "private-mirrors",
]  # fmt: skip


@pytest.mark.parametrize("name", STATE)
@pytest.mark.parametrize("to", ["file", "folder", "nothing"])
def test_a_planted_link_at_any_place_of_ours_is_refused_and_not_written_through(home: Path, name: str, to: str) -> None:
    home.mkdir(mode=0o700)
    outside = home.parent / "outside"
    outside.mkdir()
    (outside / "file").write_text("theirs")
    target = {"file": outside / "file", "folder": outside, "nothing": outside / "nothing"}[to]
    (home / name).symlink_to(target)
    refused = run(home, "status")
    assert refused.returncode == 2
    assert "symbolic link" in refused.stderr
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_text() == "theirs"


def test_a_link_in_the_place_of_a_token_is_replaced_and_not_followed(home: Path) -> None:
    with Server(home, launcher=False) as server:
        token_of(server, "alice")
        outside = home.parent / "outside"
        outside.write_text("theirs")
        outside.chmod(0o644)
        (home / "tokens" / "bob").symlink_to(outside)
        token_of(server, "bob")
        assert outside.read_text() == "theirs"
        assert not (home / "tokens" / "bob").is_symlink()
        (home / "tokens" / "alice").unlink()
        (home / "tokens" / "alice").symlink_to(outside)
    refused = run(home, "status", "--as", "alice")
    assert refused.returncode == 2
    assert "theirs" not in refused.stderr + refused.stdout


def test_a_pointer_in_a_project_is_ignored_whole(home: Path) -> None:
    """There is no project pointer yet: nothing in a repository is read, joined or run."""
    canary = home.parent / "ran"
    pointer = home.parent / ".aginti" / "agentlink.json"
    pointer.parent.mkdir()
    hostile = '{"boardId": "../../etc", "command": "touch %s", "autoJoin": true, "hooks": {"start": "touch %s"}}'
    shell = Shell(home)
    plain = shell.json("boards")
    for text in (hostile % (canary, canary), "[" * 1_000_000, "x" * 10_000_000, "\x00"):
        pointer.write_text(text)
        assert shell.json("boards")["boards"] == plain["boards"] == []
        assert shell.run("board").status == 2
    pointer.unlink()
    os.symlink("/etc/passwd", pointer)
    assert shell.run("board").status == 2
    os.unlink(pointer)
    os.mkfifo(pointer)
    assert shell.run("board").status == 2
    assert not canary.exists()
