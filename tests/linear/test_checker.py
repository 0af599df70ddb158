"""The checker is checked: it rejects no history that a correct board gave, and finds every fault put into one."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.linear import checker, counts, ideal
from tests.linear.calls import FOREVER, Answer, Call, View, Wish, begun_line, ended_line, operations, read

SEEDS = st.integers(0, 2**32)


def found(calls: list[Call], log: list[counts.Line], *, timed: bool = True) -> dict[str, list[str]]:
    """What each look finds."""
    times = {line.event_id: line.at for line in log} if timed else {}
    looks = {
        "order": checker.faults(operations(calls, times)),
        "double commits": counts.double_commits(calls, log),
        "lost writes": counts.lost_writes(calls, log),
        "retry mismatches": counts.retry_mismatches(calls),
        "early ends": counts.early_ends(log),
    }
    return {name: faults for name, faults in looks.items() if faults}


@given(seed=SEEDS, clients=st.integers(2, 4), steps=st.integers(0, 250), timed=st.booleans())
@settings(max_examples=300, deadline=None)
def test_no_history_of_a_correct_board_is_rejected(seed: int, clients: int, steps: int, timed: bool) -> None:
    board = ideal.Ideal()
    calls = ideal.Story(random.Random(seed), board, clients=clients).tell(steps)
    assert found(calls, board.log, timed=timed) == {}


SURELY = {
    "two winners": "order",
    "stale read answered applied": "order",
    "fencing that does not grow": "order",
    "fencing ignored": "order",
    "a lost write": "lost writes",
    "a receipt for an event that is not there": "lost writes",
    "a retry that acts twice": "retry mismatches",
    "a retry with another result": "retry mismatches",
    "an expiry early": "early ends",
}
"""Which look finds a fault whenever everybody hears the answers."""


@pytest.mark.parametrize("name", ideal.FAULTS)
def test_every_planted_fault_is_found(name: str) -> None:
    """In every one of the histories in which it had its effect, and not in others."""
    fired = 0
    for seed in range(150):
        board = ideal.FAULTS[name]()
        calls = ideal.Story(random.Random(seed), board, crashes=False).tell(160)
        seen = found(calls, board.log)
        assert (SURELY[name] in seen) if board.fired else (seen == {}), seed
        fired += board.fired > 0
    assert fired > 10


@pytest.mark.parametrize("name", ["two winners", "stale read answered applied", "fencing that does not grow"])
def test_faults_are_found_by_their_order_alone_and_where_clients_die(name: str) -> None:
    """Without the log's times; most of the time, since what nobody heard can be explained in many ways."""
    stories = [(ideal.FAULTS[name](), random.Random(seed)) for seed in range(60)]
    seen = [checker.faults(operations(ideal.Story(chance, board).tell(200))) != [] for board, chance in stories]
    assert sum(seen) > 50


# --- small histories, by hand ----------------------------------------------------------------------------------------

MINUTE = 60_000


def claimed(node: str, begun: int, ended: int, *, at: int, fencing: int, revision: int, key: str = "") -> Call:
    """A claim that was told it won; when, its lease says."""
    answer = Answer("applied", "ok", revision, fencing, at + MINUTE, (f"evt-{revision}",))
    return Call(node, key or f"{node}-{revision}", Wish("claim", "t", MINUTE), begun, ended, answer)


def refused(node: str, begun: int, ended: int, holder: str, *, at: int, fencing: int, revision: int) -> Call:
    """A claim that was told who holds the task, since when."""
    view = View("claimed", holder, fencing, at + MINUTE, "", revision)
    wish = Wish("claim", "t", MINUTE)
    return Call(node, f"{node}-{begun}", wish, begun, ended, Answer("conflict", "already_claimed", view=view))


def unanswered(node: str, begun: int) -> Call:
    """A claim whose caller was killed."""
    return Call(node, f"{node}-lost", Wish("claim", "t", MINUTE), begun)


def released(node: str, begun: int, ended: int, *, fencing: int, revision: int) -> Call:
    """The holder gave it back."""
    answer = Answer("applied", "ok", revision, events=(f"evt-{revision}",))
    return Call(node, f"{node}-{revision}", Wish("release", "t", fencing=fencing), begun, ended, answer)


