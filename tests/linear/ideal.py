"""A board as it should be, several clients that ask it at once and die at any moment, and ways in which it may fail."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from tests.linear.calls import FOREVER, Answer, Call, View, Wish
from tests.linear.counts import Line
from tests.linear.tasks import State, decide, present

TASKS: Final = ("one", "two")


class Ideal:
    """Tasks, a log, and a receipt for every key that was applied."""

    def __init__(self) -> None:
        self.tasks = {task: State(revision=1, exact=True) for task in TASKS}
        self.log: list[Line] = []
        self.receipts: dict[tuple[str, str], tuple[Wish, Answer]] = {}
        self.revision = 1
        self.fired = 0
        """How often a planted fault had its effect; the ideal has none."""

    def give(self, node: str, key: str, wish: Wish, at: int) -> Answer:
        """What a client gets."""
        earlier = self.receipts.get((node, key))
        if earlier is not None:
            if earlier[0] != wish:
                return Answer("rejected", "key_reused")
            return self.again(node, key, wish, at, earlier[1])
        self.expire(wish.task, at)
        if wish.do == "look":
            return Answer("seen", view=self.view(wish.task))
        if wish.expected is not None and self.tasks[wish.task].revision > wish.expected:
            return Answer("conflict", "stale_view", view=self.view(wish.task))
        return self.decide(node, key, wish, at)

    def again(self, node: str, key: str, wish: Wish, at: int, first: Answer) -> Answer:
        """A repetition gives the first result."""
        return replace(first, outcome="already_applied")

    def expire(self, task: str, at: int) -> None:
        """A lease that is over is an event before anything else."""
        opened = present(self.tasks[task], at)
        if opened != self.tasks[task]:
            self.revision += 1
            until = self.tasks[task].until
            self.log.append(Line(f"end-{self.revision}", self.revision, self.clock(at), task=task, until=until))
            self.tasks[task] = replace(opened, revision=self.revision, exact=True)

    def clock(self, at: int) -> int:
        """What the log says when it was."""
        return at

    def decide(self, node: str, key: str, wish: Wish, at: int) -> Answer:
        """By the present state."""
        outcome, code, moved = decide(self.tasks[wish.task], node, wish, at)
        if outcome != "applied":
            return Answer(outcome, code, view=self.view(wish.task))
        return self.apply(node, key, wish, at, moved)

    def apply(self, node: str, key: str, wish: Wish, at: int, moved: State) -> Answer:
        """State, event and receipt in one."""
        self.revision += 1
        self.tasks[wish.task] = replace(moved, revision=self.revision, exact=True)
        event_id = f"evt-{self.revision}"
        self.log.append(Line(event_id, self.revision, at, wish.do, wish.task, node, moved.fencing))
        held = moved.status == "claimed"
        fencing, until = (moved.fencing, moved.until) if held else (None, None)
        answer = Answer("applied", "ok", self.revision, fencing, until, (event_id,))
        self.receipts[node, key] = (wish, answer)
        return answer

    def view(self, task: str) -> View:
        """As a conflict shows it."""
        now = self.tasks[task]
        until = now.until if now.status == "claimed" else 0
        return View(now.status, now.holder, now.fencing, until, now.offered_to, now.revision)


# --- faults ----------------------------------------------------------------------------------------------------------


class TwoWinners(Ideal):
    """A claim does not look whether somebody holds the task."""

    def decide(self, node: str, key: str, wish: Wish, at: int) -> Answer:
        held = self.tasks[wish.task]
        if wish.do == "claim" and held.status == "claimed" and node not in (held.holder, held.offered_to):
            self.fired += 1
            opened = State("open", fencing=held.fencing)
            return self.apply(node, key, wish, at, decide(opened, node, wish, at)[2])
        return super().decide(node, key, wish, at)


class StaleRead(Ideal):
    """A claim is decided by what was read before somebody else's claim."""

    def decide(self, node: str, key: str, wish: Wish, at: int) -> Answer:
        held = self.tasks[wish.task]
        if wish.do == "claim" and held.status == "claimed" and node not in (held.holder, held.offered_to):
            self.fired += 1
            before = State("open", fencing=held.fencing - 1)
            return self.apply(node, key, wish, at, decide(before, node, wish, at)[2])
        return super().decide(node, key, wish, at)


class FencingStays(Ideal):
    """A claim gets the number of the claim before it."""

    def apply(self, node: str, key: str, wish: Wish, at: int, moved: State) -> Answer:
        if wish.do == "claim" and moved.fencing > 1:
            self.fired += 1
            moved = replace(moved, fencing=moved.fencing - 1)
        return super().apply(node, key, wish, at, moved)


class FencingIgnored(Ideal):
    """The holder's writes are taken with any fencing number."""

    def decide(self, node: str, key: str, wish: Wish, at: int) -> Answer:
        held = self.tasks[wish.task]
        if wish.fencing not in (None, held.fencing) and held.holder == node and held.status == "claimed":
            self.fired += 1
            wish = replace(wish, fencing=held.fencing)
        return super().decide(node, key, wish, at)


class LostWrite(Ideal):
    """Some commands are answered "applied" and are gone afterwards, as after a rollback."""

    def apply(self, node: str, key: str, wish: Wish, at: int, moved: State) -> Answer:
        before = self.tasks[wish.task]
        answer = super().apply(node, key, wish, at, moved)
        if self.revision % 3 == 0:
            self.fired += 1
            self.tasks[wish.task] = before
            self.log.pop()
            del self.receipts[node, key]
        return answer


