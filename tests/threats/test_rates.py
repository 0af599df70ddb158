"""Whoever asks too often is told when to come back, and hurts nobody else."""

from __future__ import annotations

import re
import time

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from agentlink_site.rates import MOST_KEPT, RATES, Buckets
from tests.site.servers import Answer, Server
from tests.threats.test_network import BASE, bearer, token_of

pytestmark = pytest.mark.process


def test_a_bucket_gives_its_burst_then_its_rate_and_says_when() -> None:
    now = [0.0]
    buckets, rate = Buckets(lambda: now[0]), RATES["node"]
    assert [buckets.take("alice") for _ in range(rate.burst)] == [0] * rate.burst
    assert buckets.take("alice") == 1
    assert (buckets.take("bob"), buckets.take(None)) == (0, 0), "everybody has a bucket of their own"
    now[0] += 1
    assert [buckets.take("alice") for _ in range(rate.per_second)] == [0] * rate.per_second
    assert buckets.take("alice") == 1
    now[0] += 3600
    assert [buckets.take("alice") for _ in range(rate.burst)] == [0] * rate.burst
    assert buckets.take("alice") == 1, "waiting saves up no more than the burst"


def test_the_buckets_that_are_kept_are_bounded() -> None:
    buckets = Buckets(lambda: 0.0)
    for number in range(MOST_KEPT * 3):
        buckets.take(f"node-{number}")
    assert len(buckets._levels) == MOST_KEPT


def test_a_node_that_asks_too_often_is_told_when_to_come_back_and_hurts_nobody_else(fresh: Server) -> None:
    hasty, calm, cookie = bearer(token_of(fresh, "hasty")), bearer(token_of(fresh, "calm")), fresh.login()
    answers = in_one_go(fresh, hasty, RATES["node"].burst * 4)
    assert set(answers) == {200, 429}
    assert answers.count(200) >= RATES["node"].burst
    refused = until(fresh, hasty, 429)
    assert refused.json["code"] == "rate_limited"
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.headers["content-type"] == "application/problem+json"
    for headers in (calm, cookie):
        assert fresh.ask("GET", f"{BASE}/status", headers).status == 200
    assert fresh.ask_unix("GET", f"{BASE}/status").status == 200
    assert until(fresh, hasty, 200, pause=0.3).status == 200, "it is let in again"


def in_one_go(server: Server, headers: dict[str, str], count: int) -> list[int]:
    """The statuses of requests that were sent one after the other without waiting."""
    given = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    ask = f"GET {BASE}/status HTTP/1.1\r\nHost: {server.host}\r\n{given}"
    data = (f"{ask}\r\n" * (count - 1) + f"{ask}Connection: close\r\n\r\n").encode()
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", server.raw(data))]


def until(server: Server, headers: dict[str, str], status: int, pause: float = 0.0) -> Answer:
    for _ in range(200):
        time.sleep(pause)
        answer = in_one(server, headers)
        if answer.status == status:
            return answer
        if status == 429:
            in_one_go(server, headers, RATES["node"].burst)
    raise AssertionError(f"never answered {status}")


def in_one(server: Server, headers: dict[str, str]) -> Answer:
    return server.ask("GET", f"{BASE}/status", headers)


def test_a_page_with_many_regions_is_never_told_to_slow_down(fresh: Server) -> None:
    cookie = fresh.login()
    assert set(in_one_go(fresh, cookie, RATES["person"].burst + 200)) == {200}


def test_a_socket_of_a_node_that_asks_too_often_is_refused_before_accept(fresh: Server) -> None:
    hasty = bearer(token_of(fresh, "hasty"))
    until(fresh, hasty, 429)
    in_one_go(fresh, hasty, RATES["node"].burst)
    with pytest.raises(InvalidStatus):
        connect(f"ws://{fresh.host}/ws/home", origin=Origin(fresh.origin), additional_headers=hasty)
