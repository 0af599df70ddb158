"""What other pages, other ports and floods may do to the server: rebinding, forged requests, sizes, rates."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import resource
import shutil
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentlink_site.login import WRONG_CODES
from agentlink_site.security import LOOKS, PUBLIC_PATHS
from tests.site.servers import ROOT, Answer, Server, run

pytestmark = pytest.mark.process

BASE = "/api/agentlink"
JSON = {"Content-Type": "application/json"}
MIB = 1024 * 1024
NOT_BUILT = ["/mcp", "/mcp/", "/a2a", "/.well-known/agent-card.json", "/ws", "/ws/none"]
"""Addresses that are not there (yet); nothing may answer at them to strangers either."""


def token_of(server: Server, name: str) -> str:
    """Registers a node; its secret."""
    body = json.dumps({"command": "register_node", "name": name}).encode()
    assert server.ask_unix("POST", f"{BASE}/commands", JSON, body).status in (201, 409)
    return (server.home / "tokens" / name).read_text().strip()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def post(server: Server, body: bytes, **headers: str) -> Answer:
    """A body for the API, as the person."""
    return server.ask_unix("POST", f"{BASE}/boards", JSON | headers, body)


# --- rebinding, other origins --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", NOT_BUILT)
def test_addresses_that_are_not_there_check_host_and_login_like_all_others(
    server: Server, cookie: dict[str, str], path: str
) -> None:
    assert server.ask("GET", path, cookie | {"Host": f"evil.example:{server.port}"}).status == 421
    assert server.ask("GET", path).status == 401
    answer = server.ask("GET", path, cookie)
    assert answer.status == 404
    assert answer.headers["x-frame-options"] == "DENY"


def test_a_form_of_another_origin_that_holds_json_as_text_changes_nothing(
    server: Server, cookie: dict[str, str]
) -> None:
    before = fingerprint(server.home)
    form = cookie | {"Content-Type": "text/plain"}
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
        answer = server.ask("POST", f"{BASE}/boards", form | {"Origin": origin}, b'{"title": "x"}')
        assert answer.status in (403, 415)
    assert server.ask("POST", f"{BASE}/boards", form | {"Origin": server.origin}, b'{"title": "x"}').status == 415
    assert fingerprint(server.home) == before


@pytest.mark.parametrize("path", ["/", f"{BASE}/boards", "/mcp", "/login", "/static/icon.svg", "/none"])
def test_no_other_origin_is_ever_told_that_it_may_read(server: Server, cookie: dict[str, str], path: str) -> None:
    asked = cookie | {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    for method in ("OPTIONS", "GET"):
        answer = server.ask(method, path, asked)
        assert [name for name in answer.headers if name.startswith("access-control-")] == []


def settled(home: Path) -> str:
    """The fingerprint once no worker is busy with what was just written."""
    seen = [fingerprint(home)]
    for _ in range(100):
        time.sleep(0.5)
        seen.append(fingerprint(home))
        if len(set(seen[-4:])) == 1 and len(seen) >= 4:
            return seen[-1]
    raise AssertionError("the workers never came to rest")


def fingerprint(home: Path) -> str:
    """A hash of everything that the store holds, without what only notes the time that something was looked at."""
    digest = hashlib.sha256()
    with closing(sqlite3.connect(home / "agentlink.sqlite3")) as store:
        names = store.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        tables = [
            name for (name,) in names if name.startswith("boards_") or name in ("django_session", "peers_nodesecret")
        ]
        assert len(tables) > 10
        for table in tables:
            for row in store.execute(f"SELECT * FROM {table} ORDER BY 1"):
                digest.update(repr((table, row)).encode())
    return digest.hexdigest()


def test_no_get_changes_anything(fresh: Server) -> None:
    """Every GET address of the site, with every thing that there is."""
    cookie = fresh.login()
    give(fresh, "register_node", name="alice")
    board = give(fresh, "create_board", title="b", members={"alice": "worker"})["boardId"]
    contract = give(fresh, "propose_contract", boardId=board, objective="x")["contractId"]
    message = give(fresh, "send_message", boardId=board, to=["alice"], content="x")["messageId"]
    blocker = give(fresh, "open_blocker", boardId=board, summary="x")["blockerId"]
    known = {"board_id": board, "contract_id": contract, "message_id": message, "blocker_id": blocker}
    known |= {"session_id": "none", "evidence_id": "none", "node_id": "alice", "task_id": contract}
    addresses = every_get(fresh, known)
    assert len(addresses) > 25
    before = settled(fresh.home)
    statuses = {path: fresh.ask("GET", path, cookie).status for path in addresses}
    assert {status for status in statuses.values() if status >= 500} == set(), statuses
    assert sum(status == 200 for status in statuses.values()) > 15, statuses
    assert fingerprint(fresh.home) == before
    fresh.ask("GET", f"/boards/{board}/", cookie)
    give(fresh, "update_board", boardId=board, title="other")
    assert fingerprint(fresh.home) != before, "the checker is checked"


def give(server: Server, kind: str, **fields: Any) -> Any:
    answer = server.ask_unix("POST", f"{BASE}/commands", JSON, json.dumps({"command": kind, **fields}).encode())
    assert answer.status in (200, 201), answer
    return answer.json


def every_get(server: Server, known: dict[str, str]) -> list[str]:
    """Each GET of the API's own document and each of Django's addresses, with these things filled in."""
    document = server.ask_unix("GET", f"{BASE}/openapi.json").json
    paths = [path for path, methods in document["paths"].items() if "get" in methods]
    paths += [re.sub(r"<\w+:(\w+)>", r"{\1}", path) for path in panel_paths()]
    things = {"board": "board_id", "contract": "contract_id", "message": "message_id", "blocker": "blocker_id"}
    filled = []
    for path in paths:
        kind = next(
            (name for kind, name in things.items() if re.search(rf"/{kind}s/{{thing_id}}", path)), "evidence_id"
        )
        values = known | {"thing_id": known[kind], "mid": known["message_id"], "cid": known["contract_id"]}
        names = re.findall(r"{(\w+)}", path)
        spread = ["needs", "contracts", "boards"] if "name" in names else [""]
        filled += [path.format(**{**dict.fromkeys(names, "x"), **values, "name": one, "kind": "x"}) for one in spread]
    return [path if path.startswith("/") else f"/{path}" for path in filled]


def panel_paths() -> list[str]:
    from boards.urls import urlpatterns

    return [str(pattern.pattern) for pattern in urlpatterns] + ["login", "logout", "api/agentlink/docs"]


# --- logging in, tokens --------------------------------------------------------------------------------------------


def test_ten_wrong_codes_lock_the_door_until_the_person_asks_for_a_new_link(home: Path) -> None:
    with Server(home, launcher=False) as server:
        good = server.new_code()
        answers = [server.ask("GET", f"/login?code=wrong{number}") for number in range(WRONG_CODES)]
        assert {answer.status for answer in answers} == {401}
        locked = server.ask("GET", f"/login?code={good}")
        assert locked.status == 429
        assert b"agentlink open" in locked.body
        link = run(home, "open").stdout.strip()
        assert server.post_code(link.partition("code=")[2]).status == 303
        assert server.ask("GET", f"/login?code={good}").status == 401


def test_a_code_or_token_in_an_address_is_in_no_log(fresh: Server) -> None:
    secret = token_of(fresh, "alice")
    for path in (f"{BASE}/status?token={secret}", f"/login?code={secret}", f"/{secret}"):
        fresh.ask("GET", path, {"Referer": f"{fresh.origin}/login?code={secret}"})
    assert secret not in fresh.log()


def flipped(token: str, bit: int) -> str:
    return token[:-1] + chr(ord(token[-1]) ^ bit)


@pytest.mark.parametrize(
    "damage",
    [
        lambda token: "",
        lambda token: token[:-1],
        lambda token: token + "a",
        lambda token: flipped(token, 1),
        lambda token: token[:10] + flipped(token[:11], 2)[10:] + token[11:],
        lambda token: token[:20] + "\x00" + token[21:],
        lambda token: "".join(chr(0x0660 + int(c)) if c.isdigit() else c for c in token),
        lambda token: "".join(chr(0xFF10 + int(c)) if c.isdigit() else c for c in token),
        lambda token: token.upper(),
        lambda token: f"{token} {token}",
        lambda token: f"{token},",
    ],
    ids=[
        "empty",
        "shorter",
        "longer",
        "last bit",
        "a bit",
        "NUL",
        "arabic digits",
        "wide digits",
        "case",
        "two",
        "comma",
    ],
)
def test_a_token_that_is_not_the_exact_one_opens_nothing(server: Server, damage: Any) -> None:
    token = token_of(server, "carla")
    assert server.ask("GET", f"{BASE}/status", bearer(token)).status == 200
    wrong = damage(token)
    if wrong == token:  # a token without a digit
        wrong = f"\u0661{token[1:]}"
    head = f"GET {BASE}/status HTTP/1.1\r\nHost: {server.host}\r\nConnection: close\r\nX-AgentLink-Scopes: admin\r\n"
    raw = server.raw(head.encode() + b"Authorization: Bearer " + wrong.encode() + b"\r\n\r\n")
    assert int(raw.split()[1]) in ((401,) if "\x00" not in wrong else (400, 401))
    assert b"carla" not in raw


def test_scopes_that_a_client_declares_are_not_believed(server: Server) -> None:
    token = token_of(server, "carla")
    claims = {"X-AgentLink-Scopes": "admin", "X-AgentLink-Surface": "panel", "X-AgentLink-Node": "root", "X-Human": "1"}
    body = json.dumps({"command": "register_node", "name": "made-by-carla"}).encode()
    answer = server.ask("POST", f"{BASE}/commands", bearer(token) | claims | JSON, body)
    assert (answer.status, answer.json["code"]) == (403, "not_yours")
    assert server.ask("GET", f"{BASE}/status", bearer(token) | claims).json["nodeId"] == "carla"


# --- what is too large, too deep, too many ------------------------------------------------------------------------


BODIES: dict[str, tuple[bytes, set[int]]] = {
    "100,000 deep lists": (b'{"title":' + b"[" * 100_000, {400}),
    "100,000 deep and closed": (b'{"title":' + b"[" * 100_000 + b"]" * 100_000 + b"}", {400}),
    "100,000 deep objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, {400}),
    "a million keys": (b"{" + b",".join(b'"%d":1' % n for n in range(1_000_000)) + b"}", {413}),
    "as many keys as fit": (b"{" + b",".join(b'"%d":1' % n for n in range(90_000)) + b"}", {400}),
    "a list of a million": (b'{"title":[' + b",".join([b"1"] * 500_000) + b"]}", {400}),
    "a list of 1,001": (b'{"title":"x","members":[' + b",".join([b"1"] * 1001) + b"]}", {400}),
    "one key twice": (b'{"title":"x","title":"y"}', {400}),
    "NaN": (b'{"title":"x","expectedRevision":NaN}', {400}),
    "1e400": (b'{"title":"x","expectedRevision":1e400}', {400}),
    "minus infinity": (b'{"title":"x","expectedRevision":-Infinity}', {400}),
    "an integer of 100,000 digits": (b'{"title":"x","expectedRevision":' + b"9" * 100_000 + b"}", {400}),
    "not UTF-8": (b'{"title":"\xff"}', {400}),
    "half a pair": (b'{"title":"\\ud800"}', {400}),
    "a text over its limit": (json.dumps({"title": "x", "objective": "é" * 100_001}).encode(), {400}),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_is_too_much_is_refused_with_a_sentence(server: Server, name: str) -> None:
    body, statuses = BODIES[name]
    if len(body) > MIB:
        head = f"POST {BASE}/boards HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: {len(body)}\r\n\r\n"
        assert int(server.raw(head.encode()).split()[1]) in statuses
        return
    answer = post(server, body)
    assert answer.status in statuses
    assert answer.json["detail"]


def test_bodies_that_are_too_much_leave_no_memory_behind(fresh: Server) -> None:
    large = [body for body, _ in BODIES.values() if len(body) <= MIB]
    for body in large:
        post(fresh, body)
    before = resident(fresh)
    for _ in range(5):
        for body in large:
            post(fresh, body)
    assert resident(fresh) - before < 20 * MIB


def resident(server: Server) -> int:
    fields = Path(f"/proc/{server.process.pid}/statm").read_text().split()
    return int(fields[1]) * resource.getpagesize()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "x-gzip", "identity, gzip", ""])
def test_a_packed_body_is_refused_unread(server: Server, encoding: str) -> None:
    bomb = gzip.compress(b'{"title":"' + b"x" * 50 * MIB + b'"}')
    answer = post(server, bomb, **{"Content-Encoding": encoding})
    assert (answer.status, answer.json["code"]) == (415, "encoded_body")
    assert post(server, b'{"title": "plain"}', **{"Content-Encoding": "identity"}).status == 201


@pytest.mark.parametrize(
    "double",
    ["Content-Length: 2\r\nContent-Length: 3", "Content-Type: application/json\r\nContent-Type: text/plain",
     "Origin: {origin}\r\nOrigin: http://evil.example", "Authorization: Bearer a\r\nAuthorization: Bearer b",
     "Transfer-Encoding: chunked\r\nContent-Length: 2", "Host: evil.example",
     "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site"],
)  # fmt: skip
def test_a_header_that_is_there_twice_is_never_half_believed(
    server: Server, cookie: dict[str, str], double: str
) -> None:
    lines = [f"POST {BASE}/boards HTTP/1.1", f"Host: {server.host}", f"Cookie: {cookie['Cookie']}"]
    lines += [double.format(origin=server.origin)]
    for header in (f"Origin: {server.origin}", "Content-Type: application/json", "Content-Length: 2"):
        if header.partition(":")[0] not in double:
            lines.append(header)
    answer = server.raw(("\r\n".join([*lines, "Connection: close", "", "{}"])).encode())
    assert int(answer.split()[1]) in (400, 401, 403, 415)


# --- what the page is made of --------------------------------------------------------------------------------------


def test_the_login_page_needs_nothing_but_its_own_looks(server: Server) -> None:
    page = server.ask("GET", f"/login?code={server.new_code()}").body.decode()
    asked = set(re.findall(r'(?:href|src)="([^"]+)"', page))
    assert asked == PUBLIC_PATHS - {"/login"}
    for path in asked:
        answer = server.ask("GET", path)
        assert answer.status == 200
        assert answer.body == (ROOT / path.lstrip("/")).read_bytes(), "what anybody may have is the same everywhere"
    assert len(LOOKS) == len(asked) - 1


@pytest.mark.parametrize(
    "word", [r"\bwebbrowser\b", r"os\.system\(|shell=True|xdg-open|os\.startfile|\beval\(|\bexec\("]
)
def test_nothing_but_our_own_login_link_is_ever_opened_outside(word: str) -> None:
    """No address that a peer wrote reaches a shell or the system's opener: there is one call, with our own file."""
    files = [path for app in ("agentlink_site", "boards", "peers", "evidence") for path in (ROOT / app).rglob("*.py")]
    found = {path.relative_to(ROOT).as_posix() for path in files if re.search(word, path.read_text())}
    assert found == ({"agentlink_site/server.py"} if "webbrowser" in word else set())


def test_it_listens_on_loopback_only_whatever_is_asked(home: Path) -> None:
    if shutil.which("ss") is None:
        pytest.fail("install iproute2: this test looks at the listening sockets")
    with Server(home, "--port", "0", "--host", "localhost", launcher=False) as server:
        listening = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True, check=True).stdout.splitlines()
        assert [line.split()[3] for line in listening if f"pid={server.process.pid}," in line] == [server.host]
    for address in ("0.0.0.0", "::", "", "10.0.0.1", "127.0.0.1.evil.example"):
        refused = run(home, "up", "--host", address)
        assert refused.returncode == 2
        assert "this machine only" in refused.stderr
