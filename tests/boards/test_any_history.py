"""Any history: the commands as rules of a state machine, with a simple model of what must hold beside it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from boards import log, times
from boards.models import Contract, Event, Task
from boards.schemas import Actor, Receipt
from tests.people import done, give, people

NAMES = st.sampled_from(["alice", "bob", "human", "alice", "bob", "mallory"])
TASKS = st.integers(0, 2)
TEXTS = st.text(min_size=0, max_size=40)
SERVICE = Actor("agentlink", "timer")


class History(RuleBasedStateMachine):
    """Whoever does whatever, in any order, with old cards and repeated keys."""

    def __init__(self) -> None:
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.present = times.now()
        self.original, log.now = log.now, lambda: self.present
        self.contracts: list[str] = []
        self.messages: list[str] = []
        self.holders: dict[str, tuple[str, int]] = {}
        self.fencing: dict[str, int] = {}
        self.offers: dict[str, str] = {}
        self.ends: dict[str, datetime | None] = {}
        self.applied: dict[tuple[str, str | None], Receipt] = {}

    @initialize()
    def home(self) -> None:
        """One board with Alice and Bob; Mallory is outside."""
        self.who = people()
        self.actors = {name: getattr(self.who, name) for name in ("alice", "bob", "mallory", "human")}
        done("create_board", self.who.human, title="b", members={"alice": "worker", "bob": "supervisor"})
        for text, owners in (("open to all", {}), ("for Alice", {"alice": ["x"]})):
            receipt = done("propose_contract", self.who.human, boardId="b", objective=text, owners=owners)
            assert receipt.entity
            self.contracts.append(receipt.entity["id"])
        done("accept_contract", self.who.alice, boardId="b", contractId="for-alice")

    @rule(owner=st.sampled_from(["alice", "bob", None]), text=TEXTS)
    def propose(self, owner: str | None, text: str) -> None:
        """Somebody proposes; without owners it is accepted at once."""
        owners = {owner: ["x"]} if owner else {}
        receipt = give("propose_contract", self.who.human, boardId="b", objective=f"c {text}", owners=owners)
        if receipt.outcome == "applied" and receipt.entity:
            self.contracts.append(receipt.entity["id"])

    @rule(name=NAMES, index=TASKS, yes=st.booleans())
    def answer(self, name: str, index: int, yes: bool) -> None:
        """Anybody tries to accept or reject."""
        extra: dict[str, Any] = {} if yes else {"reason": "no"}
        kind = "accept_contract" if yes else "reject_contract"
        for contract_id in self.contracts[index : index + 1]:
            give(kind, self.actors[name], boardId="b", contractId=contract_id, **extra)

    @rule(name=NAMES, index=TASKS, minutes=st.integers(1, 10), age=st.none() | st.integers(0, 8))
    def claim(self, name: str, index: int, minutes: int, age: int | None) -> None:
        """Anybody claims, with a card of any age; only one may hold a task."""
        for task_id in self.contracts[index : index + 1]:
            expect = None if age is None else max(log.head("b")[0] - age, 0)
            wish: dict[str, Any] = {"boardId": "b", "taskId": task_id, "leaseSeconds": minutes * 60}
            receipt = give("claim_task", self.actors[name], expect=expect, **wish)
            if receipt.outcome == "applied":
                held = self.holders.get(task_id)
                offered = self.offers.pop(task_id, None) == self.actors[name].node_id
                assert held is None or offered or self._lease_over(task_id), "two hold one task"
                assert receipt.extra["fencing"] > self.fencing.get(task_id, 0)
                self.fencing[task_id] = receipt.extra["fencing"]
                self.holders[task_id] = (self.actors[name].node_id, receipt.extra["fencing"])

    def _lease_over(self, task_id: str) -> bool:
        return (self.ends.get(task_id) or self.present) <= self.present

    @rule(name=NAMES, index=TASKS, fencing=st.sampled_from([1, 1, 2, 3]))
    def complete(self, name: str, index: int, fencing: int) -> None:
        """Done only with verified evidence."""
        for task_id in self.contracts[index : index + 1]:
            wish: dict[str, Any] = {"boardId": "b", "taskId": task_id, "fencing": fencing}
            if give("complete_task", self.actors[name], **wish).outcome == "applied":
                from boards.models import Evidence

                assert Evidence.objects.filter(contract_id=task_id, verdict="verified").exists()
                self.holders.pop(task_id, None)

    @rule(name=NAMES, index=TASKS, text=TEXTS, owner=st.sampled_from(["alice", "bob", None]))
    def edit(self, name: str, index: int, text: str, owner: str | None) -> None:
        """A new text lapses every acceptance but the editor's own, and never under somebody who holds a task."""
        for contract_id in self.contracts[index : index + 1]:
            owners = {"owners": {owner: ["x"]}} if owner else {}
            wish: dict[str, Any] = {"boardId": "b", "contractId": contract_id, "objective": f"e {text}", **owners}
            if give("edit_contract", self.actors[name], **wish).outcome == "applied":
                row = Contract.objects.get(contract_id=contract_id)
                assert set(row.accepted_by) <= {self.actors[name].node_id}
                assert not Task.objects.filter(contract_id=contract_id, status="claimed").exists()

    @rule(name=NAMES, index=TASKS)
    def withdraw(self, name: str, index: int) -> None:
        """Anybody tries to take a proposal back."""
        for contract_id in self.contracts[index : index + 1]:
            give("withdraw_contract", self.actors[name], boardId="b", contractId=contract_id)

    @rule(name=NAMES, to=NAMES, index=TASKS, fencing=st.sampled_from([1, 1, 2, 3]))
    def hand_over(self, name: str, to: str, index: int, fencing: int) -> None:
        """An offer never moves a task; only the claim of whom it names does, and that is the model's claim above."""
        for task_id in self.contracts[index : index + 1]:
            wish: dict[str, Any] = {"boardId": "b", "taskId": task_id, "fencing": fencing, "summary": "s"}
            if give("hand_over_task", self.actors[name], to=to, **wish).outcome == "applied":
                assert self.holders[task_id] == (self.actors[name].node_id, fencing)
                assert Task.objects.get(task_id=task_id).holder == self.actors[name].node_id
                self.offers[task_id] = self.actors[to].node_id

    @rule(event=st.integers(0, 60))
    def erase(self, event: int) -> None:
        """Texts may go at any time: the chain and the replay stay."""
        rows = list(Event.objects.filter(stream="b").order_by("revision")[event : event + 1])
        for row in rows:
            give("erase_payload", self.who.human, boardId="b", eventIds=[row.event_id], reason="a leak")

    @invariant()
    def leases_are_known(self) -> None:
        """Keeps the model's view of when each lease ends."""
        rows = Task.objects.filter(board_id="b", status="claimed").values_list("task_id", "lease_until")
        self.ends = dict(rows)

    def teardown(self) -> None:
        """Replay equals state, and the chain holds; then everything is undone."""
        try:
            for stream in reversed(log.streams()):
                before = log.state(stream)
                log.rebuild(stream)
                assert log.state(stream) == before
            assert log.verify() == []
        finally:
            log.now = self.original
            transaction.set_rollback(True)
            self.atomic.__exit__(None, None, None)


@pytest.mark.django_db
def test_any_history_keeps_the_rules():
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    run_state_machine_as_test(
        History,
        settings=settings(max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=checks),
    )


@pytest.mark.django_db
def test_the_machine_goes_red_on_a_planted_double_lease(monkeypatch):
    """The checker is checked: without the comparison two nodes hold one task, and some history must show it."""
    monkeypatch.setattr("boards.rules.tasks.held", lambda task, world: False)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            History,
            settings=settings(
                max_examples=300,
                stateful_step_count=30,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                report_multiple_bugs=False,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            ),
        )
