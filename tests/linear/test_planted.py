"""Each fault that is planted into the product is caught by a check, which passes on the product as it is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from tests.linear.checks import CHECKS
from tests.linear.planted import FAULTS
from tests.site.servers import ROOT
from tests.tables import missing

pytestmark = pytest.mark.process

COMMANDS = "tests/boards/test_commands.py::"
CAUGHT_BY: dict[str, tuple[str, ...]] = {
    "no compare-and-set": (
        "contended",
        f"{COMMANDS}test_only_owners_may_claim_and_the_loser_is_told_who_holds_it",
    ),
    "compare outside the transaction": ("contended",),
    "receipt after commit": ("killed at every statement",),
    "stale read": ("contended",),
    "double lease": (
        "contended",
        f"{COMMANDS}test_only_owners_may_claim_and_the_loser_is_told_who_holds_it",
    ),
    "gate without verdicts": (f"{COMMANDS}test_completing_needs_verified_evidence_for_each_requirement",),
    "key reuse accepted": ("contended", f"{COMMANDS}test_the_same_key_with_other_content_is_refused"),
    "own evidence verified": (f"{COMMANDS}test_nobody_verifies_their_own_bundle",),
    "fencing ignored": ("contended", f"{COMMANDS}test_an_old_fencing_number_is_refused_after_a_new_claim"),
    "expiry early": (
        "overslept",
        f"{COMMANDS}test_a_lease_is_active_until_exactly_its_end_and_its_expiry_is_an_event",
    ),
    "redaction after storage": ("in no file",),
}
"""By which checks each fault is caught."""
PAIRS = [(fault, check) for fault, checks in CAUGHT_BY.items() for check in checks]

Run = Callable[[str | None, str], tuple[int, str]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Runs a check on the product with a fault in it, or (None) as it is: its status, and what it said."""
    command = [sys.executable, "-m", "tests.linear.nursery"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
        assert nursery.stdin is not None and nursery.stdout is not None
        asks, tells = nursery.stdin, nursery.stdout

        @cache
        def ask(fault: str | None, check: str) -> tuple[int, str]:
            asks.write(json.dumps({"fault": fault, "check": check}) + "\n")
            asks.flush()
            told = json.loads(tells.readline())
            return told["status"], told["said"]

        yield ask
        asks.close()


@pytest.mark.parametrize(("fault", "check"), PAIRS, ids=[f"{fault}-{check.split('::')[-1]}" for fault, check in PAIRS])
def test_the_planted_fault_is_caught(run: Run, fault: str, check: str) -> None:
    assert run(None, check) == (0, run(None, check)[1]), run(None, check)[1]
    status, said = run(fault, check)
    assert status == 1, f"{fault} is not caught by {check}: status {status}\n{said}"


def test_every_fault_has_a_check_that_exists() -> None:
    named = {
        fault: [c.removeprefix("tests/") for c in checks if c not in CHECKS] for fault, checks in CAUGHT_BY.items()
    }
    assert set(CAUGHT_BY) == set(FAULTS)
    assert not missing({fault: checks for fault, checks in named.items() if checks})
