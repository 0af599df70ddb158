"""A resource is given to one node at a time, whatever it is called."""

from __future__ import annotations

from typing import Any

import pytest

from boards.models import Contract
from boards.rules.resources import overlap
from tests.people import board, contract, done, give, people


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("/dev/video0", "/dev/video0", True),
        ("/dev/video0", "/dev/video1", False),
        ("Arduino COM port", "arduino  com port", True),
        ("src/api", "src/api/routes.py", True),
        ("src/api", "src/apis.py", False),
        ("src/**", "src/api/routes.py", True),
        ("src/*.py", "src/a*.py", True),
        ("src/*.py", "src/*.md", False),
        ("docs/*", "src/*", False),
        ("*.py", "src/*.py", True),
        ("job 4", "job 42", False),
        ("/", "/dev/video0", True),
    ],
)
def test_resources_overlap_by_name_path_or_pattern(one: str, other: str, meet: bool):
    assert overlap(one, other) is meet
    assert overlap(other, one) is meet


@pytest.mark.django_db
def test_a_resource_that_another_node_has_is_a_conflict_that_names_the_holder():
    who = people()
    board_id = board(who)
    first = contract(who, board_id)
    wish: dict[str, Any] = {"board_id": board_id, "objective": "Also record", "owners": {"bob": ["/dev/video*"]}}
    second = str((done("propose_contract", who.human, **wish).entity or {})["id"])
    refused = give("accept_contract", who.bob, board_id=board_id, contract_id=second)
    assert (refused.outcome, refused.code) == ("conflict", "resource_taken")
    assert refused.current
    assert (refused.current["holder"], refused.current["contractId"]) == ("alice", first)
    assert Contract.objects.get(contract_id=second).status == "proposed"
    done("edit_contract", who.human, board_id=board_id, contract_id=second, owners={"bob": ["/dev/audio0"]})
    done("accept_contract", who.bob, board_id=board_id, contract_id=second)


@pytest.mark.django_db
def test_a_resource_is_one_on_all_boards_and_a_strange_board_is_not_named():
    who = people()
    contract(who, board(who))
    other = str(done("create_board", who.bob, title="Other").board_id)
    wish: dict[str, Any] = {"board_id": other, "objective": "x", "owners": {"bob": ["/dev/video0"]}}
    shared = give("propose_contract", who.bob, **wish)
    assert shared.code == "resource_taken", "Bob is a member of both boards"
    done("invite", who.human, board_id=other, node="mallory")
    strange = give("propose_contract", who.mallory, **{**wish, "owners": {"mallory": ["/dev/video0"]}})
    assert (strange.code, strange.current, "alice" in strange.detail) == ("resource_taken", None, False)


@pytest.mark.django_db
def test_one_node_may_have_a_resource_twice_and_a_finished_contract_has_none():
    who = people()
    board_id = board(who)
    contract(who, board_id)
    again = contract(who, board_id, objective="Record once more")
    assert Contract.objects.get(contract_id=again).status == "accepted"
