"""The task as it should be, one command after the other: who holds it, until when, with which fencing number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from tests.linear.calls import Op, View, Wish


@dataclass(frozen=True, slots=True)
class State:
    """A task. ``revision`` is its own; where it is not ``exact`` the true one is greater. Times in milliseconds."""

    status: str = "open"
    holder: str = ""
    fencing: int = 0
    until: int = 0
    offered_to: str = ""
    note: str = ""
    revision: int = 0
    exact: bool = False


Decision = tuple[str, str, State]
"""Outcome, code, and the task afterwards."""


def decide(state: State, node: str, wish: Wish, at: int) -> Decision:
    """What a task says to a command at a moment. A lease is active until exactly its end."""
    return _DECIDE[wish.do](present(state, at), node, wish, at)


def present(state: State, at: int) -> State:
    """The task at a moment: open again when its lease is over."""
    if state.status != "claimed" or at < state.until:
        return state
    return State("open", fencing=state.fencing, revision=state.revision)


def _claim(state: State, node: str, wish: Wish, at: int) -> Decision:
    if state.status == "done":
        return "conflict", "not_open", state
    if state.status == "claimed" and state.holder == node:
        return "already_applied", "already_held", state
    if state.status == "claimed" and state.offered_to != node:
        return "conflict", "already_claimed", state
    until = at + wish.lease
    return "applied", "ok", State("claimed", node, state.fencing + 1, until, revision=state.revision)


def _fenced(then: Callable[[State, Wish, int], Decision]) -> Callable[[State, str, Wish, int], Decision]:
    """The holder's writes: it must hold the task now, with the fencing number of its claim."""

    def decided(state: State, node: str, wish: Wish, at: int) -> Decision:
        if state.status != "claimed":
            return "conflict", "not_held", state
        if state.holder != node:
            return "conflict", "not_holder", state
        if state.fencing != wish.fencing:
            return "conflict", "fenced", state
        return then(state, wish, at)

    return decided


def _renew(state: State, wish: Wish, at: int) -> Decision:
    return "applied", "ok", _moved(replace(state, until=max(at + wish.lease, state.until)))


def _release(state: State, wish: Wish, at: int) -> Decision:
    return "applied", "ok", State("open", fencing=state.fencing, revision=state.revision)


def _hand_over(state: State, wish: Wish, at: int) -> Decision:
    if (state.offered_to, state.note) == (wish.to, wish.note):
        return "already_applied", "already_offered", state
    return "applied", "ok", _moved(replace(state, offered_to=wish.to, note=wish.note))


def _complete(state: State, wish: Wish, at: int) -> Decision:
    return "applied", "ok", State("done", state.holder, state.fencing, revision=state.revision)


def _moved(state: State) -> State:
    return replace(state, exact=False)


_DECIDE: Final = {
    "claim": _claim,
    "renew": _fenced(_renew),
    "release": _fenced(_release),
    "hand_over": _fenced(_hand_over),
    "complete": _fenced(_complete),
}


# --- answers ---------------------------------------------------------------------------------------------------------


def after(state: State, op: Op, at: int) -> State | None:
    """The task after the operation at this moment; None when the task would not have answered so.

    For an operation of which nobody knows the answer: the task after it, if it does something.
    """
    if op.wish.do == "look":
        return _seen(state, op, at)
    now = present(state, at)
    outcome, code, moved = decide(state, op.node, op.wish, at)
    if op.answer is None:
        return moved if outcome == "applied" and not _surely_stale(now, op) else None
    if op.answer.code == "stale_view":
        return _pinned(now, op.answer.view) if _maybe_stale(now, op) else None
    if _surely_stale(now, op) or (outcome, code) != (op.answer.outcome, op.answer.code):
        return None
    return _numbered(now, moved, op) if outcome == "applied" else _pinned(now, op.answer.view)


def _surely_stale(now: State, op: Op) -> bool:
    """Whether what the caller saw is older than the task."""
    if op.wish.expected is None:
        return False
    return now.revision > op.wish.expected or (not now.exact and now.revision == op.wish.expected)


def _maybe_stale(now: State, op: Op) -> bool:
    return op.wish.expected is not None and (not now.exact or now.revision > op.wish.expected)


def _numbered(now: State, moved: State, op: Op) -> State | None:
    """Every applied command moves the task's revision, and what its receipt tells is how the task is then."""
    told = op.answer
    assert told is not None
    if told.revision is None or told.revision <= now.revision:
        return None
    if told.fencing not in (None, moved.fencing) or told.until not in (None, moved.until):
        return None
    return replace(moved, revision=told.revision, exact=True)


def _pinned(now: State, view: View | None) -> State | None:
    """What an answer shows of the task must be the task; from then on its revision is known."""
    if view is None:
        return None
    until = now.until if now.status == "claimed" else 0
    same = View(now.status, now.holder, now.fencing, until, now.offered_to, view.revision)
    right = view.revision == now.revision if now.exact else view.revision > now.revision
    return replace(now, revision=view.revision, exact=True) if view == same and right else None


def _seen(state: State, op: Op, at: int) -> State | None:
    """A lease that is over may still be shown until somebody makes its end an event; the lease says so itself."""
    view = op.answer.view if op.answer else None
    return _pinned(state, view) or _pinned(present(state, at), view)
