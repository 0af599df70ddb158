"""What a client may send, how slowly, and what happens to those who only wait."""

from __future__ import annotations

import resource
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from agentlink_site import wire
from tests.site.servers import Server, read_all

pytestmark = pytest.mark.process

MIB = 1024 * 1024
STALLED = 300


@pytest.fixture
def fresh(home: Path) -> Iterator[Server]:
    with Server(home) as server:
        yield server


def post_head(server: Server, *lines: str) -> bytes:
    head = [f"POST /test/actor HTTP/1.1\r\nHost: {server.host}\r\nOrigin: {server.origin}", *lines]
    return ("\r\n".join(head) + "\r\n\r\n").encode()


def status(raw: bytes) -> int:
    return int(raw.split()[1])


@pytest.mark.parametrize("length", [MIB + 1, 50 * MIB, 10**18])
def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(server: Server, length: int) -> None:
    answer = server.raw(post_head(server, f"Content-Length: {length}", "Expect: 100-continue"))
    assert status(answer) == 413
    assert b"100 Continue" not in answer
    assert b"1048576 bytes" in answer
    assert b"Content-Security-Policy" in answer or b"content-security-policy" in answer


def test_an_endless_chunked_body_is_refused_by_count(server: Server) -> None:
    chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    with server.connect() as connection:
        connection.sendall(post_head(server, "Transfer-Encoding: chunked"))
        try:
            for _ in range(200):
                connection.sendall(chunk)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it hung up, as it should
        assert status(read_all(connection)) == 413


def test_what_a_refused_client_still_sends_is_not_kept(fresh: Server) -> None:
    before = _resident(fresh)
    with fresh.connect() as connection:
        connection.sendall(post_head(fresh, f"Content-Length: {50 * MIB}"))
        try:
            for _ in range(50):
                connection.sendall(b"a" * MIB)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it hung up, as it should
    assert _resident(fresh) - before < 20 * MIB


def _resident(server: Server) -> int:
    fields = Path(f"/proc/{server.process.pid}/statm").read_text().split()
    return int(fields[1]) * resource.getpagesize()


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_exactly_one_mebibyte_arrives(server: Server, chunked: bool) -> None:
    body = b"a" * MIB
    framed = b"".join(b"8000\r\n" + body[:0x8000] + b"\r\n" for _ in range(MIB // 0x8000)) + b"0\r\n\r\n"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server.socket_path)
        length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {MIB}"
        head = f"POST /test/actor HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{length}\r\n\r\n".encode()
        connection.sendall(head + (framed if chunked else body))
        assert b'"length": 1048576' in read_all(connection)


def test_headers_that_do_not_come_are_given_up(fresh: Server) -> None:
    with fresh.connect() as silent, fresh.connect() as slow:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        stop = threading.Event()
        dribbling = threading.Thread(target=_dribble, args=(slow, stop))
        dribbling.start()
        assert status(read_all(silent)) == 408
        assert status(read_all(slow)) == 408
        stop.set()
        dribbling.join()


def _dribble(connection: socket.socket, stop: threading.Event) -> None:
    """A header line now and then keeps no connection alive."""
    try:
        while not stop.wait(0.3):
            connection.sendall(b"X-A: b\r\n")
    except OSError:
        pass  # it hung up, as it should


def test_a_body_that_does_not_come_is_given_up(fresh: Server) -> None:
    with fresh.connect() as slow:
        slow.sendall(post_head(fresh, "Content-Length: 10") + b"abc")
        assert status(read_all(slow)) == 408


@pytest.mark.parametrize("start", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_stalled_connections_are_dropped_while_others_are_answered(fresh: Server, start: bytes) -> None:
    cookie = fresh.login()
    with ExitStack() as stack:
        stalled = []
        for _ in range(STALLED):
            stalled.append(stack.enter_context(fresh.connect()))
            stalled[-1].sendall(start)
            if len(stalled) % 50 == 0:
                assert fresh.ask("GET", "/test/actor", cookie).status == 200
        still_open = [connection for connection in stalled if not _hung_up(connection)]
        assert len(still_open) <= wire.MOST_WAITING
        assert stalled[0] not in still_open
        for connection in still_open:
            read_all(connection)  # ends: the rest is given up after its five seconds
        assert fresh.ask("GET", "/test/actor", cookie).status == 200


def _hung_up(connection: socket.socket) -> bool:
    if not select.select([connection], [], [], 0)[0]:
        return False
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except ConnectionResetError:
        return True


def test_the_longest_idle_goes_when_too_many_are_open(fresh: Server) -> None:
    ask = f"GET / HTTP/1.1\r\nHost: {fresh.host}\r\n\r\n".encode()
    with ExitStack() as stack:
        idle = []
        for _ in range(wire.MOST_OPEN + 20):
            idle.append(stack.enter_context(fresh.connect()))
            idle[-1].sendall(ask)
            assert _whole_answer(idle[-1]).startswith(b"HTTP/1.1 401")
        assert [_hung_up(connection) for connection in (idle[0], idle[-1])] == [True, False]
        assert sum(not _hung_up(connection) for connection in idle) <= wire.MOST_OPEN
        idle[-1].sendall(ask)
        assert _whole_answer(idle[-1]).startswith(b"HTTP/1.1 401")


def _whole_answer(connection: socket.socket) -> bytes:
    data = b""
    while b"</html>" not in data:
        part = connection.recv(65536)
        assert part, "hung up in the middle of an answer"
        data += part
    return data


def test_stalled_tcp_connections_do_not_count_on_the_unix_socket(fresh: Server) -> None:
    with ExitStack() as stack:
        for _ in range(STALLED):
            stack.enter_context(fresh.connect())
        assert fresh.ask_unix("GET", "/test/actor").status == 200


def test_requests_in_one_go_are_answered_in_order(server: Server) -> None:
    one = f"GET /{{}} HTTP/1.1\r\nHost: {server.host}\r\n\r\n"
    last = f"GET /api HTTP/1.1\r\nHost: {server.host}\r\nConnection: close\r\n\r\n"
    answer = server.raw((one.format("a") + one.format("b") + last).encode())
    assert answer.count(b"HTTP/1.1 401") == 3
    assert answer.rstrip().endswith(b"}")


def test_a_large_static_file_arrives_whole(server: Server, cookie: dict[str, str]) -> None:
    from django_htmx import __file__ as package

    path = Path(package).parent / "static/django_htmx/htmx-4.js"
    answer = server.ask("GET", f"/static/django_htmx/{path.name}", cookie)
    assert answer.body == path.read_bytes()
    seen = cookie | {"If-Modified-Since": answer.headers["last-modified"]}
    assert server.ask("GET", f"/static/django_htmx/{path.name}", seen).status == 304
