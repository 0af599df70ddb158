"""Eight real processes on one real home, killed and stopped: one wins, nothing is lost, nothing is done twice."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.linear import contest, findings
from tests.linear.clock import VARIABLE
from tests.site.servers import ROOT, environment

pytestmark = pytest.mark.process


def held(seconds: int, **plan: int | float | bool) -> findings.Findings:
    """A contest in a process of its own, and what it left."""
    options = [f"--{name}" if value is True else f"--{name}={value}" for name, value in plan.items() if value]
    with tempfile.TemporaryDirectory(prefix="al-") as name:
        folder = Path(name)
        clean = {key: value for key, value in environment(folder / "home").items() if key != VARIABLE}
        command = [sys.executable, "-m", "tests.linear.contest", str(folder), *options]
        running = subprocess.Popen(command, env=clean, cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True)
        try:
            told, _ = running.communicate(timeout=seconds)
        finally:
            _end(running)
        assert running.returncode == 0
        found = findings.of(folder, contest.Result(**json.loads(told)))
    print(found.result, f"{found.claims} claims, {found.claims / found.result.seconds:.0f}/s", dict(found.codes))
    print(dict(sorted(found.answered.items())))
    return found


def _end(running: subprocess.Popen[bytes]) -> None:
    """With it go its clients and its server, also those that are stopped."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    running.wait()


def assert_contended(found: findings.Findings, claims: int) -> None:
    """Nothing was wrong, and it was no easy game: each way to ask took part, and some died of it."""
    assert found.faults == {}
    assert found.claims >= claims
    assert found.result.kills and found.result.stops and found.codes["lost"]
    assert found.codes["already_claimed"] > found.claims / 4
    assert len(found.answered) == 8
    assert {"not_holder", "not_held", "stale_view", "key_reused", "already_held"} <= set(found.codes)


def test_claims_by_processes_without_a_server_have_a_legal_order() -> None:
    found = held(110, claims=2000, own=6, calling=2, seed=11)
    assert_contended(found, 2000)


def test_claims_through_the_server_and_beside_it_have_a_legal_order() -> None:
    """Clients ask the server by its socket or write beside it; it is killed with the others and comes back."""
    found = held(110, claims=1500, own=5, calling=3, server=True, seed=12)
    assert_contended(found, 1500)


@pytest.mark.soak
@pytest.mark.timeout(2400)
@pytest.mark.parametrize(("own", "calling", "server"), [(8, 0, False), (6, 2, True)], ids=["alone", "served"])
def test_fifty_thousand_claims_have_a_legal_order(own: int, calling: int, server: bool) -> None:
    """Twice: a hundred thousand in all."""
    found = held(2300, claims=50_000, own=own, calling=calling, server=server, seed=13, every=1.5, contracts=10)
    assert_contended(found, 50_000)
