"""What a contest left behind, and all that the looks at it find."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from tests.linear import checker, contest, counts
from tests.linear.calls import Call, operations, read

EXPECTED: Final = frozenset({"key_reused", "too_many_messages"})
"""Why a contending client may be refused, beside the state of its task."""


@dataclass(frozen=True)
class Findings:
    """Of one contest."""

    calls: list[Call]
    log: list[counts.Line]
    result: contest.Result

    @cached_property
    def faults(self) -> dict[str, list[str]]:
        """By the look that found them; empty when all is well."""
        times = {line.event_id: line.at for line in self.log}
        looks = {
            "order": checker.faults(operations(self.calls, times)),
            "double commits": counts.double_commits(self.calls, self.log),
            "lost writes": counts.lost_writes(self.calls, self.log),
            "retry mismatches": counts.retry_mismatches(self.calls),
            "early ends": counts.early_ends(self.log),
            "refusals": [str(call) for call in self.calls if _strange(call)],
            "log": self.result.log_faults,
            "replay": ["the replay of the log is another board"] if self.result.replay_differs else [],
        }
        return {name: faults for name, faults in looks.items() if faults}

    @property
    def claims(self) -> int:
        """How many were given."""
        return sum(call.wish.do == "claim" for call in self.calls)

    @property
    def codes(self) -> Counter[str]:
        """How often each answer was given; ``lost`` where there was none."""
        return Counter(call.answer.code if call.answer else "lost" for call in self.calls)

    @property
    def answered(self) -> Counter[str]:
        """How many answers each client got."""
        return Counter(call.node for call in self.calls if call.answer)


def _strange(call: Call) -> bool:
    return bool(call.answer and call.answer.outcome in ("rejected", "failed") and call.answer.code not in EXPECTED)


def of(folder: Path, result: contest.Result) -> Findings:
    """The histories and the log in a folder."""
    calls = [call for path in sorted(folder.glob("*.history")) for call in read(path)]
    return Findings(calls, counts.read_log(folder / contest.LOG), result)
