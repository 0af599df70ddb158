"""Buttons and small forms: each gives one command, and reports into the receipt line of its card."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from boards.models import Board

SHARED: Final = frozenset({"needs", "ownership", "head"})
"""Regions whose actions report into one line of the whole region."""
FieldKind = Literal["text", "textarea", "select", "number", "checks"]
ANSWERS: Final = (
    ("accepted", "accepted"),
    ("blocked", "blocked"),
    ("needs_clarification", "needs clarification"),
    ("evidence", "evidence"),
    ("read", "read"),
)


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a select or of checkboxes."""

    value: str
    label: str
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One visible input of an action."""

    name: str
    label: str
    kind: FieldKind
    value: str = ""
    options: tuple[Option, ...] = ()
    required: bool = False
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """A button, or a button that opens its few inputs. ``id`` is stable: what is typed survives a live update."""

    id: str
    url: str
    label: str
    hidden: tuple[tuple[str, str], ...]
    receipt: str
    fields: tuple[Field, ...] = ()
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where on a page actions stand: one card of one region, with one receipt line.

    ``seen``: the revision of the thing that the card shows. A command speaks of that thing, so that only its own
    changes make the card out of date, and what happens elsewhere on the board changes no card.
    """

    board: Board
    region: str
    entity: str
    seen: int

    @property
    def receipt(self) -> str:
        """Lines that vanish when they are settled share one receipt outside of their live region."""
        return f"receipt-{self.region}" if self.region in SHARED else f"receipt-{self.region}-{self.entity}"

    def action(
        self, command: str, label: str, hidden: dict[str, object], *fields: Field, tone: str = "", suffix: str = ""
    ) -> Action:
        """An action of this card; the thing's revision goes along as ``expectedRevision``."""
        name = "-".join(part for part in (self.region, command, self.entity, suffix) if part)
        url = f"/boards/{self.board.board_id}/do/{command}"
        pairs = tuple((key, str(value)) for key, value in hidden.items() if value not in (None, ""))
        return Action(name, url, label, (*pairs, ("expectedRevision", str(self.seen))), self.receipt, fields, tone)


def select(name: str, label: str, options: Iterable[tuple[str, str]], chosen: str = "") -> Field:
    """A choice of one."""
    return Field(name, label, "select", options=tuple(Option(v, text, v == chosen) for v, text in options))


def checks(name: str, label: str, options: Iterable[tuple[str, str]]) -> Field:
    """A choice of any."""
    return Field(name, label, "checks", options=tuple(Option(v, text) for v, text in options))


def words(name: str, label: str, *, required: bool = True) -> Field:
    """A few words: a reason, a note."""
    return Field(name, label, "textarea", required=required)


def line(name: str, label: str, *, required: bool = True) -> Field:
    """One line of text."""
    return Field(name, label, "text", required=required)


def minutes(value: int = 30) -> Field:
    """The length of a lease."""
    return Field("leaseMinutes", "Lease in minutes", "number", str(value), least=1, most=24 * 60, required=True)
