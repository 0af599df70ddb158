"""The API through a real server: tokens, cookie, socket, and a store in trouble."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.site.callers import BASE, Json
from tests.site.servers import Server


@pytest.fixture
def token(server: Server) -> Callable[[str], dict[str, str]]:
    """Registers a node and gives its Authorization header."""

    def make(name: str) -> dict[str, str]:
        body = json.dumps({"command": "register_node", "name": name}).encode()
        answer = server.ask_unix("POST", f"{BASE}/commands", {"Content-Type": "application/json"}, body)
        assert answer.status in (201, 409)
        return {"Authorization": f"Bearer {(server.home / 'tokens' / name).read_text().strip()}"}

    return make


def post(server: Server, path: str, body: Json, **headers: str) -> Any:
    content = json.dumps(body).encode()
    return server.ask("POST", BASE + path, {"Content-Type": "application/json", **headers}, content)


def test_a_token_acts_as_its_node_over_tcp(server: Server, token: Callable[[str], dict[str, str]]) -> None:
    headers = token("carol")
    assert server.ask("GET", f"{BASE}/status", headers).json["nodeId"] == "carol"
    made = post(server, "/boards", {"title": "Carol's"}, **headers)
    assert (made.status, made.json["createdBy"]) == (201, "carol")
    other = token("dave")
    refused = server.ask("GET", f"{BASE}/boards/{made.json['boardId']}", other)
    assert (refused.status, refused.json["code"]) == (403, "not_a_member")
    assert refused.headers["content-type"] == "application/problem+json"
    assert server.ask_unix("GET", f"{BASE}/boards/{made.json['boardId']}").status == 200


@pytest.mark.parametrize("header", ["", "Bearer ", "Bearer wrong", "Bearer " + "a" * 40, "Basic eDp5"])
def test_a_wrong_token_is_401_on_every_kind_of_route(server: Server, header: str) -> None:
    for path in ("/status", "/boards", "/openapi.json", "/docs"):
        answer = server.ask("GET", BASE + path, {"Authorization": header})
        assert (answer.status, answer.json["code"]) == (401, "bad_token")


def test_the_page_with_its_cookie_reads_and_writes_json(server: Server, cookie: dict[str, str]) -> None:
    assert server.ask("GET", f"{BASE}/docs", cookie).headers["content-type"].startswith("text/html")
    made = post(server, "/boards", {"title": "From the page"}, Origin=server.origin, **cookie)
    assert made.status == 201
    foreign = post(server, "/boards", {"title": "From elsewhere"}, Origin="http://127.0.0.1:1", **cookie)
    assert foreign.status == 403


def test_a_store_that_cannot_be_written_is_503_and_nothing_is_changed(server: Server) -> None:
    before = server.ask_unix("GET", f"{BASE}/status").json["position"]
    with closing(sqlite3.connect(server.home / "agentlink.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = server.ask_unix("POST", f"{BASE}/boards", {"Content-Type": "application/json"}, b'{"title": "Never"}')
        other.execute("ROLLBACK")
    assert (answer.status, answer.json["code"], answer.json["receipt"]["outcome"]) == (503, "store_failed", "failed")
    assert server.ask_unix("GET", f"{BASE}/status").json["position"] == before


def test_no_token_is_in_any_answer_or_log(server: Server, token: Callable[[str], dict[str, str]]) -> None:
    secret = token("erin")["Authorization"].removeprefix("Bearer ")
    for path in ("/status", "/peers", "/boards", "/openapi.json"):
        assert secret not in server.ask_unix("GET", BASE + path).body.decode()
    assert secret not in server.log()
    assert Path(server.home / "tokens" / "erin").stat().st_mode & 0o077 == 0


def test_patch_is_guarded_and_bounded_like_post(
    server: Server, token: Callable[[str], dict[str, str]], cookie: dict[str, str]
) -> None:
    headers = token("frank")
    board = post(server, "/boards", {"title": "Patched"}, **headers).json["boardId"]
    made = post(server, f"/boards/{board}/contracts", {"objective": "Record"}, **headers).json
    path = f"{BASE}/boards/{board}/contracts/{made['contractId']}"
    kind = {"Content-Type": "application/json"}

    def patch(body: bytes, more: dict[str, str]) -> Any:
        return server.ask("PATCH", path, more, body)

    changed = patch(b'{"objective": "Record twice"}', kind | headers | {"Idempotency-Key": "p1"})
    assert (changed.status, changed.json["objective"]) == (200, "Record twice")
    again = patch(b'{"objective": "Record twice"}', kind | headers | {"Idempotency-Key": "p1"})
    assert again.json["receipt"]["outcome"] == "already_applied"
    by_person = server.ask_unix("PATCH", path, kind, b'{"objective": "Record thrice"}')
    assert (by_person.status, by_person.json["textRevision"]) == (200, 3)
    by_page = patch(b'{"mutating": true}', kind | cookie | {"Origin": server.origin})
    assert (by_page.status, by_page.json["mutating"]) == (200, True)
    for body, more, status, code in (
        (b"{}", headers | {"Content-Type": "text/plain"}, 415, "not_json"),
        (b"{}", kind | cookie | {"Origin": "http://127.0.0.1:1"}, 403, "wrong_origin"),
        (b"{}", kind | cookie, 403, "wrong_origin"),
        (b"{}", kind, 403, "wrong_origin"),
        (b"{}", kind | {"Origin": server.origin}, 401, "not_logged_in"),
        (b"{}", kind | {"Authorization": "Bearer " + "a" * 40}, 401, "bad_token"),
    ):
        answer = patch(body, more)
        assert (answer.status, answer.json["code"]) == (status, code)
    assert patch(b'{"objective": "' + b"x" * 1_100_000 + b'"}', kind | headers).status == 413
