"""What was asked of a task and what came back, as clients see it: lines of a history, and operations made of them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

FOREVER: Final = 10**15
"""The end of what never ended: milliseconds long after everything."""


@dataclass(frozen=True, slots=True)
class View:
    """A task as an answer shows it; ``until`` in milliseconds, 0 where nobody holds it."""

    status: str
    holder: str
    fencing: int
    until: int
    offered_to: str
    revision: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A receipt, as far as it speaks of a task; ``revision`` is the task's own after the command."""

    outcome: str
    code: str = "ok"
    revision: int | None = None
    fencing: int | None = None
    until: int | None = None
    events: tuple[str, ...] = ()
    view: View | None = None

    @property
    def holds(self) -> bool:
        """Whether the wish was applied, by this call or by an earlier one with its key."""
        return self.outcome == "applied" or (self.outcome == "already_applied" and self.code == "ok")


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked: claim, renew, release, hand_over, complete, or a mere look. ``lease`` in milliseconds."""

    do: str
    task: str
    lease: int = 0
    fencing: int | None = None
    to: str = ""
    note: str = ""
    expected: int | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt. Times are the server's clock, read by the client before and after; no answer: it was killed.

    ``reused``: the key had been used for another wish before, on purpose.
    """

    node: str
    key: str
    wish: Wish
    begun: int
    ended: int = FOREVER
    answer: Answer | None = None
    reused: bool = False


@dataclass(frozen=True, slots=True)
class Op:
    """One wish with all its attempts. No answer: nobody knows whether it was done. ``at``: when, by the log."""

    node: str
    wish: Wish
    begun: int
    ended: int
    answer: Answer | None
    at: int | None = None


# --- lines of a file -------------------------------------------------------------------------------------------------


def begun_line(number: int, call: Call) -> bytes:
    """Written before the command is given."""
    told: dict[str, Any] = {"n": number, "node": call.node, "key": call.key, "begun": call.begun}
    return json.dumps(told | {"wish": asdict(call.wish), "reused": call.reused}).encode() + b"\n"


def ended_line(number: int, ended: int, answer: Answer) -> bytes:
    """Written when its answer is there."""
    return json.dumps({"n": number, "ended": ended, "answer": asdict(answer)}).encode() + b"\n"


def read(path: Path) -> list[Call]:
    """Every call of one history, in order; a torn last line belongs to a call that was killed."""
    calls: dict[int, Call] = {}
    for line in path.read_bytes().split(b"\n")[:-1]:
        told = json.loads(line)
        if "wish" in told:
            wish = Wish(**told["wish"])
            calls[told["n"]] = Call(told["node"], told["key"], wish, told["begun"], reused=told["reused"])
        else:
            answer = _answer(told["answer"])
            calls[told["n"]] = replace(calls[told["n"]], ended=told["ended"], answer=answer)
    return list(calls.values())


def _answer(told: dict[str, Any]) -> Answer:
    view = View(**told["view"]) if told["view"] else None
    return Answer(**{**told, "events": tuple(told["events"]), "view": view})


# --- operations ------------------------------------------------------------------------------------------------------


def by_key(calls: Iterable[Call]) -> dict[tuple[str, str], list[Call]]:
    """The attempts of each wish, in order of time. Keys that were reused on purpose are left out."""
    attempts: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in sorted(calls, key=lambda call: call.begun):
        if not call.reused:
            attempts[call.node, call.key].append(call)
    return attempts


def operations(calls: Iterable[Call], times: Mapping[str, int] = {}) -> list[Op]:
    """What must have happened one after the other. ``times``: when each event was recorded, by its id.

    What was refused for a reason that lies outside of the task (``rejected``, ``failed``) did nothing and is left out.
    """
    return [op for attempts in by_key(calls).values() for op in _of_one_key(attempts, times)]


def _of_one_key(attempts: list[Call], times: Mapping[str, int]) -> list[Op]:
    lost = [call for call in attempts if call.answer is None]
    holding = [call for call in attempts if call.answer and call.answer.holds]
    rest = [c for c in attempts if c.answer and not c.answer.holds and c.answer.outcome not in ("rejected", "failed")]
    ops = [Op(call.node, call.wish, call.begun, call.ended, call.answer) for call in rest]
    if holding:
        ops.append(_done(lost, holding, times))
    elif lost:
        ops.append(Op(lost[0].node, lost[0].wish, lost[0].begun, FOREVER, None))
    return ops


def _done(lost: list[Call], holding: list[Call], times: Mapping[str, int]) -> Op:
    """It was done in the attempt that says so; when only a repetition says it, in that one or in one before it."""
    tells = next((call for call in holding if call.answer and call.answer.outcome == "applied"), holding[0])
    assert tells.answer is not None
    begun = tells.begun if tells.answer.outcome == "applied" else min(call.begun for call in [*lost, tells])
    known = [times[event] for event in tells.answer.events if event in times]
    answer = replace(tells.answer, outcome="applied")
    return Op(tells.node, tells.wish, begun, tells.ended, answer, known[0] if known else None)
