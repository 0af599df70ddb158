from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.evidence.facts import Event
from tests.fixtures import Fixture, unpack


@pytest.fixture(scope="session")
def aginti(tmp_path_factory: pytest.TempPathFactory) -> Fixture:
    """A home that the real AgInTiFlow wrote; read only."""
    return unpack(tmp_path_factory.mktemp("aginti"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project root beside a folder whose name starts like it and that holds a secret."""
    root = tmp_path / "proj"
    root.mkdir()
    sibling = tmp_path / "proj-secret"
    sibling.mkdir()
    (sibling / "key.txt").write_text("outside")
    return root


def session_events(home: Path, session_id: str) -> list[Event]:
    lines = (home / "sessions" / session_id / "events.jsonl").read_text("utf-8").split("\n")
    return [Event(**json.loads(line)) for line in lines if line]
