"""Reading what others wrote: torn, foreign, huge, linked. Nothing of it may stop a scan or go unmentioned."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from peers.adapters.agintiflow import AgInTiFlow, adapter, lines
from peers.adapters.agintiflow.events import Events
from peers.adapters.agintiflow.index import Index
from peers.adapters.agintiflow.status import AHEAD_SECONDS, CLAIM_SECONDS, RECENT_SECONDS, derive
from peers.adapters.base import SessionEvent, SessionFacts
from peers.processes import started_at
from peers.times import iso
from tests.peers import stores

GOOD = stores.event("model.requested", step=1)


def _read(path: Path, raw: bytes, after: int = 0) -> tuple[list[SessionEvent], Events]:
    path.write_bytes(raw)
    events = Events(path, after)
    return list(events), events


def _facts(store: Path, session_id: str = "bob") -> SessionFacts:
    reading = AgInTiFlow(store).read(session_id)
    assert reading is not None
    return reading.facts


# --- the log ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        b"{torn\n",
        b"\x00" * 50 + b"\n",
        b"\xff\xfe\n",
        b"[1,2]\n",
        b'"text"\n',
        b"5\n",
        b'{"type":5}\n',
        b'{"no":"type"}\n',
        b'{"type":"x","data":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
        b'{"timestamp":"2026-11-30T10:00:00.000Z","type":"x","data":{"a":NaN\n',
    ],
)
def test_a_bad_line_is_skipped_and_reported_with_its_place(tmp_path: Path, bad: bytes) -> None:
    good = stores.line(GOOD)
    found, events = _read(tmp_path / "log", good + bad + good)
    assert [event.type for event in found] == ["model.requested"] * 2
    assert [f"byte {len(good)} " in problem.sentence for problem in events.problems] == [True]
    assert events.end == len(good + bad + good)


@pytest.mark.parametrize("data", [b"5", b"[]", b"null", b'"x"'])
def test_an_event_whose_data_is_no_object_is_skipped_and_reported(tmp_path: Path, data: bytes) -> None:
    found, events = _read(tmp_path / "log", b'{"timestamp":"t","type":"x","data":' + data + b"}\n")
    assert (found, [problem.code for problem in events.problems]) == ([], ["event_unreadable"])


def test_bytes_that_are_no_text_become_replacement_characters_as_in_node(tmp_path: Path) -> None:
    raw = b'{"timestamp":"t","type":"x","data":{"a":"\xff\x00\\ud800","n":1e400}}\n'
    found, _ = _read(tmp_path / "log", raw)
    assert found[0].data["a"].replace("\x00", "0") in ("\ufffd0\ufffd", "\ufffd0\ufffd\ufffd")


def test_unknown_types_and_keys_come_through(tmp_path: Path) -> None:
    found, events = _read(tmp_path / "log", stores.line(stores.event("new.kind", x=[1]) | {"extra": 1}))
    assert [(event.type, event.data) for event in found] == [("new.kind", {"x": [1]})]
    assert events.problems == []


def test_only_a_newline_ends_a_line(tmp_path: Path) -> None:
    raw = '{"timestamp":"t","type":"x","data":{"a":"1\u20282\u00853"}}\r\n'.encode()
    found, _ = _read(tmp_path / "log", raw)
    assert [event.data for event in found] == [{"a": "1\u20282\u00853"}]


def test_a_torn_end_is_left_for_the_next_time(tmp_path: Path) -> None:
    good = stores.line(GOOD)
    found, events = _read(tmp_path / "log", good + good[:-10])
    assert (len(found), events.end, events.problems) == (1, len(good), [])
    found, events = _read(tmp_path / "log", good + good, after=events.end)
    assert [event.offset for event in found] == [len(good)]


def test_a_whole_end_without_a_newline_is_read_once(tmp_path: Path) -> None:
    good = stores.line(GOOD)
    found, events = _read(tmp_path / "log", good[:-1])
    assert (len(found), events.end) == (1, len(good) - 1)
    found, _ = _read(tmp_path / "log", good + good, after=events.end)
    assert len(found) == 1


def test_a_whole_event_glued_to_a_torn_one_is_not_lost(tmp_path: Path) -> None:
    good = stores.line(GOOD)
    found, events = _read(tmp_path / "log", good[:25] + good)
    assert [(event.type, event.offset) for event in found] == [("model.requested", 25)]
    assert [problem.code for problem in events.problems] == ["line_torn"]


def test_a_line_over_the_limit_is_passed_in_constant_memory(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.write(stores.line(GOOD))
        file.seek(1 << 28, os.SEEK_CUR)  # 256 MB of NUL, sparse on the disk
        file.write(b"\n" + stores.line(GOOD))
    largest = 0
    with path.open("rb") as file:
        reader = lines.Lines(file.fileno())
        for _ in reader:
            largest = max(largest, sum(map(len, reader._pending)))
    found = Events(path)
    assert [event.type for event in found] == ["model.requested"] * 2
    assert [problem.code for problem in found.problems] == ["line_too_long"]
    assert largest <= lines.MAX_LINE


def test_many_bad_lines_are_counted_not_listed(tmp_path: Path) -> None:
    _, events = _read(tmp_path / "log", b"bad\n" * 1000)
    assert len(events.problems) == 21
    assert events.problems[-1].sentence == "980 more lines were skipped."


def test_every_offset_continues_where_the_line_before_ended(store: Path) -> None:
    stores.make_session(store, "bob", [stores.event(f"kind.{n}") for n in range(20)])
    whole = list(AgInTiFlow(store).events("bob"))
    for event in whole:
        rest = list(AgInTiFlow(store).events("bob", event.end))
        assert rest == whole[len(whole) - len(rest) :]
    assert list(AgInTiFlow(store).events("bob", whole[-1].end)) == []


@pytest.mark.parametrize("session_id", ["nobody", "..", "a/b"])
def test_a_session_that_is_not_there_has_no_events(store: Path, session_id: str) -> None:
    assert list(AgInTiFlow(store).events(session_id)) == []


def test_a_log_longer_than_one_scan_is_read_in_parts(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [stores.event("session.created"), *(stores.event("x", text="y" * 4000) for _ in range(2000))]
    stores.make_session(store, "bob", [*events, stores.event("session.finished", mode="finish-tool")])
    monkeypatch.setattr(adapter, "SCAN_BYTES", 1 << 20)
    reading, parts = AgInTiFlow(store).read("bob"), 1
    while reading and reading.behind:
        assert (reading.facts.status, reading.facts.reason) == ("unknown", "its log is still being read")
        reading = AgInTiFlow(store).read("bob", cursor=reading.cursor, details=reading.facts.details)
        parts += 1
    assert reading is not None
    assert (reading.facts.status, reading.facts.details["eventCount"]) == ("idle", 2002)
    assert parts > 5


# --- folders, links and state -----------------------------------------------------------------------------------------


def test_ghost_folders_and_other_files_are_no_sessions(store: Path) -> None:
    (store / "sessions" / "ghost" / "artifacts").mkdir(parents=True)
    (store / "sessions" / "ghost" / "inbox.jsonl").write_text("")
    (store / "sessions" / "note.txt").write_text("")
    stores.make_session(store, "bob")
    glance = AgInTiFlow(store).glance()
    assert (list(glance.stamps), glance.problems) == (["bob"], ())


@pytest.mark.parametrize("name", ["a..b", "with space", "b\nc", "naïve", "q\x1b[2J", "...", "x" * 250 + "?"])
def test_unsafe_names_are_reported_and_skipped(store: Path, name: str) -> None:
    stores.make_session(store, name)
    glance = AgInTiFlow(store).glance()
    assert (dict(glance.stamps), [problem.code for problem in glance.problems]) == ({}, ["unsafe_id"])
    assert glance.problems[0].where.isascii() and glance.problems[0].where.isprintable()


def test_a_home_that_is_not_there_has_no_sessions(tmp_path: Path) -> None:
    glance = AgInTiFlow(tmp_path / "none").glance()
    assert (dict(glance.stamps), glance.problems, glance.complete) == ({}, (), True)


def test_links_to_session_folders_are_followed_inside_the_home_only(store: Path, tmp_path: Path) -> None:
    stores.make_session(tmp_path / "elsewhere", "outside")
    inside = stores.make_session(store, "inside")
    (store / "sessions" / "outside").symlink_to(tmp_path / "elsewhere" / "sessions" / "outside")
    (store / "sessions" / "also").symlink_to(inside)
    glance = AgInTiFlow(store).glance()
    assert sorted(glance.stamps) == ["also", "inside"]
    assert [(problem.code, problem.where) for problem in glance.problems] == [("link_leaves_home", "outside")]
    assert AgInTiFlow(store).read("outside") is None


@pytest.mark.parametrize("name", ["state.json", "events.jsonl"])
def test_links_in_place_of_a_session_s_files_are_not_followed(store: Path, tmp_path: Path, name: str) -> None:
    folder = stores.make_session(store, "bob", [stores.event("session.created")])
    (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(tmp_path / name)
    facts = _facts(store)
    assert ["symbolic link" in problem.sentence for problem in facts.problems] == [True]


@pytest.mark.parametrize("name", ["state.json", "events.jsonl", "inbox.jsonl", "inbox-claims.jsonl"])
def test_a_pipe_in_place_of_a_file_blocks_no_scan(store: Path, name: str) -> None:
    folder = stores.make_session(store, "bob")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    assert [problem.where for problem in _facts(store).problems] == ["bob"]


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"5", b"\xff\xff", b"[" * 100_000])
def test_a_malformed_state_is_reported_and_the_log_still_counts(store: Path, raw: bytes) -> None:
    folder = stores.make_session(store, "bob", [stores.event("session.failed", reason="runtime_error", error="e")])
    (folder / "state.json").write_bytes(raw)
    facts = _facts(store)
    assert (facts.status, facts.reason, facts.error) == ("failed", "runtime_error", "e")
    assert [problem.code for problem in facts.problems] == ["state_malformed"]


def test_odd_values_in_a_state_do_not_hide_the_others(store: Path) -> None:
    odd = {"title": 5, "goal": ["x"], "stepsCompleted": -1, "meta": [1], "model": "m", "createdAt": "yesterday"}
    stores.make_session(store, "bob", state=odd)
    facts = _facts(store)
    assert (facts.title, facts.goal, facts.steps, facts.model, facts.created_at) == ("", "", 0, "m", "")


def test_a_state_that_names_another_session_is_reported(store: Path) -> None:
    stores.make_session(store, "bob", state={"sessionId": "alice"})
    facts = _facts(store)
    assert (facts.session_id, [problem.code for problem in facts.problems]) == ("bob", ["other_session_named"])


def test_the_project_root_is_the_pointer_s_folder_else_the_cwd(store: Path, tmp_path: Path) -> None:
    below = tmp_path / "proj" / "src" / "deep"
    below.mkdir(parents=True)
    stores.make_session(store, "bob", state={"commandCwd": str(below)})
    assert _facts(store).project_root == str(below)
    pointer = tmp_path / "proj" / ".aginti-sessions" / "bob"
    pointer.mkdir(parents=True)
    (pointer / "session.json").write_text('{"projectRoot":"/etc"}')
    assert _facts(store).project_root == str(tmp_path / "proj")


@pytest.mark.parametrize("cwd", ["", "relative/path", "/nul\x00", 5])
def test_without_an_absolute_path_there_is_no_project(store: Path, cwd: object) -> None:
    stores.make_session(store, "bob", state={"commandCwd": cwd})
    assert _facts(store).project_root == ""


def test_changed_files_are_project_relative(store: Path) -> None:
    changes = [
        ("a.txt", "/home/u/proj"),
        ("b.txt", "/home/u/proj/sub"),
        ("c.txt", "/elsewhere/moved"),
        ("../up.txt", "/home/u/proj/sub"),
        ("../../out.txt", "/home/u/proj/sub"),
        ("/home/u/proj-secret/d", "/home/u/proj"),
        ("/home/u/proj/e", "/home/u/proj"),
        ("nul\x00", "/home/u/proj"),
    ]
    events = [stores.event("file.changed", path=path, commandCwd=cwd) for path, cwd in changes]
    stores.make_session(store, "bob", events, {"commandCwd": "/home/u/proj"})
    paths = [change["path"] for change in _facts(store).details["filesChanged"]]
    # The two outside are one: what lies outside is not told apart.
    assert paths == ["a.txt", "sub/b.txt", "c.txt", "up.txt", "[outside the project]", "e", ""]


# --- the index --------------------------------------------------------------------------------------------------------


def _index(store: Path, columns: str, *rows: tuple[str, ...]) -> Path:
    path = store / "sessions" / "index.sqlite"
    with closing(sqlite3.connect(path)) as index, index:
        index.execute("PRAGMA journal_mode=WAL")
        index.execute(f"CREATE TABLE sessions ({columns})")
        for row in rows:
            index.execute(f"INSERT INTO sessions VALUES ({', '.join('?' * len(row))})", row)
    return path


def test_the_index_gives_root_and_title_and_rows_without_a_folder_are_no_sessions(store: Path) -> None:
    _index(
        store, "session_id, project_root, title, session_dir", ("bob", "/p/root", "Titled", "/x"), ("gone", "", "", "")
    )
    stores.make_session(store, "bob", state={"commandCwd": "/p/root/sub"})
    facts = list(AgInTiFlow(store).discover())
    assert [(found.session_id, found.project_root, found.title) for found in facts] == [("bob", "/p/root", "Titled")]


def test_live_rows_of_a_writer_are_seen_without_blocking_it(store: Path) -> None:
    path = _index(store, "session_id, title", ("bob", "old"))
    index = Index(store / "sessions")
    assert index.rows()["bob"].title == "old"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("UPDATE sessions SET title = 'new'")
        writer.commit()
        assert index.rows()["bob"].title == "new"
        assert writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


def test_json_rows_are_used_where_the_database_has_none(store: Path) -> None:
    _index(store, "session_id, title", ("a", "from sqlite"))
    rows = '{"sessions":{"a":{"title":"from json"},"b":{"title":"from json","projectRoot":"/p"},"c":5}}'
    (store / "sessions" / "index.json").write_text(rows)
    found = Index(store / "sessions").rows()
    assert (found["a"].title, found["b"].title, found["b"].project_root) == ("from sqlite", "from json", "/p")


@pytest.mark.parametrize("raw", [b"", b"no database", b"SQLite format 3\x00" + b"\x00" * 2000])
def test_a_broken_index_is_reported_and_the_folders_still_count(store: Path, raw: bytes) -> None:
    (store / "sessions" / "index.sqlite").write_bytes(raw)
    stores.make_session(store, "bob")
    glance = AgInTiFlow(store).glance()
    assert (list(glance.stamps), [problem.code for problem in glance.problems]) == (["bob"], ["index_unreadable"])


def test_odd_cells_and_missing_columns_of_the_index_are_tolerated(store: Path) -> None:
    path = _index(store, "session_id, title", ("bob", "x"))
    with closing(sqlite3.connect(path)) as index, index:
        index.execute("UPDATE sessions SET title = ?", (b"\xff\x00",))
        index.execute("INSERT INTO sessions VALUES (5, CAST(x'ff' AS TEXT))")
    found = Index(store / "sessions").rows()
    assert (found["bob"].title, found["5"].title) == ("", "\ufffd")


# --- the status -------------------------------------------------------------------------------------------------------

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def _before(seconds: float) -> str:
    return iso(NOW - timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("life", "word"),
    [
        ({}, "unknown"),
        ({"type": "session.finished"}, "idle"),
        ({"type": "session.finished", "approval": "network-fetch"}, "waiting"),
        ({"type": "session.stopped"}, "stopped"),
        ({"type": "session.failed"}, "failed"),
        ({"type": "session.created", "lastAt": _before(RECENT_SECONDS - 1)}, "running"),
        ({"type": "session.resumed", "lastAt": _before(RECENT_SECONDS)}, "stale"),
        ({"type": "session.resumed", "lastAt": _before(-AHEAD_SECONDS - 1)}, "stale"),
        ({"type": "session.resumed"}, "stale"),
        ({"goalStatus": "completed"}, "idle"),
        ({"goalStatus": "paused"}, "stopped"),
        ({"goalStatus": "failed"}, "failed"),
        ({"goalStatus": "active", "lastAt": _before(1)}, "running"),
        ({"goalStatus": "active"}, "stale"),
        ({"goalStatus": "banana"}, "unknown"),
        ({"type": "session.finished", "behind": True}, "unknown"),
    ],
)
def test_the_status_follows_from_the_last_of_the_lifecycle_events(life: dict[str, object], word: str) -> None:
    assert derive(life, NOW).word == word


def _claim(pid: object, at: datetime) -> dict[str, object]:
    return {"type": "session.resumed", "lastAt": iso(at - timedelta(hours=1)), "pid": pid, "claimedAt": iso(at)}


def test_a_live_claim_proves_a_silent_session_running() -> None:
    assert derive(_claim(os.getpid(), datetime.now(UTC)), datetime.now(UTC)).word == "running"


def test_a_pid_that_was_given_to_a_younger_process_proves_nothing() -> None:
    started = started_at(os.getpid())
    assert started is not None
    before = datetime.fromtimestamp(started - 60, UTC)
    assert derive(_claim(os.getpid(), before), before + timedelta(hours=2)).word == "stale"


@pytest.mark.parametrize("pid", [0, -1, True, None, "1", 1 << 70])
def test_no_process_no_proof(pid: object) -> None:
    assert derive(_claim(pid, datetime.now(UTC)), datetime.now(UTC)).word == "stale"


def test_a_claim_of_a_day_ago_proves_nothing() -> None:
    at = datetime.now(UTC)
    assert derive(_claim(1, at), at + timedelta(seconds=CLAIM_SECONDS)).word == "stale"


def test_an_approval_is_waited_for_until_it_is_decided_or_the_session_goes_on(store: Path) -> None:
    ended = [
        stores.event("session.created"),
        stores.event("tool.blocked", toolName="run_command", category="network-fetch", needsApproval=True),
        stores.event("session.finished", mode="finish-tool"),
    ]
    stores.make_session(store, "asks", ended)
    stores.make_session(store, "decided", [*ended, stores.event("permission.approval_granted")])
    stores.make_session(store, "resumed", [*ended, stores.event("session.resumed"), stores.event("session.finished")])
    asks = _facts(store, "asks")
    assert (asks.status, asks.reason) == ("waiting", "waits for an approval: network-fetch")
    assert [_facts(store, name).status for name in ("decided", "resumed")] == ["idle", "idle"]
