"""Lists of any length, a page at a time: how much there is, what is shown, and where the rest is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)


class Sliceable(Protocol[T_co]):
    """A list or a queryset in its final order."""

    def __getitem__(self, wanted: slice, /) -> Iterable[T_co]: ...


@dataclass(frozen=True, slots=True)
class Shown(Generic[T]):
    """One page of a list. ``page`` counts from 1; ``size``: how many a page holds."""

    rows: list[T]
    total: int
    page: int
    size: int

    @property
    def pages(self) -> int:
        """How many pages there are; one when there is nothing."""
        return max(1, -(-self.total // self.size))

    @property
    def before(self) -> int:
        """How many stand on earlier pages."""
        return (self.page - 1) * self.size

    @property
    def more(self) -> int:
        """How many follow on later pages."""
        return max(0, self.total - self.before - len(self.rows))

    @property
    def previous_page(self) -> int:
        """0 on the first page."""
        return self.page - 1

    @property
    def next_page(self) -> int:
        """0 on the last page."""
        return self.page + 1 if self.more else 0

    def of(self, make: Callable[[T], R]) -> Shown[R]:
        """The same page of what is made of its rows."""
        return Shown([make(row) for row in self.rows], self.total, self.page, self.size)


def shown(found: Sliceable[T], total: int, page: int, size: int) -> Shown[T]:
    """A page of a list or of a queryset; one too far is the last one."""
    page = min(max(page, 1), max(1, -(-total // size)))
    return Shown(list(found[(page - 1) * size : page * size]), total, page, size)


def longest(pages: Sequence[Shown[Any]]) -> Shown[Any]:
    """Of several lists that are turned over together, the one with most pages: it says where the rest is."""
    return max(pages, key=lambda one: (one.pages, one.total))
