"""A log of any size is followed by offset, and nothing that reads one grows with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from peers.adapters.agintiflow import AgInTiFlow
from peers.adapters.agintiflow.adapter import SCAN_BYTES
from tests.peers.stores import event, make_session
from tests.site.servers import ROOT
from tests.soak import logs

SMALL, LARGE = 48 << 20, 1 << 30
ROOM = 48 << 10
"""Kilobytes that a reader may take, whatever the size of the log: its buffers, a turn's lines, what it shows."""
EVIDENCE_ROOM = 160 << 10
"""The same for what holds text that is shown: as much as `evidence.artifacts` holds at most, twice over."""


def read(home: Path, what: str) -> dict[str, Any]:
    program = [sys.executable, "-m", "tests.soak.reader", str(home), "giant", what]
    answer: dict[str, Any] = json.loads(subprocess.run(program, cwd=ROOT, capture_output=True, check=True).stdout)
    return answer


def taken(home: Path, what: str) -> tuple[int, dict[str, Any]]:
    """Kilobytes over a process that reads nothing."""
    found = read(home, what)
    return found["peak"] - read(home, "nothing")["peak"], found


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("small-log")
    logs.write(home, "giant", SMALL)
    return home


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("large-log")
    logs.write(home, "giant", LARGE)
    return home


def follows(home: Path) -> None:
    kilobytes, found = taken(home, "follow")
    size = (home / "sessions" / "giant" / "events.jsonl").stat().st_size
    assert found["offset"] == size and found["events"] > 0
    assert found["turns"] >= size // (SCAN_BYTES + (2 << 20)), "one turn reads a bounded part"
    assert kilobytes < ROOM


def test_a_log_is_followed_in_bounded_turns_and_memory(small):
    follows(small)


@pytest.mark.parametrize("what", ["artifacts", "summary", "check"])
def test_evidence_of_a_log_is_bounded_in_memory(small, what):
    kilobytes, found = taken(small, what)
    assert kilobytes < EVIDENCE_ROOM, found


def test_what_was_read_is_never_read_again(tmp_path):
    log = logs.write(tmp_path, "giant", 1 << 20)
    store = AgInTiFlow(tmp_path)
    first = store.read("giant")
    assert first is not None and first.cursor is not None
    with log.open("ab") as file:
        file.write(json.dumps(event("session.finished", result="done")).encode() + b"\n")
    second = store.read("giant", cursor=first.cursor, details=first.facts.details)
    assert second is not None and second.cursor is not None
    assert second.facts.details["eventCount"] == first.facts.details["eventCount"] + 1
    assert second.cursor.offset == log.stat().st_size


@pytest.mark.django_db
def test_others_are_read_while_a_giant_is_still_being_read(tmp_path, settings, monkeypatch):
    from boards.discovery import scan_once
    from peers.adapters.agintiflow import adapter
    from peers.models import Session

    monkeypatch.setattr(adapter, "SCAN_BYTES", 1 << 20)
    settings.AGINTIFLOW_HOME = tmp_path
    logs.write(tmp_path, "giant", 8 << 20)
    make_session(tmp_path, "small", [event("session.created")])
    found = scan_once()
    assert found.behind and set(found.new) == {"giant", "small"}
    assert Session.objects.get(session_id="giant").reason == "its log is still being read"
    while scan_once().behind:
        pass
    assert Session.objects.get(session_id="giant").details["eventCount"] > 1000


@pytest.mark.soak
def test_one_gigabyte_is_followed_in_bounded_turns_and_memory(large):
    follows(large)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("what", ["artifacts", "summary", "check"])
def test_evidence_of_one_gigabyte_is_bounded_in_memory(large, what):
    kilobytes, found = taken(large, what)
    assert kilobytes < EVIDENCE_ROOM, found
