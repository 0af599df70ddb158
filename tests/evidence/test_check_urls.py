from __future__ import annotations

import socket

import pytest

from evidence.checks import check_url
from tests.evidence.servers import saying, served, trickling

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def test_a_loopback_server_that_answers_is_verified_by_one_get() -> None:
    with served(saying(OK)) as (port, asked):
        for host in ("127.0.0.1", "localhost", "127.0.0.1"):
            assert check_url(f"http://{host}:{port}/status?x=1").verdict == "verified"
    assert [request.split(b"\r\n")[0] for request in asked] == [b"GET /status?x=1 HTTP/1.1"] * 3


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1@evil.example:{}/",
        "http://user:pw@127.0.0.1:{}/",
        "http://2130706433:{}/",
        "http://0177.0.0.1:{}/",
        "http://127.1:{}/",
        "http://0x7f.0.0.1:{}/",
        "http://0x7f000001:{}/",
        "http://127.0.0.1.:{}/",
        "http://[::ffff:127.0.0.1]:{}/",
        "http://[::1%25lo]:{}/",
        "http://0.0.0.0:{}/",
        "http://ⓛocalhost:{}/",
        "http://127.0.0.1:{}/a b",
        "http://127.0.0.1:{}\\@evil.example/",
        "http://127.0.0.1:{}/\r\nX: y",
        "https://127.0.0.1:{}/",
        "ftp://127.0.0.1:{}/",
        "file://127.0.0.1:{}/etc/passwd",
        "//127.0.0.1:{}/",
        "127.0.0.1:{}",
        "http://[127.0.0.1:{}/",
    ],
)
def test_any_other_spelling_is_rejected_without_a_connection(url: str) -> None:
    with served(saying(OK)) as (port, asked):
        found = check_url(url.format(port))
    assert (found.verdict, asked) == ("rejected", [])
    assert found.detail.endswith(".")


@pytest.mark.parametrize(
    "url",
    [
        "http://evil.example:{}/",
        "http://127.0.0.1.evil.example:{}/",
        "http://localhost.evil.example:{}/",
        "http://169.254.169.254:{}/",
        "http://10.0.0.1:{}/",
        "https://evil.example/",
        "http://[2001:db8::1]:{}/",
    ],
)
def test_another_machine_is_never_asked_and_proves_nothing_by_itself(url: str) -> None:
    with served(saying(OK)) as (port, asked):
        found = check_url(url.format(port))
    assert (found.verdict, asked) == ("unverified", [])
    assert "vouch" in found.detail


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "http://127.0.0.1:22/", "http://localhost:80/", "http://[::1]:0/"]
)
def test_a_port_is_required_and_system_ports_are_refused(url: str) -> None:
    assert check_url(url).verdict == "rejected"


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/", "http://127.0.0.1:-1/", "http://127.0.0.1:x/"])
def test_a_port_that_is_none_is_rejected(url: str) -> None:
    assert check_url(url).verdict == "rejected"


def test_our_own_panel_proves_nothing() -> None:
    with served(saying(OK)) as (port, asked):
        assert check_url(f"http://127.0.0.1:{port}/", own_ports={port}).verdict == "rejected"
    assert asked == []


@pytest.mark.parametrize("status", [b"301 Moved", b"302 Found", b"307 Temporary Redirect", b"304 Not Modified"])
def test_a_redirect_is_not_followed(status: bytes) -> None:
    with served(saying(OK)) as (other, followed):
        location = f"http://127.0.0.1:{other}/".encode()
        answer = b"HTTP/1.1 %s\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (status, location)
        with served(saying(answer)) as (port, _):
            assert check_url(f"http://127.0.0.1:{port}/").verdict == "rejected"
    assert followed == []


def test_a_redirect_to_a_metadata_service_is_rejected() -> None:
    answer = b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/\r\nContent-Length: 0\r\n\r\n"
    with served(saying(answer)) as (port, _):
        found = check_url(f"http://127.0.0.1:{port}/")
    assert (found.verdict, "redirect" in found.detail) == ("rejected", True)


@pytest.mark.parametrize("status", [b"404 Not Found", b"500 Oops", b"401 Unauthorized"])
def test_an_answer_outside_2xx_is_rejected(status: bytes) -> None:
    with served(saying(b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n" % status)) as (port, _):
        assert check_url(f"http://127.0.0.1:{port}/").verdict == "rejected"


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nX: ",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ],
)
def test_a_server_that_trickles_is_cut_off_as_a_whole(head: bytes) -> None:
    with served(trickling(head)) as (port, _):
        assert check_url(f"http://127.0.0.1:{port}/", timeout=0.4).verdict == "unavailable"


def test_an_endless_body_is_read_up_to_its_cap() -> None:
    with served(saying(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 10_000_000)) as (port, _):
        assert check_url(f"http://127.0.0.1:{port}/").verdict == "verified"


@pytest.mark.parametrize("answer", [b"", b"-ERR unknown command\r\n", b"\0" * 100, b"HTTP/1.1 abc\r\n\r\n"])
def test_a_server_that_speaks_no_http_is_unavailable(answer: bytes) -> None:
    with served(saying(answer)) as (port, _):
        assert check_url(f"http://127.0.0.1:{port}/", timeout=1).verdict == "unavailable"


def test_a_port_without_a_server_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert check_url(f"http://localhost:{port}/").verdict == "unavailable"
