"""Direct counts of histories against the log, which need no search: each gives one sentence for each fault."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from tests.linear.calls import Answer, Call, by_key

KINDS: Final = {
    "agentlink.task.claimed": "claim",
    "agentlink.task.handed_over": "claim",
    "agentlink.task.renewed": "renew",
    "agentlink.task.released": "release",
    "agentlink.task.updated": "hand_over",
    "agentlink.task.completed": "complete",
}
"""Which wish an event answers; the end of a lease answers none."""


@dataclass(frozen=True, slots=True)
class Line:
    """One event of the log; times in milliseconds, ``do`` empty where no client's wish makes it.

    ``until``: when the lease ended, for the event that says so.
    """

    event_id: str
    revision: int
    at: int
    do: str = ""
    task: str = ""
    node: str = ""
    fencing: int = 0
    until: int = 0


def write_log(path: Path, lines: Iterable[Line]) -> None:
    """One line of JSON for each event."""
    path.write_text("".join(json.dumps(asdict(line)) + "\n" for line in lines))


def read_log(path: Path) -> list[Line]:
    """What :func:`write_log` wrote."""
    return [Line(**json.loads(line)) for line in path.read_text().splitlines()]


def double_commits(calls: Sequence[Call], log: Sequence[Line]) -> list[str]:
    """Events that no key accounts for: one wish was done twice, or something was done that nobody wished.

    An event belongs to the key whose receipt names it; else to a key of which nobody knows whether it was done.
    """
    named = {event for call in calls if call.answer and call.answer.holds for event in call.answer.events}
    unknown = sorted(_unknown(calls), key=lambda call: call.begun)
    found = []
    for line in sorted((line for line in log if line.do and line.event_id not in named), key=lambda line: line.at):
        owner = next((call for call in unknown if _may_have_made(call, line)), None)
        if owner is None:
            found.append(f"no key accounts for {line}")
        else:
            unknown.remove(owner)
    return found


def _unknown(calls: Iterable[Call]) -> Iterator[Call]:
    for attempts in by_key(calls).values():
        if not any(call.answer and call.answer.holds for call in attempts):
            yield from [call for call in attempts if call.answer is None][:1]


def _may_have_made(call: Call, line: Line) -> bool:
    same = (call.node, call.wish.do, call.wish.task) == (line.node, line.do, line.task)
    return same and call.begun <= line.at


def lost_writes(calls: Iterable[Call], log: Iterable[Line]) -> list[str]:
    """Receipts that say "applied" of what does not stand in the log, or stands there otherwise."""
    lines = {line.event_id: line for line in log}
    return [f"the log lacks what {call} was told" for call in calls if not _stands(call, lines)]


def _stands(call: Call, lines: dict[str, Line]) -> bool:
    if call.answer is None or not call.answer.holds:
        return True
    told = [lines.get(event) for event in call.answer.events]
    if not told or None in told:
        return False
    wish = call.wish
    return any(line and _says(line, call.node, wish.do, wish.task, call.answer) for line in told)


def _says(line: Line, node: str, do: str, task: str, answer: Answer) -> bool:
    same = (line.node, line.do, line.task, line.revision) == (node, do, task, answer.revision)
    return same and answer.fencing in (None, line.fencing)


def retry_mismatches(calls: Iterable[Call]) -> list[str]:
    """Keys whose repetition acted again or was answered otherwise, and keys that were taken for two wishes."""
    calls = list(calls)
    found = [f"another wish was taken under a used key: {c}" for c in calls if c.reused and c.answer and c.answer.holds]
    for attempts in by_key(calls).values():
        found += _mismatches([call for call in attempts if call.answer])
    return found


def _mismatches(attempts: list[Call]) -> Iterator[str]:
    first = next((call for call in attempts if call.answer and call.answer.holds), None)
    if first is None or first.answer is None:
        return
    wanted = replace(first.answer, outcome="already_applied")
    for call in attempts:
        later = call is not first and call.begun >= first.ended
        if later and call.answer != wanted and not (call.answer and call.answer.outcome == "failed"):
            yield f"first {first.answer}, then {call}"


def early_ends(log: Iterable[Line]) -> list[str]:
    """Leases that the log ends before their end."""
    return [f"too early: {line}" for line in log if line.at < line.until]
