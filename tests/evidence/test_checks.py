from __future__ import annotations

import hashlib
import itertools
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest

from evidence.checks import ArtifactFact, BundleFacts, Check, EventFact, Verdict, bundle_verdict, check_file, run
from evidence.checks.events import check_event
from evidence.files import Pointer
from tests.evidence.conftest import session_events
from tests.evidence.facts import Event
from tests.evidence.servers import saying, served
from tests.fixtures import Fixture

CLAIM = datetime(2026, 11, 30, 12, 0, 0, 500_000, UTC)
NOW = CLAIM + timedelta(hours=1)
AFTER = "2026-11-30T12:00:01.000Z"


def written(project: Path, name: str = "a.bin", content: bytes = b"content", *, at: datetime = NOW) -> Path:
    path = project / name
    path.write_bytes(content)
    stamp = int(at.timestamp() * 1000) * 1_000_000
    os.utime(path, ns=(stamp, stamp))
    return path


def file_checks(
    project: Path,
    name: str = "a.bin",
    *,
    size: int | None = None,
    sha256: str | None = None,
    claimed_at: datetime | None = CLAIM,
    limit: int = 1 << 20,
) -> dict[str, Verdict]:
    checks = check_file(
        Pointer("project", name),
        {"project": project},
        size_bytes=size,
        sha256=sha256,
        claimed_at=claimed_at,
        now=NOW,
        max_hashed_bytes=limit,
    )
    assert all(check.detail.endswith(".") and str(project) not in check.detail for check in checks)
    return {check.name: check.verdict for check in checks}


def test_a_file_as_stated_and_newer_than_the_claim_is_verified(project: Path) -> None:
    written(project)
    found = file_checks(project, size=7, sha256=hashlib.sha256(b"content").hexdigest().upper())
    assert found == {"file": "verified", "size": "verified", "sha256": "verified", "newer": "verified"}


def test_only_what_was_stated_is_checked(project: Path) -> None:
    written(project)
    assert file_checks(project, claimed_at=None) == {"file": "verified"}


def test_another_size_or_hash_is_rejected(project: Path) -> None:
    written(project)
    found = file_checks(project, size=8, sha256="0" * 64)
    assert (found["size"], found["sha256"]) == ("rejected", "rejected")


def test_a_file_older_than_the_claim_is_stale_and_one_of_its_millisecond_is_not(project: Path) -> None:
    written(project, at=CLAIM - timedelta(milliseconds=1))
    assert file_checks(project)["newer"] == "stale"
    written(project, at=CLAIM)
    assert file_checks(project)["newer"] == "verified"


def test_a_file_from_the_future_proves_no_age(project: Path) -> None:
    written(project, at=NOW + timedelta(days=1))
    assert file_checks(project)["newer"] == "unverified"


@pytest.mark.parametrize("name", ["missing", "../proj-secret/key.txt", "link", "fifo", "folder", "a\0b", ".env"])
@pytest.mark.timeout(20)
def test_a_file_that_is_not_plainly_inside_its_root_is_rejected(project: Path, name: str) -> None:
    (project / "link").symlink_to("/etc/passwd")
    (project / "folder").mkdir()
    (project / ".env").write_text("A=b")
    os.mkfifo(project / "fifo")
    assert file_checks(project, name) == {"file": "rejected"}


def test_a_root_that_is_not_here_is_unavailable() -> None:
    checks = check_file(Pointer("session", "a"), {}, size_bytes=1, sha256=None, claimed_at=None, now=NOW)
    assert [(check.name, check.verdict) for check in checks] == [("file", "unavailable")]


@pytest.mark.timeout(30)
def test_a_sparse_file_of_ten_gigabytes_is_kept_by_reference(project: Path) -> None:
    with (project / "huge").open("wb") as huge:
        huge.truncate(10 << 30)
    checks = check_file(
        Pointer("project", "huge"),
        {"project": project},
        size_bytes=10 << 30,
        sha256="0" * 64,
        claimed_at=None,
        now=NOW,
    )
    assert {check.name: check.verdict for check in checks} == {
        "file": "verified",
        "size": "verified",
        "sha256": "unverified",
    }


def test_a_file_over_the_hash_limit_by_one_byte_is_not_hashed(project: Path) -> None:
    written(project, content=b"x" * 101)
    assert file_checks(project, sha256="0" * 64, limit=100)["sha256"] == "unverified"


def event_checks(
    events: list[Event] | None, *, kind: str = "tool.completed", at: str = AFTER, failure_expected: bool = False
) -> dict[str, Verdict]:
    checks = check_event("s1", kind, at, events, claimed_at=CLAIM, failure_expected=failure_expected)
    return {check.name: check.verdict for check in checks}