ANN = claimed("ann", 10, 30, at=20, fencing=1, revision=5)
LEGAL = {
    "nothing": [],
    "one winner": [ANN, refused("ben", 15, 40, "ann", at=20, fencing=1, revision=5)],
    "who asked first may come second": [ANN, refused("ben", 1, 25, "ann", at=20, fencing=1, revision=5)],
    "the lease is over": [ANN, claimed("ben", 5, 20 + MINUTE + 9, at=20 + MINUTE, fencing=2, revision=7)],
    "a killed claim was not done": [unanswered("cy", 1), ANN],
    "a killed claim was done": [unanswered("cy", 1), refused("ann", 50, 60, "cy", at=40, fencing=1, revision=5)],
    "a killed claim was done long after": [
        ANN, unanswered("cy", 1), released("ann", 50, 60, fencing=1, revision=6),
        refused("ben", 80, 90, "cy", at=70, fencing=2, revision=7),
    ],
    "a killed claim was done and nobody saw it": [
        unanswered("cy", 1), claimed("ben", 5, 2 * MINUTE + 9, at=2 * MINUTE, fencing=2, revision=8),
    ],
}  # fmt: skip
ILLEGAL = {
    "two winners": [ANN, claimed("ben", 15, 40, at=25, fencing=2, revision=6)],
    "two winners with one number": [ANN, claimed("ben", 15, 40, at=25, fencing=1, revision=6)],
    "refused before anybody held it": [ANN, refused("ben", 1, 9, "ann", at=20, fencing=1, revision=5)],
    "refused for somebody who never asked": [ANN, refused("ben", 15, 40, "cy", at=20, fencing=1, revision=5)],
    "an old view after a new one": [
        ANN, released("ann", 50, 60, fencing=1, revision=6),
        refused("ben", 70, 80, "ann", at=20, fencing=1, revision=5),
    ],
    "a number twice": [
        ANN, released("ann", 50, 60, fencing=1, revision=6), claimed("ben", 70, 90, at=80, fencing=1, revision=7),
    ],
    "a number left out": [
        ANN, released("ann", 50, 60, fencing=1, revision=6), claimed("ben", 70, 90, at=80, fencing=3, revision=7),
    ],
    "a revision that goes back": [
        ANN, released("ann", 50, 60, fencing=1, revision=6), claimed("ben", 70, 90, at=80, fencing=2, revision=4),
    ],
    "a moment before the lease was over": [
        ANN, claimed("ben", 5, 20 + MINUTE + 9, at=20 + MINUTE - 1, fencing=2, revision=7),
    ],
    "a release by another": [ANN, released("ben", 50, 60, fencing=1, revision=6)],
    "a release after the lease": [ANN, released("ann", 21 + MINUTE, 30 + MINUTE, fencing=1, revision=6)],
    "a killed claim done twice": [
        unanswered("cy", 1), refused("ann", 50, 60, "cy", at=40, fencing=1, revision=5),
        refused("ben", 80, 90, "cy", at=70, fencing=2, revision=7),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", LEGAL)
def test_a_legal_history_is_accepted(name: str) -> None:
    assert checker.faults(operations(LEGAL[name])) == []


@pytest.mark.parametrize("name", ILLEGAL)
def test_an_illegal_history_is_rejected(name: str) -> None:
    assert len(checker.faults(operations(ILLEGAL[name]))) == 1


LINE = counts.Line("evt-5", 5, 20, "claim", "t", "ann", 1)


def test_an_event_that_no_key_accounts_for_is_a_double_commit() -> None:
    twice = replace(LINE, event_id="evt-6", revision=6)
    assert counts.double_commits([ANN], [LINE]) == []
    assert len(counts.double_commits([ANN], [LINE, twice])) == 1
    lost = replace(ANN, key=ANN.key, begun=1, ended=ANN.ended, answer=None)
    assert len(counts.double_commits([lost, ANN], [LINE, twice])) == 1, "both attempts have one key"
    other = replace(lost, key="other")
    assert counts.double_commits([other, ANN], [LINE, twice]) == [], "the killed one may have made it"
    assert len(counts.double_commits([other, ANN], [LINE, replace(twice, at=0)])) == 1, "but not before it asked"


@pytest.mark.parametrize(
    "log",
    [
        [], [replace(LINE, fencing=2)], [replace(LINE, node="ben")], [replace(LINE, revision=6)],
        [replace(LINE, do="renew")],
    ],
    ids=["no event", "another number", "another node", "another revision", "another event"],
)  # fmt: skip
def test_an_applied_receipt_without_its_event_is_a_lost_write(log: list[counts.Line]) -> None:
    assert counts.lost_writes([ANN], [LINE]) == []
    assert len(counts.lost_writes([ANN], log)) == 1


def test_a_repetition_that_tells_another_result_is_a_mismatch() -> None:
    assert ANN.answer is not None
    again = replace(ANN, begun=50, ended=60, answer=replace(ANN.answer, outcome="already_applied"))
    assert counts.retry_mismatches([ANN, again]) == []
    assert again.answer is not None
    for answer in (ANN.answer, replace(again.answer, fencing=2), Answer("rejected", "key_reused")):
        assert len(counts.retry_mismatches([ANN, replace(again, answer=answer)])) == 1
    assert len(counts.retry_mismatches([ANN, replace(again, reused=True)])) == 1, "another wish under this key"


def test_a_repetition_that_finds_its_receipt_stands_where_the_first_attempt_may_have_been_done() -> None:
    lost = replace(ANN, answer=None)
    assert ANN.answer is not None
    again = replace(ANN, begun=50, ended=60, answer=replace(ANN.answer, outcome="already_applied"))
    assert [(op.begun, op.ended) for op in operations([lost, again])] == [(10, 60)]
    anew = replace(again, answer=ANN.answer)
    assert [(op.begun, op.ended) for op in operations([lost, anew])] == [(50, 60)], "then the first did nothing"


def test_a_history_is_read_as_it_was_written_and_a_torn_line_is_a_call_without_an_answer(tmp_path: Path) -> None:
    seen = refused("ben", 15, 40, "ann", at=20, fencing=1, revision=5)
    assert ANN.answer is not None and seen.answer is not None
    lines = [begun_line(1, ANN), ended_line(1, 30, ANN.answer), begun_line(2, seen), ended_line(2, 40, seen.answer)]
    path = tmp_path / "ann.history"
    path.write_bytes(b"".join(lines))
    assert read(path) == [ANN, seen]
    path.write_bytes(b"".join(lines)[:-7])
    assert read(path) == [ANN, replace(seen, answer=None, ended=FOREVER)]
