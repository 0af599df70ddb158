"""The redactor against cases written without a look at its rules: the targets of its design, set by set."""

from __future__ import annotations

from typing import Any

import pytest

from evidence.redaction import RedactionContext, redact
from tests.evidence.facts import encoded

SETS = ("redaction-fresh-a.b64", "redaction-fresh-b.b64", "redaction-fresh-c.b64")


def cleaned(case: dict[str, Any]) -> str:
    return redact(case["text"], context=RedactionContext(known_hosts=tuple(case.get("known_hosts", ())))).text


@pytest.mark.parametrize("name", SETS)
def test_at_least_99_percent_of_a_set_of_secrets_is_hidden(name: str) -> None:
    """All but one where a set is so small that one is more than a hundredth."""
    missed: list[str] = []
    secrets = [(case, hidden) for case in encoded(name) for hidden in case["must_hide"]]
    for case, hidden in secrets:
        if hidden in cleaned(case):
            missed.append(case["id"])
    assert len(missed) <= max(1, len(secrets) // 100), missed


@pytest.mark.parametrize("name", SETS)
def test_at_most_one_percent_of_what_is_no_secret_changes(name: str) -> None:
    negatives = [case for case in encoded(name) if case["cat"] == "neg"]
    changed = [case["id"] for case in negatives if cleaned(case) != case["text"]]
    assert len(changed) <= len(negatives) // 100, changed


@pytest.mark.parametrize("name", SETS)
def test_what_stands_around_a_secret_stays(name: str) -> None:
    lost = [case["id"] for case in encoded(name) if any(kept not in cleaned(case) for kept in case["must_keep"])]
    assert lost == []


@pytest.mark.parametrize("name", SETS)
def test_every_case_is_final_after_one_call(name: str) -> None:
    unsettled = [case["id"] for case in encoded(name) if redact(text := cleaned(case)).text != text]
    assert unsettled == []