def test_an_event_in_the_log_with_exit_code_zero_is_verified() -> None:
    log = [Event(AFTER, "tool.completed", {"ok": True, "exitCode": 0})]
    assert event_checks(log) == {"event": "verified", "exit": "verified", "newer": "verified"}


@pytest.mark.parametrize(
    ("kind", "data", "name"),
    [
        ("tool.completed", {"ok": False}, "event"),
        ("tool.completed", {"ok": True, "exitCode": 1}, "exit"),
        ("tool.completed", {"exitCode": -9}, "exit"),
        ("tool.failed", {}, "event"),
        ("tool.blocked", {}, "event"),
        ("session.failed", {}, "event"),
    ],
)
def test_a_failed_event_is_rejected_unless_failure_is_what_is_shown(
    kind: str, data: dict[str, object], name: str
) -> None:
    log = [Event(AFTER, kind, data)]
    assert event_checks(log, kind=kind)[name] == "rejected"
    assert set(event_checks(log, kind=kind, failure_expected=True).values()) == {"verified"}


def test_an_event_must_match_in_type_and_time() -> None:
    log = [Event(AFTER, "tool.completed", {"ok": True})]
    assert event_checks(log, kind="file.changed") == {"event": "rejected"}
    assert event_checks(log, at="2026-11-30T12:00:01.001Z") == {"event": "rejected"}
    assert event_checks(log, at="yesterday") == {"event": "rejected"}
    assert event_checks(log, at="2026-11-30T13:00:01+01:00")["event"] == "verified"


def test_one_failure_among_events_of_one_instant_is_not_success() -> None:
    log = [Event(AFTER, "tool.completed", {"ok": True}), Event(AFTER, "tool.completed", {"ok": False})]
    assert event_checks(log)["event"] == "rejected"


def test_an_event_before_the_claim_is_stale_and_a_log_elsewhere_unavailable() -> None:
    before = "2026-11-30T12:00:00.499Z"
    assert event_checks([Event(before, "file.changed")], kind="file.changed", at=before)["newer"] == "stale"
    assert event_checks(None) == {"event": "unavailable"}


def test_torn_and_foreign_event_data_is_tolerated() -> None:
    log = [Event("not a time", "tool.completed"), Event(AFTER, "tool.completed", None)]  # type: ignore[arg-type]
    assert event_checks(log)["event"] == "verified"


RANKED: tuple[Verdict, ...] = ("rejected", "stale", "unavailable", "unverified", "verified")


@pytest.mark.parametrize("pair", list(itertools.product(RANKED, repeat=2)), ids="-".join)
def test_the_worst_check_decides_the_bundle(pair: tuple[Verdict, Verdict]) -> None:
    assert bundle_verdict([Check("a", pair[0], "."), Check("b", pair[1], ".")]) == min(pair, key=RANKED.index)


def test_every_verdict_is_ranked_and_nothing_checked_proves_nothing() -> None:
    assert set(RANKED) == set(get_args(Verdict))
    assert bundle_verdict([]) == "unverified"


def test_a_whole_bundle_of_a_real_session_is_verified(aginti: Fixture) -> None:
    """kv260-recorder wrote recordings/run001-notes.md; its log says so, with the hash of the file."""
    events = session_events(aginti.home, "kv260-recorder")
    changed = next(event for event in events if event.type == "file.changed")
    finished = next(event for event in events if event.type == "session.finished")
    claimed = datetime(2026, 11, 30, 19, 27, 0, tzinfo=UTC)
    file = aginti.projects / "event-camera" / changed.data["path"]
    stamp = datetime.fromisoformat(changed.timestamp).timestamp()
    os.utime(file, (stamp, stamp))
    with served(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")) as (port, _):
        bundle = BundleFacts(
            events=tuple(EventFact("kv260-recorder", event.type, event.timestamp) for event in (changed, finished)),
            artifacts=(ArtifactFact("project", changed.data["path"], file.stat().st_size, changed.data["afterHash"]),),
            url=f"http://127.0.0.1:{port}/",
        )
        checks = run(
            bundle,
            {"project": aginti.projects / "event-camera"},
            {"kv260-recorder": events},
            claimed,
            claimed + timedelta(days=1),
        )
    assert bundle_verdict(checks) == "verified"
    assert [check.name for check in checks] == [
        "event",
        "newer",
        "event",
        "newer",
        "file",
        "size",
        "sha256",
        "newer",
        "url",
    ]


def test_a_bundle_that_states_nothing_has_no_checks() -> None:
    assert run(BundleFacts(), {}, {}, CLAIM, NOW) == []