class ReceiptForNothing(Ideal):
    """A conflict is answered as if it had been applied, with an event that is not there."""

    def decide(self, node: str, key: str, wish: Wish, at: int) -> Answer:
        answer = super().decide(node, key, wish, at)
        if answer.outcome != "conflict":
            return answer
        self.fired += 1
        held = self.tasks[wish.task]
        return Answer("applied", "ok", held.revision, held.fencing, held.until, (f"none-{self.fired}",))


class RetryActsTwice(Ideal):
    """The receipt is not found, and the wish is given anew."""

    def again(self, node: str, key: str, wish: Wish, at: int, first: Answer) -> Answer:
        before = self.revision
        self.expire(wish.task, at)
        answer = self.decide(node, key, wish, at)
        if answer.outcome != "applied":
            return super().again(node, key, wish, at, first)
        self.fired += self.revision > before
        return answer


class RetryAnswersOtherwise(Ideal):
    """A repetition tells how the task is now, not what was done then."""

    def again(self, node: str, key: str, wish: Wish, at: int, first: Answer) -> Answer:
        now = self.tasks[wish.task]
        self.fired += now.revision != first.revision
        return replace(first, outcome="already_applied", revision=now.revision)


class ExpiresEarly(Ideal):
    """A lease ends a second before its end."""

    def expire(self, task: str, at: int) -> None:
        early = present(self.tasks[task], at) == self.tasks[task] != present(self.tasks[task], at + 1000)
        self.fired += early
        self.ahead = 1000 * early
        super().expire(task, at + self.ahead)

    def clock(self, at: int) -> int:
        return at - self.ahead


FAULTS: Final[dict[str, type[Ideal]]] = {
    "two winners": TwoWinners,
    "stale read answered applied": StaleRead,
    "fencing that does not grow": FencingStays,
    "fencing ignored": FencingIgnored,
    "a lost write": LostWrite,
    "a receipt for an event that is not there": ReceiptForNothing,
    "a retry that acts twice": RetryActsTwice,
    "a retry with another result": RetryAnswersOtherwise,
    "an expiry early": ExpiresEarly,
}


# --- clients ---------------------------------------------------------------------------------------------------------


@dataclass
class Client:
    """One node; it has at most one call under way."""

    name: str
    call: Call | None = None
    answer: Answer | None = None
    fencing: dict[str, int] = field(default_factory=dict)
    kept: list[Call] = field(default_factory=list)
    """What it may repeat."""


class Story:
    """Clients that ask a board, with the end of one call long after the begin of others."""

    def __init__(self, random: Random, board: Ideal, *, clients: int = 3, crashes: bool = True) -> None:
        self.random, self.board = random, board
        self.crashes = crashes
        self.clients = [Client(name) for name in ("ann", "ben", "cy", "dee")[:clients]]
        self.calls: list[Call] = []
        self.late: list[Call] = []
        self.at = 1_000_000
        self.keys = 0

    def tell(self, steps: int) -> list[Call]:
        """So many steps; where clients die, whoever is under way at the end got no answer."""
        for _ in range(steps):
            self._step(self.random.choice(self.clients))
        while not self.crashes and (busy := [client for client in self.clients if client.call]):
            self._step(busy[0])
        self.calls += [client.call for client in self.clients if client.call]
        return self.calls

    def _step(self, client: Client) -> None:
        self.at += self.random.choice((0, 1, 1, 900, 5_000, 20_000))
        if self.late and self.random.random() < 0.2:
            self._act(self.late.pop())
        if client.call is None:
            client.call = self._repeated(client) or self._new(client)
        elif self.crashes and self.random.random() < 0.1:
            self._crash(client, client.call)
        elif client.answer is None:
            client.answer = self._act(client.call)
        else:
            self._end(client, client.call, client.answer)

    def _act(self, call: Call) -> Answer:
        return self.board.give(call.node, call.key, call.wish, self.at)

    def _crash(self, client: Client, call: Call) -> None:
        """Nobody hears the answer; what was sent may still be done, at once or later."""
        self.calls.append(call)
        if client.answer is None and self.random.random() < 0.5:
            self.late.append(call)
        if self.random.random() < 0.5:
            client.kept.append(call)
        client.call = client.answer = None

    def _end(self, client: Client, call: Call, answer: Answer) -> None:
        self.calls.append(replace(call, ended=self.at, answer=answer))
        if answer.fencing is not None:
            client.fencing[call.wish.task] = answer.fencing
        if answer.holds and self.random.random() < 0.3:
            client.kept.append(call)
        client.call = client.answer = None

    def _repeated(self, client: Client) -> Call | None:
        if not client.kept or self.random.random() < 0.5:
            return None
        return replace(client.kept.pop(), begun=self.at, ended=FOREVER)

    def _new(self, client: Client) -> Call:
        self.keys += 1
        return Call(client.name, f"key-{self.keys}", self._wish(client), self.at)

    def _wish(self, client: Client) -> Wish:
        task = self.random.choice(TASKS)
        do = self.random.choice(("claim", "claim", "renew", "release", "hand_over", "look", "complete"))
        if do == "complete" and self.random.random() < 0.8:
            do = "claim"
        expected = self.board.revision - self.random.randint(0, 3) if self.random.random() < 0.2 else None
        lease = self.random.choice((60_000, 90_000)) if do in ("claim", "renew") else 0
        if do in ("claim", "look"):
            return Wish(do, task, lease, expected=None if do == "look" else expected)
        number = client.fencing.get(task, 1) - (self.random.random() < 0.2)
        to = self.random.choice([c.name for c in self.clients if c is not client]) if do == "hand_over" else ""
        return Wish(do, task, lease, number, to, "half done" if to else "", expected)
