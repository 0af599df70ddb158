"""Work: claims that race, leases, resources that overlap, dead owners, names, proof, secrets."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from boards import workers
from boards.models import Event, Node, StoredReceipt, Task
from boards.queries.needs import needs
from tests.boards.conftest import Clock
from tests.people import board, claim, contract, done, evidence, give, people

pytestmark = pytest.mark.django_db


def test_a_resource_that_is_held_elsewhere_is_denied_and_its_holder_is_named() -> None:
    """The same path, and a pattern that would reach it: denied, not granted with a footnote."""
    who = people()
    board_id = board(who)
    contract(who, board_id, owners={"alice": ["src/camera/main.py", "/dev/video0"]})
    for wanted in ("src/camera/main.py", "src/camera/*", "src/**", "/dev/video0", "/dev/video*"):
        owners = {"bob": [wanted]}
        receipt = give("propose_contract", who.human, board_id=board_id, objective="other", owners=owners)
        proposed = receipt.entity["id"] if receipt.accepted and receipt.entity else None
        if proposed is not None:
            receipt = give("accept_contract", who.bob, board_id=board_id, contract_id=proposed)
        assert receipt.outcome == "conflict", wanted
        assert "alice" in receipt.detail, wanted
    free = done("propose_contract", who.human, board_id=board_id, objective="free", owners={"bob": ["src/lamp/*"]})
    assert free.entity is not None
    done("accept_contract", who.bob, board_id=board_id, contract_id=free.entity["id"])


def test_a_lease_is_active_to_its_last_moment_and_its_end_is_an_event(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "now", clock)
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    done("claim_task", who.alice, board_id=board_id, task_id=contract_id, lease_seconds=600)
    clock.move(600 - 170)
    assert [need.kind for need in needs(clock(), board_id) if "lease" in need.kind], "the holder is warned before"
    clock.move(170 - 0.001)
    assert workers.expire_leases() == 0
    assert give("claim_task", who.human, board_id=board_id, task_id=contract_id).outcome == "conflict"
    clock.move(0.001)
    assert workers.expire_leases() == 1
    assert Event.objects.filter(type="agentlink.task.expired").count() == 1
    assert Task.objects.get().status == "open"


def test_who_was_killed_holds_a_task_no_longer_than_its_lease_and_stays_in_its_history(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "now", clock)
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, owners={"alice": [], "bob": []})
    done("accept_contract", who.bob, board_id=board_id, contract_id=contract_id)
    old = claim(who, board_id, contract_id)
    clock.move(timedelta(minutes=30).total_seconds())
    workers.expire_leases()
    taken = done("claim_task", who.bob, board_id=board_id, task_id=contract_id)
    assert taken.extra["fencing"] > old
    history = Event.objects.filter(type__startswith="agentlink.task.").order_by("position")
    assert [(row.type.rpartition(".")[2], json.loads(row.data)["nodeId"]) for row in history] == [
        ("claimed", "alice"), ("expired", "alice"), ("claimed", "bob"),
    ]  # fmt: skip
    late = give("renew_task", who.alice, board_id=board_id, task_id=contract_id, fencing=old)
    assert late.outcome == "conflict", "who comes back from the dead writes nothing"


def test_a_second_session_cannot_take_a_name_or_a_node() -> None:
    who = people()
    receipt = give("register_node", who.human, name="ALICE")
    assert (receipt.outcome, receipt.code) == ("conflict", "name_taken")
    receipt = give("register_node", who.human, name="other", node_id="alice")
    assert (receipt.outcome, receipt.code) == ("conflict", "node_exists")
    assert give("update_node", who.mallory, node_id="alice", name="mine").code == "not_yours"
    assert Node.objects.filter(name_key="alice").count() == 1


@pytest.mark.parametrize("said", ["none", "prose", "missing file", "wrong hash"])
def test_a_task_is_done_by_proof_and_never_by_saying_so(said: str) -> None:
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id, required_evidence=["the file"])
    fencing = claim(who, board_id, contract_id)
    done("send_message", who.alice, board_id=board_id, to=[who.human.node_id], content="done", type="task_done",
         contract_id=contract_id)  # fmt: skip
    digest = hashlib.sha256(b"other").hexdigest()
    file = {"root": "project", "path": "nothing.md", "sizeBytes": 3, "sha256": digest}
    kinds: dict[str, dict[str, Any]] = {"prose": {}, "missing file": {"artifacts": [file], "evidenceKind": "file"}}
    kinds["wrong hash"] = kinds["missing file"]
    if said != "none":
        evidence(who, board_id, contract_id, verified=False, requirement_id="proof-1", **kinds[said])
    receipt = give("complete_task", who.alice, board_id=board_id, task_id=contract_id, fencing=fencing)
    assert receipt.code == "gate_not_ready"
    closing = give("close_board", who.human, board_id=board_id)
    assert closing.code == "gate_not_ready"
    assert Task.objects.get().status == "claimed"


SECRETS = ["password=hunter2hunter2", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "AKIAIOSFODNN7EXAMPLQ"]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_key_in_a_text_is_masked_before_anything_is_stored(secret: str) -> None:
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    done("send_message", who.alice, board_id=board_id, to=["bob"], content=f"use {secret} here", key="k")
    evidence(who, board_id, contract_id, verified=False, summary=f"log says {secret} there")
    done("open_blocker", who.alice, board_id=board_id, summary=f"{secret} is wrong")
    value = secret.partition("=")[2] or secret
    stored = [row.data for row in Event.objects.all()] + [repr(vars(row)) for row in StoredReceipt.objects.all()]
    assert not [text for text in stored if value in text]


def test_no_token_is_in_an_address_or_an_argument() -> None:
    """What the client sends is one header: no route takes a token in its query, no command takes one as an option."""
    from agentlink_site.api import api

    document = json.loads(json.dumps(api.get_openapi_schema()))
    named = [
        parameter["name"].casefold()
        for methods in document["paths"].values()
        for operation in methods.values()
        for parameter in operation.get("parameters", [])
    ]
    assert named and not {"token", "secret", "access_token", "password"} & set(named)
    options = "\n".join(path.read_text() for path in (Path(__file__).parents[2] / "agentlink_site/cli").glob("*.py"))
    assert "--token" not in options and "--secret" not in options
