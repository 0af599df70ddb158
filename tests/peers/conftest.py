from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from peers import presence
from peers.adapters.agintiflow import AgInTiFlow
from tests.fixtures import Fixture, unpack
from tests.peers import stores


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """An empty AgInTiFlow home."""
    home = tmp_path / "aginti-home"
    (home / "sessions").mkdir(parents=True)
    return home


@pytest.fixture
def store_adapter(store: Path) -> AgInTiFlow:
    return AgInTiFlow(store)


@pytest.fixture
def folder(store: Path) -> Path:
    """The folder of a session `bob` that has just begun."""
    return stores.make_session(store, "bob", [stores.event("session.created")])


@pytest.fixture
def real(tmp_path: Path) -> Fixture:
    """The home that the real program wrote."""
    return unpack(tmp_path)


Scanner = Callable[[], presence.Scan]


@pytest.fixture
def scan_store(store: Path, tmp_path: Path, settings: Settings, db: None) -> Scanner:
    """Scan `store` as the server does, without redaction."""
    settings.AGINTIFLOW_HOME, settings.AGENTLINK_HOME = store, tmp_path / "agentlink"
    return lambda: presence.scan(clean=str)


@pytest.fixture
def scan_real(real: Fixture, tmp_path: Path, settings: Settings, db: None) -> Scanner:
    settings.AGINTIFLOW_HOME, settings.AGENTLINK_HOME = real.home, tmp_path / "agentlink"
    return lambda: presence.scan(clean=str)
