"""Many pages on one board: each hears of every change, and none of them holds up the others."""

from __future__ import annotations

import json
import resource
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.soak import sockets
from tests.soak.sockets import NotingServer, dial, next_frame

pytestmark = pytest.mark.process

SOME, MANY = 80, 1000
FLOORS = 2.5


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NotingServer]:
    with NotingServer(tmp_path / "home") as server:
        command(server, "create_board", title="b")
        yield server


def command(server: NotingServer, kind: str, **fields: Any) -> int:
    """Gives a command as the person; the board's revision after it."""
    body = json.dumps({"command": kind, **fields}).encode()
    answer = server.ask_unix("POST", "/api/agentlink/commands", {"Content-Type": "application/json"}, body)
    assert answer.status in (200, 201), answer.body
    return int(answer.json["receipt"]["revision"])


def propose(server: NotingServer, number: int) -> int:
    return command(server, "propose_contract", boardId="b", objective=f"Step {number}")


def until(connection: Any, revision: int) -> list[dict[str, Any]]:
    frames = [json.loads(next_frame(connection))]
    while frames[-1]["revision"] < revision:
        frames.append(json.loads(next_frame(connection)))
    return frames


def test_every_page_hears_of_every_change_in_order(server):
    with sockets.watching(server, server.login(), "/ws/boards/b", SOME) as pages:
        last = [propose(server, number) for number in range(5)][-1]
        for page in pages:
            frames = until(page, last)
            revisions = [frame["revision"] for frame in frames]
            assert revisions == sorted(set(revisions)) and revisions[-1] == last
            assert {"contracts", "needs"} <= {name for frame in frames for name in frame["regions"]}


def test_a_page_that_does_not_read_holds_up_nobody_and_hears_of_all_it_missed(server):
    """The slow one's buffers are as small as the system lets them be, so that they fill within some hundred frames."""
    cookie = server.login()
    with dial(server, cookie, "/ws/boards/b", receive_bytes=1) as slow, dial(server, cookie, "/ws/boards/b") as quick:
        before = _resident(server)
        reader = _registered(server)
        for number in range(400):
            if number == 300:  # long after the slow one is full
                command(server, "send_message", boardId="b", to=[reader], content="Only this is about messages")
            last = propose(server, number)
        assert until(quick, last)[-1]["revision"] == last
        assert _resident(server) - before < 64 << 20
        heard = until(slow, last)
        assert len(heard) < 400, "one frame stands for many"
        assert "messages" in {name for frame in heard for name in frame["regions"]}


def _registered(server: NotingServer) -> str:
    answer = server.ask_unix(
        "POST",
        "/api/agentlink/commands",
        {"Content-Type": "application/json"},
        json.dumps({"command": "register_node", "name": "reader"}).encode(),
    )
    assert answer.status == 201, answer.body
    return "reader"


def _resident(server: NotingServer) -> int:
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * resource.getpagesize()


def test_more_pages_than_connections_are_let_through_and_normal_answers_go_on(server):
    """Pages that watch do not count among the connections that are dropped when there are too many."""
    cookie = server.login()
    from agentlink_site.wire import MOST_OPEN

    with sockets.watching(server, cookie, "/ws/boards/b", MOST_OPEN + 20) as pages:
        last = propose(server, 0)
        assert {until(page, last)[-1]["revision"] for page in pages} == {last}
        assert server.ask("GET", "/boards/b/", cookie).status == 200


@pytest.fixture
def descriptors() -> Iterator[None]:
    """Enough of them for both ends of a thousand sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096 if hard == resource.RLIM_INFINITY else min(4096, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.soak
@pytest.mark.usefixtures("descriptors")
def test_the_last_of_a_thousand_hears_within_two_and_a_half_times_the_floor(server):
    with ExitStack() as stack:
        bare: Callable[[], float] = stack.enter_context(sockets.floor(MANY))
        floor = [bare() for _ in range(11)]
        numbers = iter(range(100))
        ours = sockets.fan_out(
            server, server.login(), "b", MANY, rounds=11, commit=lambda: propose(server, next(numbers))
        )
        floor += [bare() for _ in range(11)]
    assert statistics.median(ours) <= FLOORS * statistics.median(floor), (sorted(ours), sorted(floor))
