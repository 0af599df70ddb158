"""Servers of their own kind: the shared one, and a fresh one for what damages or fills it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site.conftest import cookie as cookie
from tests.site.conftest import home as home
from tests.site.conftest import server as server
from tests.site.servers import Server


@pytest.fixture
def fresh(home: Path) -> Iterator[Server]:
    """A server without the addresses that only tests have."""
    with Server(home, launcher=False) as running:
        yield running
