"""Three hundred stalled connections of every kind are closed in time, and nobody else waits for them."""

from __future__ import annotations

import resource
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.site.servers import Server
from tests.threats.stalled import COUNT, STARTS, stall

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


def test_stalled_connections_of_every_kind_are_closed_while_others_are_answered(fresh: Server) -> None:
    """Three hundred of each kind, all kinds at once."""
    allow(COUNT * len(STARTS) + 200)
    cookie = fresh.login()
    with ThreadPoolExecutor(len(STARTS)) as pool:
        waiting = {kind: pool.submit(stall, fresh, kind, cookie, path="/api/agentlink/status") for kind in STARTS}
        seen = {kind: one.result() for kind, one in waiting.items()}
    assert {kind: one.left_open for kind, one in seen.items()} == dict.fromkeys(STARTS, 0)
    assert {status for one in seen.values() for status, _ in one.answers} == {200}
    assert min(len(one.answers) for one in seen.values()) >= COUNT // 25
    assert fresh.ask_unix("GET", "/api/agentlink/status").status == 200
    assert "Traceback" not in fresh.log()


def allow(descriptors: int) -> None:
    """The soft limit of this process, as the server raises its own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < descriptors:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(descriptors, hard), hard))


def test_a_connection_that_is_used_is_not_among_those_that_are_closed(fresh: Server) -> None:
    """The checker is checked: what is kept open by asking is still open."""
    with fresh.connect() as used:
        ask = f"GET /login HTTP/1.1\r\nHost: {fresh.host}\r\n\r\n".encode()
        used.sendall(ask)
        assert used.recv(65536).startswith(b"HTTP/1.1 401")
        assert stall(fresh, "half the headers", {}, count=20).left_open == 0
        used.sendall(ask)
        assert b"HTTP/1.1 401" in used.recv(65536)
