"""How big a crowd is, and what was made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Size:
    """How many there are of each; messages, contracts and evidence are the big board's."""

    sessions: int = 24
    boards: int = 5
    messages: int = 60
    contracts: int = 8
    evidence: int = 12
    workers: int = 6


SMALL: Final = Size()
FULL: Final = Size(sessions=5_000, boards=500, messages=10_000, contracts=500, evidence=1_000, workers=60)


@dataclass(frozen=True, slots=True)
class Crowd:
    """What was made, and where. ``folder`` holds ``agentlink`` (the home), ``agintiflow`` and ``projects``."""

    folder: str
    board_id: str
    small_id: str
    lead: str
    workers: list[str]
    boards: list[str]
    contracts: list[str]
    """Of the big board, in the order in which they were proposed; every fifth waits to be accepted."""
    open_tasks: list[str]
    """Tasks of the big board that their owner (:meth:`owner`) may claim."""

    @property
    def home(self) -> Path:
        """AgentLink's own folder."""
        return Path(self.folder) / "agentlink"

    def owner(self, contract_id: str) -> str:
        """Who owns a contract of the big board."""
        return self.workers[self.contracts.index(contract_id) % len(self.workers)]

    def token(self, node: str) -> str:
        """A node's secret, as its agent reads it."""
        return (self.home / "tokens" / node).read_text().strip()

    def scanned_anew(self) -> None:
        """Looks at every session and every folder once, in a process of its own: as a server's first seconds do."""
        from tests.crowd.homes import python

        python(Path(self.folder), "from tests.crowd.homes import settle; settle()")
