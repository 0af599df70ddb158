"""One shared server for the tests that only ask; tests that stop, restart or damage one make their own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site.servers import Server


@pytest.fixture
def home() -> Iterator[Path]:
    """A home that does not exist yet, at a path short enough for a unix socket."""
    with tempfile.TemporaryDirectory(prefix="al-") as folder:
        yield Path(folder) / "home"


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="al-") as folder, Server(Path(folder) / "home") as running:
        yield running


@pytest.fixture(scope="session")
def cookie(server: Server) -> dict[str, str]:
    """The Cookie header of a person who is logged in on the shared server."""
    return server.login()
