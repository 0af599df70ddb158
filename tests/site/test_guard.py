"""Who gets past the guard: Host, Origin, Sec-Fetch-Site, content type, session, token, unix socket."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys

import pytest

from agentlink_site.headers import CSP
from tests.site.servers import ROOT, Answer, Server, environment

pytestmark = pytest.mark.process

GOLDEN = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
}
STATIC = "/static/django_htmx/htmax-4.min.js"
MOUNTED = ["/", "/api", "/api/agentlink/boards", "/mcp", "/a2a", "/ws/home", STATIC, "/login", "/no/such/page"]
FOREIGN_HOSTS = [
    "evil.example:{port}", "127.0.0.1.evil.example:{port}", "localhost@evil.example:{port}", "evil@127.0.0.1:{port}",
    "127.0.0.1", "localhost", "127.0.0.1:1", "LOCALHOST:{port}", "127.0.0.1:{port}.", "127.1:{port}", "0.0.0.0:{port}",
    "[::ffff:127.0.0.1]:{port}", "127.0.0.1:0{port}", "", "127.0.0.1:{port},evil.example",
]  # fmt: skip
JSON = {"Content-Type": "application/json"}


def assert_golden(headers: dict[str, str]) -> None:
    assert {name: headers.get(name) for name in GOLDEN} == GOLDEN


def parse(raw: bytes) -> tuple[int, dict[str, str]]:
    head = raw.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    return int(head[0].split()[1]), {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in head[1:])}


@pytest.mark.parametrize("path", MOUNTED)
def test_a_rebound_name_is_refused_on_every_address(server: Server, cookie: dict[str, str], path: str) -> None:
    answer = server.ask("GET", path, cookie | {"Host": f"evil.example:{server.port}"})
    assert answer.status == 421
    assert_golden(answer.headers)


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_only_the_exact_names_with_our_port_are_served(server: Server, cookie: dict[str, str], host: str) -> None:
    assert server.ask("GET", "/test/actor", cookie | {"Host": host.format(port=server.port)}).status == 421


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_each_of_our_names_is_served(server: Server, cookie: dict[str, str], name: str) -> None:
    assert server.ask("GET", "/test/actor", cookie | {"Host": f"{name}:{server.port}"}).status == 200


@pytest.mark.parametrize(
    "head",
    [
        "GET /test/actor HTTP/1.1\r\n",
        "GET /test/actor HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n",
        "GET /test/actor HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n",
        "GET http://evil.example/test/actor HTTP/1.1\r\nHost: {host}\r\n",
        "GET http://{host}/test/actor HTTP/1.1\r\nHost: {host}\r\n",
        "GET //evil.example/test/actor HTTP/1.1\r\nHost: {host}\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: {host}\r\n",
    ],
)
def test_requests_with_an_unclear_target_are_malformed(server: Server, cookie: dict[str, str], head: str) -> None:
    text = head.format(host=server.host) + f"Cookie: {cookie['Cookie']}\r\nConnection: close\r\n\r\n"
    status, headers = parse(server.raw(text.encode()))
    assert status == 400
    assert_golden(headers)


@pytest.mark.parametrize(
    "data",
    [b"\r\n\r\nhello\r\n\r\n", b"GET / HTTP/1.1\r\nno colon here\r\n\r\n", b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
     b"GET / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
     b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
     b"GET / HTTP/1.1\r\nX: " + b"a" * 20000 + b"\r\n\r\n"],
)  # fmt: skip
def test_what_is_not_http_gets_a_sentence_with_every_header(server: Server, data: bytes) -> None:
    status, headers = parse(server.raw(data))
    assert status in (400, 431)
    assert_golden(headers)


def test_every_address_but_the_login_and_its_looks_wants_a_login(server: Server) -> None:
    answers = {path: server.ask("GET", path) for path in MOUNTED if path != "/login"}
    assert {path: answer.status for path, answer in answers.items()} == dict.fromkeys(answers, 401)
    assert b"agentlink open" in answers["/"].body
    assert answers["/api"].json["code"] == "not_logged_in"
    for path in ("/static/css/tokens.css", "/static/icon.svg"):
        assert server.ask("GET", path).status == 200, "the login page is drawn before anybody is logged in"


@pytest.mark.parametrize(
    "name", ["ok", "unauthorized", "not found", "static", "no such static", "error", "api", "login"]
)
def test_every_answer_carries_the_golden_headers(server: Server, cookie: dict[str, str], name: str) -> None:
    asked = {
        "ok": ("/test/actor", cookie, 200), "unauthorized": ("/", {}, 401), "not found": ("/none", cookie, 404),
        "static": (STATIC, cookie, 200), "no such static": ("/static/none.js", {}, 401),
        "error": ("/test/broken", cookie, 500),
        "api": ("/api/none", cookie, 404), "login": (f"/login?code={server.new_code()}", {}, 200),
    }  # fmt: skip
    path, headers, status = asked[name]
    answer = server.ask("GET", path, headers)
    assert answer.status == status
    assert_golden(answer.headers)
    assert answer.headers["cache-control"] == ("max-age=60, public" if name == "static" else "no-store")
    assert "access-control-allow-origin" not in answer.headers
    assert "server" not in answer.headers


def test_the_golden_policy_is_the_one_in_the_code() -> None:
    assert CSP.decode() == GOLDEN["content-security-policy"]


def test_a_preflight_gets_no_permission(server: Server) -> None:
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    answer = server.ask("OPTIONS", "/api/agentlink/boards", asked)
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def post(server: Server, headers: dict[str, str], path: str = "/api/test/actor") -> Answer:
    return server.ask("POST", path, headers, b"{}")


@pytest.mark.parametrize(
    "origin",
    ["null", "", "http://evil.example", "http://127.0.0.1:1", "http://localhost:{port}", "https://127.0.0.1:{port}",
     "http://127.0.0.1:{port}/", "http://user@127.0.0.1:{port}", "http://127.0.0.1", "HTTP://127.0.0.1:{port}",
     "http://127.0.0.1:{port} ", "http://127.0.0.1:{port}.evil.example"],
)  # fmt: skip
def test_a_changing_request_of_another_origin_is_refused(server: Server, cookie: dict[str, str], origin: str) -> None:
    own = origin.format(port=server.port)
    if own.endswith(" "):
        own = own.rstrip() + "\x00"  # http.client strips nothing, the parser would strip a space
        assert parse(server.raw(_raw_post(server, cookie, own)))[0] == 400
        return
    assert post(server, cookie | JSON | {"Origin": own}).status == 403


def _raw_post(server: Server, cookie: dict[str, str], origin: str) -> bytes:
    lines = [
        "POST /api/test/actor HTTP/1.1",
        f"Host: {server.host}",
        f"Origin: {origin}",
        f"Cookie: {cookie['Cookie']}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def test_a_changing_request_without_origin_needs_more_than_a_cookie(server: Server, cookie: dict[str, str]) -> None:
    assert post(server, cookie | JSON).json["code"] == "wrong_origin"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "PROPFIND"])
def test_every_method_that_is_not_a_read_is_checked(server: Server, cookie: dict[str, str], method: str) -> None:
    assert server.ask(method, "/test/actor", cookie | {"Origin": "http://evil.example"}).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "SAME-ORIGIN", "", "same-origin, none"])
def test_what_a_browser_calls_foreign_is_refused_for_reads_too(
    server: Server, cookie: dict[str, str], site: str
) -> None:
    assert server.ask("GET", "/test/actor", cookie | {"Sec-Fetch-Site": site}).status == 403
    assert post(server, cookie | JSON | {"Origin": server.origin, "Sec-Fetch-Site": site}).status == 403


def test_a_link_that_a_person_follows_is_served_but_not_framed(server: Server) -> None:
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    path = f"/login?code={server.new_code()}"
    assert server.ask("GET", path, followed | {"Sec-Fetch-Dest": "document"}).status == 200
    assert server.ask("GET", path, followed | {"Sec-Fetch-Dest": "iframe"}).status == 403
    assert (
        server.ask("POST", "/login", followed | {"Sec-Fetch-Dest": "document", "Origin": server.origin}).status == 403
    )


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                                  "application/jsonx", "application/json, text/plain", ""])  # fmt: skip
def test_json_routes_take_nothing_but_json(server: Server, cookie: dict[str, str], kind: str) -> None:
    answer = post(server, cookie | {"Origin": server.origin, "Content-Type": kind})
    assert (answer.status, answer.json["code"]) == (415, "not_json")


def test_a_json_body_without_a_type_is_refused_and_an_empty_one_is_not(server: Server) -> None:
    assert server.ask_unix("POST", "/api/test/actor", {}, b"{}").status == 415
    assert server.ask_unix("POST", "/api/test/actor").status == 200
    assert (
        server.ask_unix("POST", "/api/test/actor", {"Content-Type": "application/json; charset=utf-8"}, b"{}").status
        == 200
    )


def test_the_cookie_makes_the_person_in_the_panel(server: Server, cookie: dict[str, str]) -> None:
    assert server.ask("GET", "/test/actor", cookie).json["actor"] == {
        "node_id": None,
        "surface": "panel",
        "human": True,
    }


def test_the_unix_socket_makes_the_person_at_the_command_line(server: Server) -> None:
    assert server.ask_unix("GET", "/test/actor").json["actor"] == {"node_id": None, "surface": "cli", "human": True}
    answer = server.ask_unix("GET", "/test/actor", {"X-AgentLink-Surface": "mcp"})
    assert answer.json["actor"]["surface"] == "mcp"
    assert server.ask_unix("GET", "/test/actor", {"X-AgentLink-Surface": "panel"}).json["actor"]["surface"] == "cli"


def test_the_cookie_means_nothing_on_the_unix_socket(server: Server, cookie: dict[str, str]) -> None:
    assert server.ask_unix("GET", "/test/actor", cookie).json["actor"]["surface"] == "cli"


def test_a_foreign_host_is_refused_on_the_unix_socket_too(server: Server) -> None:
    assert server.ask_unix("GET", "/test/actor", {"Host": "evil.example"}).status == 421


@pytest.mark.parametrize(
    "value",
    ["", "Bearer", "Bearer ", "Bearer x", "Bearer " + "a" * 43, "bearer " + "a" * 43, "Basic YTpi",
     "Bearer " + "a" * 4096, "Bearer a b",
     "Bearer " + "\u0661".encode().decode("latin-1") * 20, "Bearer " + "a" * 42 + "\x7f"],
)  # fmt: skip
def test_a_token_that_is_not_valid_is_refused_even_with_a_good_cookie(
    server: Server, cookie: dict[str, str], value: str
) -> None:
    answer = server.ask("GET", "/api/test/actor", cookie | {"Authorization": value, "X-AgentLink-Scopes": "admin"})
    assert (answer.status, answer.json["code"]) == (401, "bad_token")


def test_a_valid_token_makes_its_node_act(server: Server, cookie: dict[str, str]) -> None:
    env = environment(server.home)
    issue = "from agentlink_site.server import prepare; prepare(); from peers.trust import issue; print(issue('scout'))"
    made = subprocess.run(
        [sys.executable, "-c", issue],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    token = {"Authorization": f"Bearer {made.stdout.strip()}"}
    scout = {"node_id": "scout", "human": False}
    assert server.ask("GET", "/test/actor", token | cookie).json["actor"] == scout | {"surface": "api"}
    assert server.ask_unix("GET", "/test/actor", token).json["actor"] == scout | {"surface": "cli"}
    assert server.ask("POST", "/api/test/actor", token | JSON, b"{}").status == 200  # no Origin, no CSRF token
    assert server.ask("POST", "/api/test/actor", token | JSON | {"Origin": "http://evil.example"}, b"{}").status == 403
    assert server.ask("POST", "/api/agentlink/login-links", token).status == 403
    assert server.ask_unix("POST", "/api/agentlink/login-links", token).status == 403
    last = token["Authorization"][-1]
    wrong = {"Authorization": token["Authorization"][:-1] + ("a" if last != "a" else "b")}
    assert server.ask("GET", "/test/actor", wrong).status == 401


def test_a_token_in_the_address_is_no_token(server: Server) -> None:
    assert server.ask("GET", "/test/actor?token=" + "a" * 43 + "&access_token=" + "a" * 43).status == 401


@pytest.mark.parametrize("key", ["", "x", "a" * 32, "A" * 32, "../" * 10 + "ab", "a" * 31 + "'", "a" * 5000])
def test_an_invented_session_is_no_session(server: Server, cookie: dict[str, str], key: str) -> None:
    name = cookie["Cookie"].rpartition("; ")[2].partition("=")[0]
    assert server.ask("GET", "/test/actor", {"Cookie": f"{name}={key}"}).status == 401


def test_a_session_that_was_not_opened_by_a_link_is_no_login(server: Server, cookie: dict[str, str]) -> None:
    from http.cookies import SimpleCookie

    name = list(SimpleCookie(cookie["Cookie"]))[-1]
    make = (
        "import django; django.setup(); from django.contrib.sessions.backends.db import SessionStore as S; "
        "s = S(); s['other'] = True; s.create(); print(s.session_key)"
    )
    env = {
        "AGENTLINK_HOME": str(server.home),
        "DJANGO_SETTINGS_MODULE": "agentlink_site.settings",
        "PATH": os.environ["PATH"],
    }
    made = subprocess.run([sys.executable, "-c", make], env=env, cwd=ROOT, capture_output=True, text=True, check=True)
    assert server.ask("GET", "/test/actor", {"Cookie": f"{name}={made.stdout.strip()}"}).status == 401


def test_it_listens_on_loopback_only(server: Server) -> None:
    connections = server.process.pid
    listening = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True, check=True).stdout.splitlines()
    own = [line.split()[3] for line in listening if f"pid={connections}," in line]
    assert own == [server.host]


def test_the_unix_socket_is_ours_alone(server: Server) -> None:
    info = os.stat(server.socket_path)
    assert stat.S_ISSOCK(info.st_mode)
    assert info.st_mode & 0o177 == 0
    assert os.stat(os.path.dirname(server.socket_path)).st_mode & 0o077 == 0


def test_another_user_gets_nothing_from_any_door(server: Server) -> None:
    script = (
        "import socket, sys, http.client\n"
        f"c = http.client.HTTPConnection('127.0.0.1', {server.port}); c.request('GET', '/')\n"
        "print(c.getresponse().status)\n"
        "s = socket.socket(socket.AF_UNIX)\n"
        f"try: s.connect({server.socket_path!r}); print('connected')\n"
        "except PermissionError: print('refused')\n"
    )
    root = os.geteuid() == 0  # only root can become another user; for oneself the socket is open
    become = (
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3"]
        if root
        else [sys.executable]
    )
    said = subprocess.run([*become, "-c", script], capture_output=True, text=True, check=True, cwd="/").stdout.split()
    assert said == ["401", "refused" if root else "connected"]


def test_the_log_has_the_failed_view_once_and_no_secret(server: Server, cookie: dict[str, str]) -> None:
    before = sum("this view always fails" in line for line in server.log().splitlines())
    server.ask("GET", "/test/broken?secret=hunter2hunter2", cookie)
    lines = [line for line in server.log().splitlines() if "this view always fails" in line]
    assert len(lines) == before + 1
    assert "hunter2" not in server.log()
    assert json.loads(lines[-1])["level"] == "error"


def test_a_socket_that_sends_nothing_does_not_stop_others(server: Server, cookie: dict[str, str]) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as silent:
        assert server.ask("GET", "/test/actor", cookie).status == 200
        silent.send(b"GET / HT")
        assert server.ask("GET", "/test/actor", cookie).status == 200
