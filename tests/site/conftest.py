"""One shared server for the tests that only ask; tests that stop, restart or damage one make their own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import people
from tests.people import People
from tests.site.callers import Caller
from tests.site.desks import Shell
from tests.site.servers import Server


@pytest.fixture
def home() -> Iterator[Path]:
    """A home that does not exist yet, at a path short enough for a unix socket."""
    with tempfile.TemporaryDirectory(prefix="al-") as folder:
        yield Path(folder) / "home"


@pytest.fixture
def shell(home: Path) -> Shell:
    """A home without a server."""
    return Shell(home)


@pytest.fixture(params=["alone", "served"])
def either(request: pytest.FixtureRequest, home: Path) -> Iterator[Shell]:
    """The same home without a server, and with one."""
    if request.param == "alone":
        yield Shell(home)
    else:
        with Server(home, launcher=False):
            yield Shell(home)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="al-") as folder, Server(Path(folder) / "home") as running:
        yield running


@pytest.fixture(scope="session")
def cookie(server: Server) -> dict[str, str]:
    """The Cookie header of a person who is logged in on the shared server."""
    return server.login()


# --- who asks the API in this process


@pytest.fixture
def who(db: None) -> People:
    return people.people()


@pytest.fixture
def human(who: People) -> Caller:
    return Caller({"node_id": None, "surface": "api", "human": True})


@pytest.fixture
def alice(who: People) -> Caller:
    return Caller({"node_id": "alice", "surface": "api", "human": False})


@pytest.fixture
def bob(who: People) -> Caller:
    return Caller({"node_id": "bob", "surface": "api", "human": False})


@pytest.fixture
def mallory(who: People) -> Caller:
    return Caller({"node_id": "mallory", "surface": "api", "human": False})


ALONE_IN_EVERY_RUN = (
    "a_reply_with_one_key_acts_once",
    "a_task_is_handed_over",
    "ask_ends_with_the_words",
    "wait_ends_when_it_happens",
    "an_edit_is_a_new_text",
    "register_makes_a_node",
)
"""The way without a server is one piece of code for all verbs: `test_cli.py` and these go it in every run."""
BREADTH = ("test_cli_verbs.py", "test_cli_waiting.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a server a command costs a second: most of the verbs' breadth on that way is for `make soak`."""
    for item in items:
        broad = item.path.name in BREADTH and "[alone" in item.name
        if broad and not any(name in item.name for name in ALONE_IN_EVERY_RUN):
            item.add_marker(pytest.mark.soak)
