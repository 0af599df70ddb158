"""Websockets: refused before they are accepted, closed when their session ends, limited in size."""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from tests.site.servers import Server

pytestmark = pytest.mark.process


def dial(server: Server, cookie: dict[str, str], origin: str | None, **more: str) -> ClientConnection:
    named = Origin(origin) if origin is not None else None
    return connect(f"ws://{server.host}/ws/home", origin=named, additional_headers=cookie | more)


def test_our_own_page_with_a_session_is_connected(server: Server, cookie: dict[str, str]) -> None:
    with dial(server, cookie, server.origin) as ws:
        assert ws.recv() == "panel"
        ws.send("hello")
        assert ws.recv() == "hello"


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", None, "http://127.0.0.1:1", "http://localhost:{port}", "https://127.0.0.1:{port}",
     "http://a@127.0.0.1:{port}", "http://127.0.0.1:{port}/x"],
)  # fmt: skip
def test_another_origin_is_refused_before_accept(server: Server, cookie: dict[str, str], origin: str | None) -> None:
    with pytest.raises(InvalidStatus) as refused:
        dial(server, cookie, origin.format(port=server.port) if origin else None)
    assert refused.value.response.status_code in (400, 403)


def test_without_a_session_even_our_own_origin_is_refused(server: Server) -> None:
    with pytest.raises(InvalidStatus) as refused:
        dial(server, {}, server.origin)
    assert refused.value.response.status_code == 403
    assert refused.value.response.headers["Content-Security-Policy"].startswith("default-src 'none'")


@pytest.mark.parametrize(
    "head",
    ["GET /ws/home HTTP/1.1\r\nHost: evil.example:{port}\r\nOrigin: http://evil.example:{port}\r\n",
     "GET /ws/home HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\nOrigin: http://{host}\r\n",
     "GET /ws/home HTTP/1.1\r\nOrigin: http://{host}\r\n",
     "GET http://{host}/ws/home HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n",
     "GET /ws/home HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nOrigin: http://{host}\r\n",
     "GET /ws/home HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nAuthorization: Bearer aaaaaaaaaaaaaaaaaaaa\r\n",
     "POST /ws/home HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Length: 0\r\n"],
)  # fmt: skip
def test_an_unclear_handshake_is_refused(server: Server, cookie: dict[str, str], head: str) -> None:
    text = head.format(host=server.host, port=server.port) + (
        f"Cookie: {cookie['Cookie']}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    answer = server.raw(text.encode())
    assert int(answer.split()[1]) in (400, 403, 405)
    assert b"Sec-WebSocket-Accept" not in answer


def test_a_socket_closes_when_its_session_ends(server: Server) -> None:
    cookie = server.login()
    with dial(server, cookie, server.origin) as ws:
        assert ws.recv() == "panel"
        token = cookie["Cookie"].partition("=")[2].partition(";")[0]
        server.ask("POST", "/logout", cookie | {"Origin": server.origin, "X-CSRFToken": token})
        with pytest.raises(ConnectionClosed) as closed:
            ws.recv(timeout=20)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4401


def test_a_frame_over_64_kilobytes_ends_the_socket(server: Server, cookie: dict[str, str]) -> None:
    with dial(server, cookie, server.origin) as ws:
        ws.recv()
        ws.send("a" * 65536)
        assert len(ws.recv()) == 65536
        ws.send("a" * 65537)
        with pytest.raises(ConnectionClosed) as closed:
            ws.recv(timeout=20)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009


def test_an_unknown_socket_address_is_refused(home: Path) -> None:
    with Server(home, launcher=False) as server:
        with pytest.raises(InvalidStatus) as refused:
            connect(f"ws://{server.host}/no", origin=Origin(server.origin), additional_headers=server.login())
        assert refused.value.response.status_code == 403
        assert "error" not in server.log()


def test_the_unix_socket_needs_no_origin(server: Server) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as raw:
        raw.connect(server.socket_path)
        with connect("ws://localhost/ws/home", sock=raw) as ws:
            assert ws.recv() == "cli"
