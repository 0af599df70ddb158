from __future__ import annotations

import os
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from peers import trust
from peers.models import NodeSecret

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def home(tmp_path: Path, settings: Settings) -> Path:
    settings.AGENTLINK_HOME = tmp_path / "agentlink"
    return tmp_path / "agentlink"


def test_a_secret_proves_its_node_and_is_in_its_file_only(home: Path) -> None:
    token = trust.issue("bob")
    assert (trust.verify(token), trust.read("bob")) == ("bob", token)
    stored = NodeSecret.objects.get()
    assert token not in str(vars(stored))
    assert (home / "tokens").stat().st_mode & 0o777 == 0o700
    assert (home / "tokens" / "bob").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in (home / "tokens").iterdir()) == ["bob"]


def test_modes_do_not_depend_on_the_umask(home: Path) -> None:
    before = os.umask(0)
    try:
        home.mkdir()
        (home / "tokens").mkdir()
        trust.issue("bob")
    finally:
        os.umask(before)
    assert (home / "tokens").stat().st_mode & 0o777 == 0o700
    assert (home / "tokens" / "bob").stat().st_mode & 0o777 == 0o600


def test_a_new_secret_ends_the_old_one() -> None:
    old, new = trust.issue("bob"), trust.issue("bob")
    assert (trust.verify(old), trust.verify(new), trust.read("bob")) == (None, "bob", new)


def test_a_revoked_secret_proves_nothing(home: Path) -> None:
    token = trust.issue("bob")
    assert trust.revoke("bob") is True
    assert (trust.verify(token), trust.read("bob"), trust.revoke("bob")) == (None, None, False)
    assert not (home / "tokens" / "bob").exists()


def test_secrets_are_different_and_end_in_their_checksum() -> None:
    tokens = {trust.issue("bob") for _ in range(20)}
    assert len(tokens) == 20
    assert all(trust.is_token(token) and len(token) == 53 for token in tokens)


def _damaged(token: str) -> list[str]:
    swapped = token[:10] + ("a" if token[10] != "a" else "b") + token[11:]
    unknown = trust.PREFIX + "0" * 43 + trust._checksum(trust.PREFIX + "0" * 43)
    arabic = token[:-1] + "\u0661"
    return [
        "",
        "Bearer ",
        token[:-1],
        token + "0",
        token.lower(),
        swapped,
        unknown,
        f"{token}\x00",
        f" {token}",
        arabic,
    ]


@pytest.mark.parametrize("index", range(10))
def test_anything_but_the_exact_secret_proves_nothing(index: int) -> None:
    token = trust.issue("bob")
    assert trust.verify(_damaged(token)[index]) is None
    assert trust.verify(token) == "bob"


@pytest.mark.parametrize(
    "node_id", ["", ".", "..", "../x", "a/b", ".hidden", "a..b", "x" * 121, "b\u0456b", "a\x00", "a\n"]
)
def test_an_id_that_cannot_name_a_file_is_refused(node_id: str, home: Path) -> None:
    for action in (trust.issue, trust.read, trust.revoke):
        with pytest.raises(ValueError, match="is no node id"):
            action(node_id)
    assert not home.exists()


def test_the_program_s_own_wider_ids_are_accepted() -> None:
    assert trust.verify(trust.issue("aginti-Lab.host:dev_8944b07f")) == "aginti-Lab.host:dev_8944b07f"


def test_a_file_that_others_can_read_is_refused(home: Path) -> None:
    trust.issue("bob")
    (home / "tokens" / "bob").chmod(0o644)
    with pytest.raises(trust.UnsafeTokenFile, match="0600"):
        trust.read("bob")


def test_a_link_in_place_of_the_file_is_refused_and_replaced_not_followed(home: Path, tmp_path: Path) -> None:
    trust.issue("bob")
    (tmp_path / "target").write_text("mine")
    (home / "tokens" / "bob").unlink()
    (home / "tokens" / "bob").symlink_to(tmp_path / "target")
    with pytest.raises(trust.UnsafeTokenFile):
        trust.read("bob")
    token = trust.issue("bob")
    assert ((tmp_path / "target").read_text(), trust.read("bob")) == ("mine", token)


def test_a_link_in_place_of_the_folder_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    home.mkdir()
    (home / "tokens").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(trust.UnsafeTokenFile, match="link"):
        trust.issue("bob")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert NodeSecret.objects.count() == 0


def test_a_file_with_a_secret_of_another_node_or_nothing_is_no_secret(home: Path) -> None:
    trust.issue("bob")
    alice = trust.issue("alice")
    path = home / "tokens" / "bob"
    for text in (alice, "", "x" * 10_000):
        path.write_text(text)
        assert trust.read("bob") is None
