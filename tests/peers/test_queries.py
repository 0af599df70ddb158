from __future__ import annotations

from pathlib import Path

import pytest

from peers import queries, roots
from peers.adapters import adapter, sources
from tests.peers import stores
from tests.peers.conftest import Scanner


@pytest.fixture
def seven(store: Path, scan_store: Scanner) -> None:
    """Sessions s0 to s6, s6 active last; even ones work in one project, odd ones in another."""
    for number in range(7):
        at = f"2026-11-30T10:0{number}:00.000Z"
        state = {
            "goal": f"Record run {number}",
            "title": "Näch" if number == 3 else "",
            "commandCwd": f"/home/u/proj{number % 2}",
            "updatedAt": "",
        }
        stores.make_session(store, f"s{number}", [stores.event("session.finished", at)], state)
    scan_store()


def _ids(page: queries.Page) -> list[str]:
    return [row.session_id for row in page.items]


def test_the_newest_activity_comes_first_in_pages(seven: None) -> None:
    first = queries.sessions(per_page=3)
    last = queries.sessions(per_page=3, page=99)
    assert (_ids(first), first.total, first.page, first.pages) == (["s6", "s5", "s4"], 7, 1, 3)
    assert (_ids(last), last.page) == (["s0"], 3)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", 7),
        ("RECORD run", 7),
        ("run 4", 1),
        ("s4", 1),
        ("näch", 1),
        ("proj1", 3),
        ("proj1 record 3", 1),
        ("100%", 0),
        ("_", 0),
        ("\x00", 7),
    ],
)
def test_every_word_must_occur_somewhere(seven: None, text: str, found: int) -> None:
    assert queries.sessions(text).total == found


def test_sessions_are_found_by_project_key_and_status(seven: None) -> None:
    key = queries.project_key("/home/u/proj1")
    assert _ids(queries.sessions(project_key=key)) == ["s5", "s3", "s1"]
    assert queries.sessions(status="failed").total == 0


def test_one_session_by_its_id(seven: None) -> None:
    found = queries.session("s2")
    assert found is not None and found.key == "agintiflow:s2"
    assert queries.session("s2", source="codex") is None
    assert (queries.session("nobody"), queries.roots("nobody")) == (None, None)
    kept = queries.roots("s2")
    assert kept is not None and kept.command_cwd == "/home/u/proj0"
    assert queries.session_ids() == [f"s{number}" for number in range(7)]


def test_freshness_tells_when_the_stores_were_looked_at(seven: None) -> None:
    fresh = queries.freshness()
    assert fresh.scanned_at is not None
    assert fresh.seen == 7


@pytest.mark.django_db
def test_before_the_first_scan_nothing_is_fresh() -> None:
    assert queries.freshness() == queries.Freshness(None, 0, [])


@pytest.mark.django_db
def test_a_project_key_is_equal_for_equal_roots_and_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    key = roots.project_key(str(tmp_path / "real"))
    assert key == roots.project_key(f"{tmp_path}/link/") == roots.project_key(f"{tmp_path}/x/../real")
    assert key != roots.project_key(str(tmp_path / "real2"))
    assert len(key) == 16
    assert roots.project_key("") == roots.project_key("relative") == roots.project_key("/nul\x00") == ""


@pytest.mark.parametrize(("root", "name"), [("/home/u/proj", "proj"), ("/home/u/proj/", "proj"), ("/", ""), ("", "")])
def test_a_project_is_named_by_its_folder(root: str, name: str) -> None:
    assert roots.project_name(root) == name


def test_an_unknown_source_is_an_error_with_the_nearest_name() -> None:
    assert sources() == ("agintiflow",)
    with pytest.raises(LookupError, match="Did you mean agintiflow"):
        adapter("agentiflow")


def test_reach_says_how_and_with_which_command(seven: None) -> None:
    found = queries.session("s1")
    assert found is not None
    assert found.reach == {
        "kind": "push",
        "wakesIdle": False,
        "maxBytes": 8192,
        "sentence": "It waits in the session's inbox until somebody resumes the session.",
        "resumeCommand": "aginti resume s1",
    }
