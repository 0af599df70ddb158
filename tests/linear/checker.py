"""Is there a legal order? The search of Wing and Gong, with a memory, for the operations of one task.

An order is legal when each operation stands between its begin and its end, the moments at which commands were decided
never go back, and the task (:mod:`tests.linear.tasks`), asked in this order at these moments, gives exactly the answers
that were received. An operation without an answer may stand anywhere after its begin, or nowhere. The log says when a
command was decided; what only looks sees it a little later, when it is committed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count

from tests.linear.calls import FOREVER, Op
from tests.linear.tasks import State, after


@dataclass(frozen=True, slots=True)
class _Point:
    """How far the search has come: ``first`` operations and those of ``beyond`` are placed, and of ``lost`` these."""

    first: int
    beyond: frozenset[int]
    lost: frozenset[int]
    state: State
    at: int


class _Search:
    def __init__(self, ops: Iterable[Op]) -> None:
        ops = sorted(map(_narrowed, ops), key=lambda op: op.begun)
        self.known = [op for op in ops if op.answer is not None]
        self.lost = [op for op in ops if op.answer is None]
        self.ends = sorted({end for op in self.known for end in _ends(op)})

    def next(self, point: _Point) -> list[_Point]:
        """Every way on. What only reads, and reads right, is placed at once: no order gets worse by that."""
        found, bound = [], FOREVER
        for index in count(point.first):
            if index >= len(self.known) or self.known[index].begun > bound:
                break
            if index in point.beyond:
                continue
            bound = min(bound, self.known[index].ended)
            for state, at in self._placed(point, self.known[index]):
                following = self._past(point, index, state, at)
                if state == point.state:
                    return [following]
                found.append(following)
        return [*found, *self._guesses(point, bound)]

    def _past(self, point: _Point, index: int, state: State, at: int) -> _Point:
        first, beyond = point.first, point.beyond | {index}
        while first in beyond:
            first += 1
        return _Point(first, frozenset(i for i in beyond if i >= first), point.lost, state, at)

    def _guesses(self, point: _Point, bound: int) -> Iterator[_Point]:
        """What may have been done although nobody was told."""
        for index, op in enumerate(self.lost):
            if index not in point.lost and op.begun <= bound:
                for state, at in self._placed(point, op, bound):
                    yield _Point(point.first, point.beyond, point.lost | {index}, state, at)

    def _placed(self, point: _Point, op: Op, bound: int = FOREVER) -> Iterator[tuple[State, int]]:
        for at in self._moments(point, op, min(bound, op.ended)):
            state = after(point.state, op, at)
            if state is not None:
                yield state, at

    def _moments(self, point: _Point, op: Op, last: int) -> list[int]:
        """The earliest is the best; later ones only where a lease must have ended, or must have begun."""
        start = point.at if op.wish.do == "look" else max(point.at, op.begun)
        if op.at is not None:
            return [op.at] if start <= op.at <= last else []
        moments = {start}
        if point.state.status == "claimed":
            moments.add(point.state.until)
        if op.answer is None and op.wish.lease:
            first, after_last = (bisect_left(self.ends, moment + op.wish.lease) for moment in (start, last + 1))
            moments |= {end - op.wish.lease for end in self.ends[first:after_last]}
        elif op.wish.lease and op.answer and op.answer.until:
            moments.add(op.answer.until - op.wish.lease)
        return sorted(moment for moment in moments if start <= moment <= last)


def _narrowed(op: Op) -> Op:
    """Nothing is done before it was decided."""
    return replace(op, begun=op.at) if op.at is not None and op.at >= op.begun else op


def _ends(op: Op) -> Iterator[int]:
    """Where the lease of a claim without an answer may have ended: where one was seen to, or just after it served."""
    assert op.answer is not None
    yield op.begun + 1
    if op.at is not None:
        yield op.at + 1
    if op.answer.until is not None:
        yield op.answer.until
    if op.answer.view is not None:
        yield op.answer.view.until


def fault(ops: Iterable[Op]) -> str | None:
    """None when there is a legal order of these operations on one task; else where the search got no further."""
    search = _Search(ops)
    points = [_Point(0, frozenset(), frozenset(), State(), 0)]
    seen, furthest = set(points), points[0]
    while points:
        point = points.pop()
        if point.first == len(search.known):
            return None
        furthest = max(furthest, point, key=lambda one: one.first)
        for following in reversed(search.next(point)):
            if following not in seen:
                seen.add(following)
                points.append(following)
    stuck = search.known[furthest.first]
    return f"no legal order: after {furthest.first} operations {furthest.state} cannot answer {stuck}"


def faults(ops: Iterable[Op]) -> list[str]:
    """One sentence for each task whose operations have no legal order."""
    tasks: dict[str, list[Op]] = defaultdict(list)
    for op in ops:
        tasks[op.wish.task].append(op)
    found = ((task, fault(its)) for task, its in sorted(tasks.items()))
    return [f"{task}: {sentence}" for task, sentence in found if sentence]
