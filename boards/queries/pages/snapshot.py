"""One board's rows, read once for a page, and the faces of its people."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final, TypeVar

from django.db import models

from boards import people, rows
from boards.models import Blocker, Board, Contract, Evidence, Member, Node, Task
from boards.rules import World, gate
from boards.schemas import Actor
from boards.times import now

M = TypeVar("M", bound=models.Model)
C = TypeVar("C", Task, Evidence)
STEP: Final = timedelta(seconds=20)
TONES: Final = 8
"""How many colours avatars have (``.av.t0`` and so on), given out in the order in which nodes came."""


def present() -> datetime:
    """The present, at the start of its step: pages and their regions tell the same ages within a step."""
    moment = now()
    return moment - timedelta(seconds=moment.timestamp() % STEP.total_seconds())


@dataclass(frozen=True, slots=True)
class Face:
    """A node as people see it: name, two letters, a colour."""

    node_id: str
    name: str
    initials: str
    tone: int
    kind: str


class Faces:
    """Every node's face by its id; an id that is no node any more shows itself."""

    def __init__(self) -> None:
        came = sorted(rows.fetch(Node), key=lambda node: (node.created_at, node.node_id))
        self.nodes = {node.node_id: node for node in came}
        self._places = {node_id: place for place, node_id in enumerate(self.nodes)}
        self._known: dict[str, Face] = {}

    def __call__(self, node_id: str) -> Face:
        if node_id not in self._known:
            self._known[node_id] = self._face(node_id)
        return self._known[node_id]

    def _face(self, node_id: str) -> Face:
        node = self.nodes.get(node_id)
        name = node.name if node else node_id
        letters = "".join(letter for letter in name if letter.isalnum())[:2].upper()
        tone = self._places.get(node_id, 0) % TONES
        return Face(node_id, name, letters or "?", tone, node.kind if node else "agent")


class Snapshot:
    """A board's rows, each table read when it is first asked for."""

    def __init__(self, board: Board, at: datetime) -> None:
        self.board, self.at = board, at
        self._where: dict[str, Any] = {"board_id": board.board_id}

    def part(self, contracts: list[Contract]) -> Snapshot:
        """The same board with these contracts alone, and what belongs to them: as much as one page shows."""
        part = Snapshot(self.board, self.at)
        part.__dict__ |= {"faces": self.faces, "members": self.members, "contracts": contracts}
        part._where = {"contract_id__in": [row.contract_id for row in contracts]}
        return part

    @property
    def open(self) -> bool:
        """Whether anything can still be done here."""
        return self.board.status == "active"

    @cached_property
    def faces(self) -> Faces:
        return Faces()

    @cached_property
    def me(self) -> str:
        """The node of the person who looks."""
        return next(node.node_id for node in self.faces.nodes.values() if node.kind == "human")

    @cached_property
    def members(self) -> list[Member]:
        """In the order in which they came, which no column tells: the table's own."""
        return list(people.members(self.board.board_id))

    @cached_property
    def contracts(self) -> list[Contract]:
        return sorted(self._rows(Contract), key=lambda row: (row.created_at, row.contract_id))

    @cached_property
    def tasks(self) -> list[Task]:
        return sorted(self._rows(Task), key=lambda row: (len(row.task_id), row.task_id))

    @cached_property
    def bundles(self) -> list[Evidence]:
        return sorted(self._rows(Evidence), key=lambda row: (row.created_at, row.evidence_id))

    @cached_property
    def blockers(self) -> list[Blocker]:
        return sorted(self._rows(Blocker), key=lambda row: (row.opened_at, row.blocker_id))

    def _rows(self, model: type[M]) -> list[M]:
        return rows.fetch(model, **self._where)

    def tasks_of(self, contract: Contract) -> list[Task]:
        return self._tasks_by.get(contract.contract_id, [])

    def bundles_of(self, contract: Contract) -> list[Evidence]:
        return self._bundles_by.get(contract.contract_id, [])

    def open_blockers_of(self, contract: Contract) -> list[Blocker]:
        return [row for row in self.blockers if row.contract_id == contract.contract_id and row.status == "open"]

    @cached_property
    def _tasks_by(self) -> dict[str, list[Task]]:
        return _grouped(self.tasks)

    @cached_property
    def _bundles_by(self) -> dict[str, list[Evidence]]:
        return _grouped(self.bundles)

    def gate_of(self, contract: Contract) -> gate.Gate:
        """What the gate would say of this contract now."""
        return gate.contract_gate(self._world, contract)

    @cached_property
    def _world(self) -> World:
        """The rows of this snapshot as the rules look at them; nothing else can be asked here."""
        return World(self.at, Actor(self.me), self._fetch, _none, _none, list)

    def _fetch(self, model: type[M], **filters: Any) -> list[M]:
        tables: dict[type[models.Model], list[Any]] = {
            Evidence: self.bundles,
            Blocker: self.blockers,
            Task: self.tasks,
            Contract: self.contracts,
            Member: self.members,
        }
        return [row for row in tables[model] if all(getattr(row, name) == value for name, value in filters.items())]


def _grouped(found: list[C]) -> dict[str, list[C]]:
    """By contract, each group in the list's order."""
    groups: dict[str, list[C]] = defaultdict(list)
    for row in found:
        groups[row.contract_id].append(row)
    return groups


def _none(_: str) -> Any:
    raise NotImplementedError("A page asks only what the board's rows tell.")
