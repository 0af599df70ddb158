from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from peers import presence, queries
from peers.adapters import adapter
from peers.adapters.agintiflow import lines
from peers.adapters.base import Handed
from peers.models import FileCursor, InboxMark, Session
from tests.peers import stores
from tests.peers.conftest import Scanner

ITEM = "inbox-agentlink-msg-1"
FINISHED = stores.event("session.finished", "2026-11-30T10:01:00.000Z", result="Done.", mode="finish-tool")


def _row(session_id: str = "bob") -> Session:
    return Session.objects.get(session_id=session_id)


def _steps(scan: presence.Scan) -> list[str]:
    return [mark.step for mark in scan.marks]


def test_a_change_is_found_once(store: Path, scan_store: Scanner) -> None:
    folder = stores.make_session(store, "bob", [stores.event("session.created")])
    first = scan_store()
    assert (first.seen, first.new, first.changed) == (1, ["bob"], ["bob"])
    assert scan_store().changed == []
    stores.append(folder / "events.jsonl", FINISHED)
    again = scan_store()
    assert (again.new, again.changed) == ([], ["bob"])
    assert (_row().status, _row().result) == ("idle", "Done.")


def test_only_what_was_appended_is_read(store: Path, scan_store: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = stores.make_session(store, "bob", [stores.event("x", text="y" * 1000) for _ in range(3000)])
    scan_store()
    with _bytes_read(monkeypatch) as read:
        stores.append(folder / "events.jsonl", FINISHED)
        scan_store()
    assert read[0] == len(stores.line(FINISHED))
    assert _row().details["eventCount"] == 3001


@contextmanager
def _bytes_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Bytes that the line reader gets from its files."""
    total, real = [0], os.pread

    def counted(fd: int, size: int, offset: int) -> bytes:
        chunk = real(fd, size, offset)
        total[0] += len(chunk) if size == lines.CHUNK else 0
        return chunk

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", counted)
        yield total


@pytest.mark.parametrize("how", ["truncated", "another file", "rewritten in place", "deleted"])
def test_a_log_that_is_another_one_is_read_from_its_start(store: Path, scan_store: Scanner, how: str) -> None:
    folder = stores.make_session(store, "bob", [stores.event("x", n=n) for n in range(50)])
    scan_store()
    path = folder / "events.jsonl"
    fresh = b"".join(stores.line(stores.event("fresh.kind", text="z" * 200)) for _ in range(60))
    if how == "truncated":
        path.write_bytes(fresh[:1000].rpartition(b"\n")[0] + b"\n")
    elif how == "another file":
        other = folder / "other"
        other.write_bytes(fresh)
        other.rename(path)
    elif how == "rewritten in place":
        with path.open("r+b") as file:
            file.write(fresh)
    else:
        path.unlink()
    scan_store()
    types = {event["type"] for event in _row().details.get("lastEvents", ())}
    assert types == (set() if how == "deleted" else {"fresh.kind"})
    assert FileCursor.objects.count() == (0 if how == "deleted" else 1)


def test_an_index_row_that_changes_is_a_change(store: Path, scan_store: Scanner) -> None:
    stores.make_session(store, "bob")
    scan_store()
    (store / "sessions" / "index.json").write_text('{"sessions":{"bob":{"title":"Named"}}}')
    assert scan_store().changed == ["bob"]
    assert _row().title == "Named"


def test_time_alone_makes_a_running_session_stale(store: Path, scan_store: Scanner) -> None:
    stores.make_session(store, "bob", [stores.event("session.created", stores.ago(0))])
    scan_store()
    assert _row().status == "running"
    later = presence.scan(clean=str, now=datetime.now(UTC) + timedelta(minutes=5))
    assert later.changed == ["bob"]
    assert (_row().status, _row().reach["sentence"][:25]) == ("stale", "Nobody can tell whether t")
    assert presence.scan(clean=str, now=datetime.now(UTC) + timedelta(minutes=6)).changed == []


def test_a_message_from_us_is_no_sign_of_life(store: Path, scan_store: Scanner) -> None:
    stores.make_session(
        store, "bob", [stores.event("session.created", stores.ago(1000))], {"updatedAt": stores.ago(1000)}
    )
    scan_store()
    before = _row()
    assert isinstance(adapter("agintiflow").deliver("bob", stores.ENVELOPE), Handed)
    assert scan_store().changed == ["bob"]
    assert (_row().status, _row().last_activity_at) == ("stale", before.last_activity_at)
    assert _row().details["ownEventCount"] == before.details["ownEventCount"]


def test_a_session_that_goes_away_stays_as_gone_and_may_return(store: Path, scan_store: Scanner) -> None:
    folder = stores.make_session(store, "bob", [FINISHED])
    scan_store()
    shutil.move(folder, store / "away")
    assert scan_store().changed == ["bob"]
    assert (_row().present, _row().status, _row().reach["kind"]) == (False, "unknown", "none")
    assert queries.sessions().total == 0
    assert scan_store().changed == []
    shutil.move(store / "away", folder)
    back = scan_store()
    assert (back.new, back.changed, _row().present, _row().status) == ([], ["bob"], True, "idle")


def test_problems_of_a_log_stay_after_the_next_scan(store: Path, scan_store: Scanner) -> None:
    folder = stores.make_session(store, "bob", [FINISHED])
    stores.append(folder / "events.jsonl", b"torn\n")
    scan_store()
    stores.append(folder / "events.jsonl", FINISHED)
    scan_store()
    assert [problem["code"] for problem in _row().problems] == ["line_torn"]


def test_problems_of_the_store_are_told_and_the_rest_is_scanned(store: Path, scan_store: Scanner) -> None:
    stores.make_session(store, "bob")
    stores.make_session(store, "a..b")
    scan = scan_store()
    assert (scan.seen, [problem.code for problem in scan.problems]) == (1, ["unsafe_id"])
    assert [problem["code"] for problem in queries.freshness().problems] == ["unsafe_id"]


def test_a_redactor_that_fails_withholds_the_text(store: Path, scan_store: Scanner) -> None:
    stores.make_session(store, "bob", [FINISHED])

    def failing(text: str) -> str:
        raise RuntimeError(text)

    presence.scan(clean=failing)
    assert (_row().goal, _row().result) == ("[unredactable: withheld]", "[unredactable: withheld]")


def test_long_texts_are_cut_in_plain_sight_after_redaction(store: Path, scan_store: Scanner) -> None:
    goal = "x" * 3990 + "SECRETSECRETSECRET" + "y" * 100
    stores.make_session(store, "bob", state={"goal": goal})
    presence.scan(clean=lambda text: text.replace("SECRETSECRETSECRET", "[HIDDEN]"))
    assert _row().goal == "x" * 3990 + "[HIDDEN]" + "yy" + "… [98 more characters]"


def test_nul_and_lone_surrogates_can_be_stored(store: Path, scan_store: Scanner) -> None:
    folder = stores.make_session(store, "bob")
    (folder / "state.json").write_text('{"goal":"a\\u0000b\\ud800c"}')
    scan_store()
    assert _row().goal.startswith("a\u2400b")
    assert _row().goal.endswith("c")


# --- idle cost --------------------------------------------------------------------------------------------------------

_opened: list[str] | None = None


def _audit(name: str, arguments: tuple[object, ...]) -> None:
    if _opened is not None and name == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        _opened.append(os.fsdecode(arguments[0]))


@pytest.fixture
def opened() -> Iterator[Callable[[], list[str]]]:
    """Every path that this process opens from Python from now on."""
    global _opened
    if not getattr(_audit, "added", False):
        sys.addaudithook(_audit)
        setattr(_audit, "added", True)  # noqa: B010 an audit hook cannot be removed
    _opened = []
    yield lambda: list(_opened or ())
    _opened = None


def test_an_idle_scan_of_5000_sessions_opens_no_file_and_writes_nothing(
    store: Path, scan_store: Scanner, opened: Callable[[], list[str]]
) -> None:
    for number in range(5000):
        stores.make_session(store, f"s{number}", [FINISHED])
    assert scan_store().seen == 5000
    before = len(opened())
    with CaptureQueriesContext(connection) as sql:
        scan = scan_store()
    assert (scan.seen, scan.changed, scan.marks) == (5000, [], [])
    assert opened()[before:] == []
    assert {query["sql"].split()[0] for query in sql} == {"SELECT"}
    assert len(sql) <= 4


# --- the steps of our inbox items -------------------------------------------------------------------------------------


@pytest.fixture
def handed(store: Path, scan_store: Scanner) -> Path:
    """A finished session that got message msg-1, scanned."""
    folder = stores.make_session(store, "bob", [stores.event("session.created"), FINISHED])
    assert isinstance(adapter("agintiflow").deliver("bob", stores.ENVELOPE), Handed)
    assert _steps(scan_store()) == ["queued"]
    return folder


def _progress() -> str:
    return adapter("agintiflow").progress("bob", "msg-1")


def _apply(folder: Path) -> None:
    stores.append(folder / "events.jsonl", stores.event("conversation.queued_input_applied", id=ITEM, prompt="x"))


def _claim(folder: Path, **more: object) -> None:
    record = {"key": f"id:{ITEM}", "consumerId": "c", "pid": os.getpid(), "claimedAt": stores.ago(0)}
    stores.append(folder / "inbox-claims.jsonl", record | more)


def test_each_step_is_recorded_once_when_it_can_be_proved(handed: Path, scan_store: Scanner) -> None:
    assert _progress() == "queued"
    _claim(handed)
    assert (_steps(scan_store()), _progress()) == (["claimed"], "claimed")
    _apply(handed)
    _apply(handed)
    assert (_steps(scan_store()), _progress()) == (["applied"], "applied")
    stores.append(handed / "inbox-acknowledgements.jsonl", {"key": f"id:{ITEM}", "acknowledgedAt": stores.ago(0)})
    assert (_steps(scan_store()), _progress()) == (["saved"], "saved")
    assert [mark.step for mark in queries.marks("msg-1")] == ["queued", "claimed", "applied", "saved"]


def test_what_was_proved_stays_proved_after_compaction(handed: Path, scan_store: Scanner) -> None:
    _apply(handed)
    stores.append(handed / "inbox-acknowledgements.jsonl", {"key": f"id:{ITEM}", "acknowledgedAt": stores.ago(0)})
    scan_store()
    for name in ("inbox.jsonl", "inbox-acknowledgements.jsonl"):
        (handed / name).write_bytes(b"")
    assert (_steps(scan_store()), _progress()) == ([], "saved")


def test_applied_and_compacted_between_two_scans_is_applied_not_removed(handed: Path, scan_store: Scanner) -> None:
    _apply(handed)
    (handed / "inbox.jsonl").write_bytes(b"")
    assert (_steps(scan_store()), _progress()) == (["applied"], "applied")


def test_an_item_that_vanishes_without_a_trace_was_removed(handed: Path, scan_store: Scanner) -> None:
    (handed / "inbox.jsonl").write_bytes(b"")
    assert _progress() == "unknown"
    assert (_steps(scan_store()), _progress()) == (["removed"], "removed")
    assert _steps(scan_store()) == []


@pytest.mark.parametrize("name", ["inbox.jsonl", "inbox-acknowledgements.jsonl"])
def test_an_inbox_that_cannot_be_read_does_not_make_items_removed(
    handed: Path, scan_store: Scanner, tmp_path: Path, name: str
) -> None:
    inbox = (handed / "inbox.jsonl").read_bytes()
    (handed / "inbox.jsonl").write_bytes(b"")
    (handed / name).unlink(missing_ok=True)
    (handed / name).symlink_to(tmp_path)
    assert _steps(scan_store()) == []
    assert [problem["code"] for problem in _row().problems] == ["inbox_unreadable"]
    (handed / name).unlink()
    (handed / "inbox.jsonl").write_bytes(inbox)
    assert (_steps(scan_store()), _progress()) == ([], "queued")


def test_an_item_that_a_person_removed_in_the_web_is_removed(handed: Path, scan_store: Scanner) -> None:
    (handed / "inbox.jsonl").write_bytes(b"")
    stores.append(handed / "events.jsonl", stores.event("conversation.queued_input_removed", itemId=ITEM))
    assert (_steps(scan_store()), _progress()) == (["removed"], "removed")


@pytest.mark.parametrize(
    "more", [{"released": True}, {"pid": 1 << 22}, {"consumerId": ""}, {"claimedAt": "2020-01-01"}]
)
def test_a_claim_that_is_not_live_is_no_claim(handed: Path, scan_store: Scanner, more: dict[str, object]) -> None:
    _claim(handed)
    _claim(handed, **more)
    assert (_steps(scan_store()), _progress()) == ([], "queued")


def test_items_of_others_leave_no_marks(store: Path, scan_store: Scanner) -> None:
    folder = stores.make_session(store, "bob")
    for item in ("inbox-1", "inbox-agentlink-", "inbox-agentlink-../x", "inbox-agentlink-" + "y" * 200, "", 5):
        stores.append(folder / "inbox.jsonl", {"id": item, "content": "x"})
        stores.append(folder / "events.jsonl", stores.event("conversation.queued_input_applied", id=item))
        stores.append(folder / "inbox-acknowledgements.jsonl", {"key": f"id:{item}"}, {"key": item}, 5)
    assert scan_store().marks == []
    assert InboxMark.objects.count() == 0
    assert _progress() == "unknown"


def test_a_live_claim_is_the_proof_that_the_session_runs(store: Path, scan_store: Scanner) -> None:
    folder = stores.make_session(
        store, "bob", [stores.event("session.created", stores.ago(900))], {"updatedAt": stores.ago(900)}
    )
    scan_store()
    assert _row().status == "stale"
    _claim(folder)
    scan_store()
    assert (_row().status, _row().reason) == ("running", "the process that reads its inbox is alive")


def test_the_write_is_held_inside_the_caller_s_lock(store: Path, scan_store: Scanner, settings: Settings) -> None:
    held: list[str] = []

    @contextmanager
    def writing() -> Iterator[None]:
        held.append("in")
        yield
        held.append("out")

    stores.make_session(store, "bob")
    presence.scan(clean=str, writing=writing)
    assert held == ["in", "out"] * 2
    presence.scan(clean=str, writing=writing)
    assert held == ["in", "out"] * 2
