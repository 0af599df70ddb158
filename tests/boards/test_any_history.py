"""Any history: the commands as rules of a state machine, with a simple model of what must hold beside it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from boards import log, times
from boards.models import Delivery, Message, Task
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
        self.applied: dict[str, Receipt] = {}

    @initialize()
    def home(self) -> None:
        """One board with Alice and Bob; Mallory is outside."""
        self.who = people()
        self.actors = {name: getattr(self.who, name) for name in ("alice", "bob", "mallory", "human")}
        done("create_board", self.who.human, title="b", members={"alice": "worker", "bob": "supervisor"})
        for text, owners in (("open to all", {}), ("for Alice", {"alice": ["x"]})):
            receipt = done("propose_contract", self.who.human, boardId="b", objective=text, owners=owners)
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
        kind, extra = ("accept_contract", {}) if yes else ("reject_contract", {"reason": "no"})
        for contract_id in self.contracts[index : index + 1]:
            give(kind, self.actors[name], boardId="b", contractId=contract_id, **extra)

    @rule(name=NAMES, index=TASKS, minutes=st.integers(1, 10), age=st.none() | st.integers(0, 8))
    def claim(self, name: str, index: int, minutes: int, age: int | None) -> None:
        """Anybody claims, with a card of any age; only one may hold a task."""
        for task_id in self.contracts[index : index + 1]:
            expect = None if age is None else max(log.head("b")[0] - age, 0)
            wish = {"boardId": "b", "taskId": task_id, "leaseSeconds": minutes * 60}
            receipt = give("claim_task", self.actors[name], expect=expect, **wish)
            if receipt.outcome == "applied":
                held = self.holders.get(task_id)
                assert held is None or self._lease_over(task_id), "two hold one task"
                assert receipt.extra["fencing"] > self.fencing.get(task_id, 0)
                self.fencing[task_id] = receipt.extra["fencing"]
                self.holders[task_id] = (self.actors[name].node_id, receipt.extra["fencing"])

    def _lease_over(self, task_id: str) -> bool:
        return self.ends.get(task_id, self.present) <= self.present

    @property
    def ends(self) -> dict[str, object]:
        return getattr(self, "_ends", {})

    @rule(name=NAMES, index=TASKS, fencing=st.sampled_from([1, 1, 2, 3]), kind=st.sampled_from(["renew_task", "release_task"]))
    def write_as_holder(self, name: str, index: int, fencing: int, kind: str) -> None:
        """Only the holder, with its present fencing number, may write."""
        for task_id in self.contracts[index : index + 1]:
            before = Task.objects.get(pk=task_id)
            wish = {"boardId": "b", "taskId": task_id, "fencing": fencing}
            receipt = give(kind, self.actors[name], **wish)
            if receipt.outcome == "applied":
                assert before.holder == self.actors[name].node_id and before.fencing == fencing
                assert before.lease_until is not None and before.lease_until > self.present
                if kind == "release_task":
                    self.holders.pop(task_id, None)

    @rule(seconds=st.integers(1, 900))
    def time_passes(self, seconds: int) -> None:
        """Leases end; the timer may or may not come by."""
        self.present += timedelta(seconds=seconds)

    @rule()
    def timer(self) -> None:
        """Expires what is due; nothing else."""
        for row in Task.objects.filter(board_id="b", status="claimed"):
            due = row.lease_until is not None and row.lease_until <= self.present
            receipt = give("expire_task", SERVICE, boardId="b", taskId=row.task_id)
            assert (receipt.outcome == "applied") == due

    @rule(name=NAMES, to=NAMES, text=TEXTS, key=st.sampled_from(["k1", "k2", "k3"]) | st.none())
    def send(self, name: str, to: str, text: str, key: str | None) -> None:
        """The same key never sends twice."""
        ref = self.actors[to].node_id
        wish = {"boardId": "b", "to": [ref], "content": f"m {text}", "type": "status_response"}
        before = Message.objects.count()
        receipt = give("send_message", self.actors[name], key=key, **wish)
        sent = Message.objects.count() - before
        assert sent == (1 if receipt.outcome == "applied" else 0)
        if receipt.outcome == "applied":
            self.messages.append(receipt.extra["messageId"])
            assert (name, key) not in self.applied or key is None
            if key:
                self.applied[(name, key)] = receipt
        if receipt.outcome == "already_applied":
            assert receipt.extra["messageId"] == self.applied[(name, key)].extra["messageId"]

    @rule(index=st.integers(0, 3), step=st.sampled_from(["handed", "applied", "undeliverable", "expired"]))
    def deliver(self, index: int, step: str) -> None:
        """The worker records steps in any order, also twice."""
        for message_id in self.messages[index : index + 1]:
            copy = Delivery.objects.get(message_id=message_id)
            wish = {"boardId": "b", "messageId": message_id, "nodeId": copy.node_id, "step": step}
            give("record_step", SERVICE, **wish)

    @rule(name=NAMES, index=st.integers(0, 3), answer=st.sampled_from(["read", "accepted", "blocked"]))
    def acknowledge(self, name: str, index: int, answer: str) -> None:
        """Only the recipient's own answer counts."""
        for message_id in self.messages[index : index + 1]:
            wish = {"boardId": "b", "messageId": message_id, "answer": answer}
            receipt = give("acknowledge_message", self.actors[name], **wish)
            if receipt.outcome == "applied":
                assert Delivery.objects.filter(message_id=message_id, node_id=self.actors[name].node_id).exists()

    @rule(index=st.integers(0, 3))
    def withdraw(self, index: int) -> None:
        """Never takes back what was handed."""
        for message_id in self.messages[index : index + 1]:
            before = Delivery.objects.get(message_id=message_id)
            if give("withdraw_message", self.who.human, boardId="b", messageId=message_id).outcome == "applied":
                assert before.handed_at is None

    @rule(name=NAMES, index=TASKS, verify=st.booleans())
    def prove(self, name: str, index: int, verify: bool) -> None:
        """Anybody attaches; the human may vouch."""
        for contract_id in self.contracts[index : index + 1]:
            wish = {"boardId": "b", "contractId": contract_id, "summary": "s", "evidenceKind": "statement"}
            receipt = give("attach_evidence", self.actors[name], **wish)
            if receipt.outcome == "applied" and receipt.entity and verify:
                judged = give("verify_evidence", self.who.human, boardId="b", evidenceId=receipt.entity["id"])
                assert (judged.outcome == "applied") == (name != "human")

    @rule(name=NAMES, index=TASKS, fencing=st.sampled_from([1, 1, 2, 3]))
    def complete(self, name: str, index: int, fencing: int) -> None:
        """Done only with verified evidence."""
        for task_id in self.contracts[index : index + 1]:
            wish = {"boardId": "b", "taskId": task_id, "fencing": fencing}
            if give("complete_task", self.actors[name], **wish).outcome == "applied":
                from boards.models import Evidence

                assert Evidence.objects.filter(contract_id=task_id, verdict="verified").exists()
                self.holders.pop(task_id, None)

    @invariant()
    def leases_are_known(self) -> None:
        """Keeps the model's view of when each lease ends."""
        rows = Task.objects.filter(board_id="b", status="claimed").values_list("task_id", "lease_until")
        self._ends = dict(rows)

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
    with monkeypatch.context() as patch, pytest.raises(AssertionError):
        patch.setattr("boards.rules.tasks.held", lambda task, world: False)
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
