"""The same commands on the big board and on a small one of the same home: CPU time, in turns.

``python -m tests.bench.scale FOLDER ROUNDS BATCH`` is the process on the big home.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.bench.aside import begun, settle, told_by
from tests.bench.desk import LaterEachTime, new_key, report
from tests.bench.figures import Figure
from tests.crowd import Crowd

if TYPE_CHECKING:
    from boards.schemas import Actor

MOST_TIMES: Final = 1.5


def measure(big: Crowd, *, rounds: int, batch: int) -> tuple[list[Figure], list[str]]:
    """One figure for each kind of command; the floor is the same command on the small board."""
    return judged(told_by("tests.bench.scale", big, rounds, batch))


def judged(found: dict[str, list[tuple[float, float]]]) -> tuple[list[Figure], list[str]]:
    """A line of the table for each kind: the median ratio, because each pair was measured in the same moment."""
    figures = []
    for kind, turns in found.items():
        ratio = statistics.median(ours / floor for ours, floor in turns)
        floor = statistics.median(floor for _, floor in turns)
        name = f"CPU of one command on the big board against a small one: {kind}"
        figures.append(Figure(name, "ms", ratio * floor, floor, most_ratio=MOST_TIMES))
    return figures, []


@dataclass(frozen=True, slots=True)
class Place:
    """A board with somebody who writes to somebody, and a task that its owner may claim."""

    board_id: str
    sender: Actor
    to: str
    owner: Actor
    task_id: str
    lead: Actor
    """Whoever may propose contracts there."""


def main() -> None:
    """Prints, per kind, pairs of milliseconds for one command."""
    big, (rounds, batch) = begun()
    clock = LaterEachTime()
    places = [_large(big), _small(big)]
    found = {}
    for kind, commands in KINDS.items():
        pair = [commands(place, clock) for place in places]
        for give in pair:
            next(give)
        settle()
        found[kind] = [[_cpu(give, batch) for give in pair] for _ in range(rounds)]
    print(json.dumps(found))


def _large(big: Crowd) -> Place:
    from boards.schemas import Actor

    task = big.open_tasks[-1]
    sender, owner, lead = (Actor(node, "cli") for node in (big.workers[0], big.owner(task), big.lead))
    return Place(big.board_id, sender, big.lead, owner, task, lead)


def _small(big: Crowd) -> Place:
    from boards.models import Task
    from boards.people import human_node_id
    from boards.schemas import Actor

    alice, task = (
        Actor("alice", "cli"),
        Task.objects.exclude(contract_id__startswith="contract-").get(board_id=big.small_id),
    )
    return Place(big.small_id, alice, "bob", alice, task.task_id, Actor(human_node_id(), "panel"))


def _give(kind: str, actor: Actor, clock: LaterEachTime, **fields: object) -> dict[str, object]:
    from tests.people import done

    clock.move()
    return done(kind, actor, key=new_key(), **fields).extra  # type: ignore[arg-type]


def _messages(place: Place, clock: LaterEachTime) -> Iterator[None]:
    while True:
        wish = {"to": [place.to], "type": "task_update", "content": report()}
        _give("send_message", place.sender, clock, board_id=place.board_id, **wish)
        yield


def _requests(place: Place, clock: LaterEachTime) -> Iterator[None]:
    """Answered at once: nobody may have more than five open requests to one peer."""
    from boards.schemas import Actor

    while True:
        wish = {"to": [place.to], "type": "task_request", "content": report()}
        sent = _give("send_message", place.sender, clock, board_id=place.board_id, **wish)
        given = {"message_id": sent["messageId"], "answer": "accepted"}
        _give("acknowledge_message", Actor(place.to, "cli"), clock, board_id=place.board_id, **given)
        yield


def _leases(place: Place, clock: LaterEachTime) -> Iterator[None]:
    task = {"board_id": place.board_id, "task_id": place.task_id}
    while True:
        fencing = _give("claim_task", place.owner, clock, **task)["fencing"]
        _give("renew_task", place.owner, clock, **task, fencing=fencing)
        _give("release_task", place.owner, clock, **task, fencing=fencing)
        yield


def _contracts(place: Place, clock: LaterEachTime) -> Iterator[None]:
    """Proposed, accepted by its owner."""
    while True:
        owners = {place.owner.node_id: [f"/dev/{new_key()}"]}
        wish = {"board_id": place.board_id, "contract_id": f"contract-{new_key()}", "owners": owners}
        _give("propose_contract", place.lead, clock, **wish, objective=report())
        given = {"board_id": place.board_id, "contract_id": wish["contract_id"]}
        _give("accept_contract", place.owner, clock, **given)
        yield


def _cpu(give: Iterator[None], batch: int) -> float:
    before = time.process_time()
    for _ in range(batch):
        next(give)
    return (time.process_time() - before) * 1000 / batch


KINDS: Final = {"message": _messages, "request": _requests, "claim, renew, release": _leases, "contract": _contracts}


if __name__ == "__main__":
    main()
