"""A leaked text that a person erases is gone from every byte that AgentLink keeps, and the log still proves itself."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import pytest

from tests.site.desks import Shell
from tests.site.servers import ROOT, Server, environment
from tests.threats.test_network import BASE, JSON, bearer, give, token_of

pytestmark = pytest.mark.process

LEAKED = "the violet quasar sings at noon"


def kept(server: Server, said: str) -> list[str]:
    """Every file of the home (and the server's own log) that holds the words."""
    words = said.encode()
    files = [path for path in server.home.rglob("*") if path.is_file()]
    return [path.name for path in [*files, server.errors] if words in path.read_bytes()]


def shown(server: Server, cookie: dict[str, str], board: str) -> list[str]:
    """Every place that shows the words: pages, regions, API, exports."""
    paths = [f"{BASE}/boards/{board}", f"{BASE}/boards/{board}/events?limit=500", f"{BASE}/boards/{board}/messages"]
    paths += [f"/boards/{board}/?view={view}" for view in ("contracts", "evidence", "blockers", "ownership")]
    paths += [f"/boards/{board}/regions/{name}" for name in ("messages", "contracts", "evidence", "blockers", "needs")]
    paths += ["/", f"/boards/{board}/erase"]
    return [path for path in paths if LEAKED in server.ask("GET", path, cookie).body.decode()]


def leak(server: Server) -> tuple[str, list[str]]:
    """A board on which the words stand everywhere; its id and the events that say them."""
    board = str(give(server, "create_board", title="b", objective=LEAKED, members={"alice": "worker"})["boardId"])
    contract = give(
        server, "propose_contract", boardId=board, contractId="c", objective=LEAKED, requiredEvidence=[LEAKED]
    )["contractId"]
    for number in range(3):
        give(server, "send_message", boardId=board, to=["alice"], content=f"{number} {LEAKED}")
    give(server, "open_blocker", boardId=board, summary=LEAKED, contractId=contract)
    body = json.dumps({"contractId": contract, "requirementId": "proof-1", "summary": LEAKED}).encode()
    assert server.ask_unix("POST", f"{BASE}/boards/{board}/evidence", JSON, body).status == 201
    events = server.ask_unix("GET", f"{BASE}/boards/{board}/events?limit=500").json["events"]
    return board, [event["eventId"] for event in events if LEAKED in json.dumps(event["data"])]


def test_an_erased_text_is_in_no_byte_of_the_home_and_the_log_still_verifies(fresh: Server) -> None:
    cookie = fresh.login()
    token = token_of(fresh, "alice")
    board, events = leak(fresh)
    assert len(events) >= 6
    assert kept(fresh, LEAKED) and len(shown(fresh, cookie, board)) > 5, "the checker is checked"
    Shell(fresh.home).ok("board", board)
    wish: dict[str, Any] = {"command": "erase_payload", "boardId": board, "eventIds": events, "reason": "leaked"}
    body = json.dumps(wish).encode()
    for answer in (fresh.ask_unix("POST", f"{BASE}/commands", JSON, body),
                   fresh.ask("POST", f"{BASE}/commands", JSON | bearer(token), body)):  # fmt: skip
        assert (answer.status, answer.json["code"]) == (403, "panel_only")
    assert kept(fresh, LEAKED)
    erased = fresh.ask("POST", f"{BASE}/commands", JSON | cookie | {"Origin": fresh.origin}, body)
    assert (erased.status, erased.json["receipt"]["outcome"]) == (200, "applied"), erased
    assert shown(fresh, cookie, board) == []
    assert settled(fresh) == []
    names = [event["type"] for event in fresh.ask_unix("GET", f"{BASE}/boards/{board}/events?limit=500").json["events"]]
    assert names.count("agentlink.payload.erased") == 1
    assert verified(fresh) == ["[]", "[]"]
    assert fresh.stop() == 0
    assert kept(fresh, LEAKED) == []


def settled(server: Server) -> list[str]:
    """What still holds the words once the board's folder has followed the log."""
    for _ in range(100):
        left = kept(server, LEAKED)
        if not left:
            break
        time.sleep(0.1)
    return left


VERIFY = """
from agentlink_site.server import prepare
prepare()
from django.db import transaction
from boards import log
print(log.verify())
with transaction.atomic():
    differs = []
    for stream in log.streams():
        before = log.state(stream)
        log.rebuild(stream)
        differs += [stream] if log.state(stream) != before else []
    transaction.set_rollback(True)
print(differs)
"""


def verified(server: Server) -> list[str]:
    """The faults that the log finds in itself, and the streams whose replay differs from their state."""
    done = subprocess.run(
        [sys.executable, "-c", VERIFY],
        env=environment(server.home),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split("\n")[:2]
