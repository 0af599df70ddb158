"""The rules alone: pure decisions on rows that were never stored. No database is reachable here."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from django.db import models

from boards import rules, words
from boards.models import Blocker, Board, Contract, Delivery, Evidence, Member, Node, Task
from boards.rules import Refused, World, gate, rights, tasks
from boards.rules.world import Found, slug
from boards.schemas import COMMANDS, Actor

AT = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def matches(row: models.Model, filters: dict[str, Any]) -> bool:
    """Equality, ``__in`` and ``__gt``: what a decision may ask for."""
    for name, wanted in filters.items():
        column, _, how = name.partition("__")
        value = getattr(row, column)
        if not {"": value == wanted, "in": how == "in" and value in wanted, "gt": how == "gt" and value > wanted}[how]:
            return False
    return True


def world(*rows: models.Model, actor: str = "alice", at: datetime = AT, found: Found | None = None) -> World:
    """A moment with just these rows."""
    numbers = itertools.count(1)

    def fetch(model: type[models.Model], **filters: Any) -> list[Any]:
        return [row for row in rows if type(row) is model and matches(row, filters)]

    return World(
        at, Actor(actor, "cli"), fetch, lambda prefix: f"{prefix}{next(numbers)}", lambda ref: found, lambda: ()
    )


def node(name: str, kind: str = "agent", **fields: Any) -> Node:
    return Node(node_id=name, name=name, name_key=name, kind=kind, trust="same-user-local", **fields)


def task(**fields: Any) -> Task:
    wish: dict[str, Any] = {"task_id": "c", "board_id": "b", "contract_id": "c", "title": "t", "status": "open"}
    return Task(**{**wish, "revision": 5, **fields})


def contract(**fields: Any) -> Contract:
    wish: dict[str, Any] = {"contract_id": "c", "board_id": "b", "objective": "o", "status": "accepted"}
    return Contract(**{**wish, "owners": {"alice": []}, "accepted_by": ["alice"], "proposed_by": "human", **fields})


def bundle(verdict: str, requirement: str | None = None, **fields: Any) -> Evidence:
    wish: dict[str, Any] = {"evidence_id": f"ev-{verdict}-{requirement}", "board_id": "b", "contract_id": "c"}
    wish |= {"node_id": "alice", "verdict": verdict, "requirement_id": requirement, "stands_for": "proof"}
    return Evidence(**{**wish, **fields})


def scene(*rows: models.Model) -> tuple[models.Model, ...]:
    """A board with Alice and Bob as workers, and the human."""
    people = [node("alice"), node("bob"), node("human", "human")]
    members = [Member(key=f"b:{n}", board_id="b", node_id=n, role="worker", state="joined") for n in ("alice", "bob")]
    return (Board(board_id="b", status="active"), *people, *members, *rows)


def give(kind: str, *rows: models.Model, actor: str = "alice", at: datetime = AT, **fields: Any) -> rules.Decision:
    command = COMMANDS[kind].model_validate({"boardId": "b", **fields})
    return rules.decide(command, world(*scene(*rows), actor=actor, at=at))


@pytest.mark.parametrize(
    ("milliseconds", "holds"), [(-1, True), (0, False), (1, False)], ids=["just before", "exactly", "just after"]
)
def test_a_lease_is_active_until_exactly_its_end(milliseconds, holds):
    claimed = task(status="claimed", holder="alice", lease_until=AT - timedelta(milliseconds=milliseconds))
    assert tasks.held(claimed, world()) is holds
    assert tasks.overdue(claimed, world()) is not holds


def test_the_winner_gets_the_next_fencing_number_and_a_lease_from_now():
    decision = give("claim_task", contract(), task(fencing=6), taskId="c", leaseSeconds=60)
    claimed = decision.events[0]
    assert (claimed.fencing, claimed.lease_until, claimed.node_id) == (7, AT + timedelta(seconds=60), "alice")
    assert [event.type.rpartition(".")[2] for event in decision.events] == ["claimed", "activated", "sent"]


def test_a_held_task_names_its_holder_to_the_loser():
    held = task(status="claimed", holder="bob", lease_until=AT + timedelta(seconds=1), fencing=1)
    with pytest.raises(Refused) as no:
        give("claim_task", contract(owners={"alice": [], "bob": []}), held, taskId="c")
    assert (no.value.outcome, no.value.code) == ("conflict", "already_claimed")
    assert no.value.current["holder"] == "bob" and "revision 5" in no.value.sentence


@pytest.mark.parametrize("status", sorted({"proposed", "blocked", "done", "rejected", "withdrawn"}))
def test_nothing_is_claimed_under_a_contract_that_is_not_accepted(status):
    with pytest.raises(Refused) as no:
        give("claim_task", contract(status=status, accepted_by=[]), task(), taskId="c")
    assert no.value.code == "contract_not_accepted" and status in no.value.sentence


REQUIRED = [{"id": "proof-1", "text": "the file"}, {"id": "proof-2", "text": "the log"}]


@pytest.mark.parametrize(
    ("required", "bundles", "blockers", "missing", "standing_in"),
    [
        ([], [], [], 1, False),
        ([], [bundle("unverified")], [], 1, False),
        ([], [bundle("stale")], [], 1, False),
        ([], [bundle("rejected")], [], 1, False),
        ([], [bundle("verified")], [], 0, False),
        ([], [bundle("verified", stands_for="blocker")], [], 1, False),
        (REQUIRED, [bundle("verified", "proof-1")], [], 1, False),
        (REQUIRED, [bundle("verified", "proof-1"), bundle("unavailable", "proof-2")], [], 1, False),
        (REQUIRED, [bundle("verified", "proof-1"), bundle("verified", "proof-2")], [], 0, False),
        (REQUIRED, [], [["ev-verified-x"]], 3, False),
        (REQUIRED, [bundle("verified", None, evidence_id="x", stands_for="blocker")], [["x"]], 0, True),
        (REQUIRED, [bundle("unverified", None, evidence_id="x", stands_for="blocker")], [["x"]], 3, False),
        ([], [bundle("verified")], [[]], 1, False),
    ],
)
def test_the_gate_opens_only_on_verified_proof_or_a_proven_blocker(required, bundles, blockers, missing, standing_in):
    rows = [
        Blocker(blocker_id=f"blk-{n}", board_id="b", contract_id="c", status="open", evidence_ids=ids)
        for n, ids in enumerate(blockers)
    ]
    found = gate.contract_gate(world(*bundles, *rows), contract(required_evidence=required))
    assert (len(found.missing), bool(found.standing_in)) == (missing, standing_in), found


def test_an_untouched_task_keeps_a_board_open_and_is_named():
    found = gate.board_gate(world(contract(), task(), bundle("verified")), "b")
    assert [item.category for item in found.missing] == ["ownership_boundary"]
    assert found.body()["state"] == "not_ready"


def test_a_board_without_contracts_ends_empty_and_one_with_a_blocked_end_says_so():
    assert gate.board_gate(world(), "b").final_status == "empty"
    done = contract(status="done", outcome="finished_blocked")
    assert gate.board_gate(world(done), "b").final_status == "finished_blocked"


def test_every_command_has_a_decision_and_every_board_command_a_place_in_the_table_of_rights():
    assert set(rules.DECIDE) == set(COMMANDS)
    on_boards = {kind for kind, command in COMMANDS.items() if "board_id" in command.model_fields} - {"create_board"}
    free = {"join_board"}  # its own rule: only the invited and the human
    assert on_boards - rights.SERVICE_ONLY - rights.HUMAN_ONLY - free == set(rights.LEAST_ROLE)


@pytest.mark.parametrize(("kind", "least"), sorted(rights.LEAST_ROLE.items()))
def test_a_role_below_the_least_is_refused(kind, least):
    lower = words.ROLES[: words.ROLES.index(least)]
    command = COMMANDS[kind].model_construct(board_id="b", type="task_request", reply_to=None)
    for role in lower:
        members = [Member(key="b:x", board_id="b", node_id="x", role=role, state="joined")]
        with pytest.raises(Refused) as no:
            rights.check(command, world(Board(board_id="b", status="active"), node("x"), *members, actor="x"))
        assert no.value.code == "role_too_low", role
    with pytest.raises(Refused) as no:
        rights.check(command, world(Board(board_id="b", status="active"), node("x"), actor="x"))
    assert no.value.code == "not_a_member"


@pytest.mark.parametrize("trust", get_args(words.Trust)[2:])
def test_writing_needs_at_least_same_user_local(trust):
    stranger = node("x")
    stranger.trust = trust
    with pytest.raises(Refused) as no:
        rights.check(COMMANDS["create_board"].model_validate({"title": "t"}), world(stranger, actor="x"))
    assert no.value.code == "trust_too_low"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Event camera", "event-camera"),
        ("Größe – α", "groe"),
        ("日本語", "board"),
        ("../../etc/passwd", "etc-passwd"),
        ("x" * 80, "x" * 48),
        ("--", "board"),
    ],
)
def test_a_slug_is_ascii_bounded_and_never_a_path(title, expected):
    made = slug(title, "board")
    assert words.ID.match(made) and ".." not in made and len(made) <= 48
    assert made == expected


def test_a_session_id_that_is_valid_and_free_is_the_node_id_and_any_other_gets_a_hash():
    assert world().free_node_id("kv260-recorder", "s") == "kv260-recorder"
    taken = world(node("kv260-recorder")).free_node_id("kv260-recorder", "agintiflow:kv260-recorder")
    odd = world().free_node_id("Odd:Name", "agintiflow:Odd:Name")
    assert taken.startswith("kv260-recorder-") and odd.startswith("odd-name-") and len(odd.rsplit("-", 1)[1]) == 6


def test_a_discovered_session_is_registered_and_invited_by_the_message_that_needs_it():
    found = Found("kv", "agintiflow", "t")
    command = COMMANDS["send_message"].model_validate({"boardId": "b", "to": ["kv"], "content": "hello"})
    decision = rules.decide(command, world(*scene(), actor="human", found=found))
    assert [event.type.removeprefix("agentlink.") for event in decision.events] == [
        "peer.registered",
        "board.invited",
        "message.sent",
    ]
    with pytest.raises(Refused) as no:
        rules.decide(command, world(*scene(), actor="alice", found=found))
    assert no.value.code == "not_a_member"


def test_unanswered_requests_are_counted_per_sender_and_peer():
    between: dict[str, Any] = {"board_id": "b", "node_id": "bob", "step": "handed", "requires_ack": True}
    rows = [
        Delivery(key=f"m{n}:bob", message_id=f"m{n}", sender="alice", message_type="task_request", **between)
        for n in range(5)
    ]
    others = [
        Delivery(key=f"x{n}:bob", message_id=f"x{n}", sender="mallory", message_type="task_request", **between)
        for n in range(5)
    ]
    give("send_message", *rows[:4], *others, to=["bob"], content="the fifth")
    with pytest.raises(Refused) as no:
        give("send_message", *rows, to=["bob"], content="one more")
    assert no.value.code == "too_many_unanswered"
    give("send_message", *rows, to=["bob"], content="one more", type="task_update")
