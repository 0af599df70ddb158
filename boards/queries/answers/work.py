"""Contracts with what can be done about them, and the gate: however many contracts, their proofs are read at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final, TypeVar, cast

from django.db.models import Model, QuerySet

from boards import shapes, words
from boards.models import Blocker, Contract, Evidence, Task
from boards.queries.answers.access import Json, Page, readable_board
from boards.queries.answers.lists import dated, listed
from boards.rules import gate as gates
from boards.rules.world import World
from boards.schemas import Actor
from boards.times import now

M = TypeVar("M", bound=Model)

RUNNING: Final = ("accepted", "active", "blocked")
"""Contracts under which work goes on."""
COLUMNS: Final[dict[type[Any], tuple[str, ...]]] = {
    Evidence: ("evidence_id", "contract_id", "requirement_id", "stands_for", "verdict"),
    Blocker: ("blocker_id", "contract_id", "status", "evidence_ids"),
    Task: ("task_id", "contract_id", "status", "holder"),
}
"""What the gate looks at; the rest of a row (long texts, checks) is not read."""


class Shelf:
    """What the gate may ask about some contracts, read at once instead of contract by contract."""

    def __init__(self, contracts: list[Contract]) -> None:
        self.contracts = contracts
        keys = [row.contract_id for row in contracts]
        self._rows = {model: _grouped(model, keys, columns) for model, columns in COLUMNS.items()}

    def fetch(self, model: type[M], **filters: Any) -> list[M]:
        """The rows that :mod:`boards.rules.gate` asks for: of one contract, or all contracts."""
        found: Any = self.contracts if model is Contract else self._rows[model].get(filters["contract_id"], [])
        return cast("list[M]", found)

    def world(self) -> World:
        """The store as the gate's rules look at it: rows only, nothing is made and nobody is looked for."""
        return World(now(), Actor(words.SERVICE_NODE, "timer"), self.fetch, str, lambda _: None, tuple)

    def tasks(self, contract: Contract) -> list[Task]:
        """The contract's tasks."""
        return self.fetch(Task, contract_id=contract.contract_id)


def _grouped(model: type[Model], contract_ids: list[str], columns: tuple[str, ...]) -> dict[str, list[Any]]:
    rows: QuerySet[Any] = model._default_manager.filter(contract_id__in=contract_ids).only(*columns).order_by("pk")
    groups: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        groups[row.contract_id].append(row)
    return groups


def contracts(rows: Iterable[Contract]) -> list[Json]:
    """Contracts with their ``actionability``, whom they wait for, and what their gate still misses."""
    shelf = Shelf(list(rows))
    world = shelf.world()
    return [_contract(row, world, shelf.tasks(row)) for row in shelf.contracts]


def _contract(row: Contract, world: World, tasks: list[Task]) -> Json:
    verdict = gates.contract_gate(world, row) if row.status in RUNNING else gates.Gate()
    waiting = [node for node in row.owners if node not in row.accepted_by] if row.status == "proposed" else []
    return {
        **shapes.body(row),
        "actionability": _actionability(row, tasks, verdict),
        "waitingFor": waiting,
        "missing": [item.body() for item in verdict.missing],
    }


_BY_STATUS: Final = {
    "proposed": "needs_acceptance",
    "blocked": "blocked",
    "done": "done",
    "rejected": "closed",
    "withdrawn": "closed",
}
"""Where the status alone says what can be done."""


def _actionability(row: Contract, tasks: list[Task], verdict: gates.Gate) -> str:
    """``needs_acceptance unclaimed claimed completable blocked done closed``."""
    if row.status in _BY_STATUS:
        return _BY_STATUS[row.status]
    if any(item.category == "blocker_from_peer" for item in verdict.missing):
        return "blocked"
    if any(task.status == "open" for task in tasks):
        return "unclaimed"
    return "completable" if verdict.ready else "claimed"


def gate(board_id: str, actor: Actor, page: Page = Page()) -> Json:
    """What is still missing before the board may be closed: state ``ready``, ``blocked`` or ``not_ready``.

    ``missing`` is paged; ``missingCount`` counts all of it, and of ``standingIn`` the first are named.
    """
    head = readable_board(board_id, actor)
    if head.status == "closed":
        state = "blocked" if head.final_status == "finished_blocked" else "ready"
        verdict: Json = {"state": state, "finalStatus": head.final_status or None, "missing": [], "standingIn": []}
    else:
        shelf = Shelf(list(Contract.objects.filter(board_id=board_id).order_by("contract_id")))
        verdict = gates.board_gate(shelf.world(), board_id).body()
    missing, standing_in = verdict.pop("missing"), verdict.pop("standingIn")
    return dated(
        {
            "boardId": board_id,
            "status": head.status,
            **verdict,
            **listed("missing", missing, page, dict),
            "missingCount": len(missing),
            "standingIn": standing_in[: page.limit],
            "standingInCount": len(standing_in),
            "sourceRevision": head.head,
        }
    )
