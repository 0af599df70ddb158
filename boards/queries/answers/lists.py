"""Pages of lists: a bounded number of items and of bytes, and a cursor that goes on behind the last one.

A cursor holds the place of the last item in the list's order, signed, so that only what a page gave is taken. What is
added meanwhile comes before it or behind it, and nothing is skipped; what is finished meanwhile moves to the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from django.core.signing import BadSignature, Signer
from django.db.models import Case, DateTimeField, Expression, IntegerField, Model, Q, QuerySet, Value, When

from boards.queries.answers.access import BadCursor, Json, Page
from boards.times import iso, now

M = TypeVar("M", bound=Model)

PAGE_BYTES: Final = 2_000_000
"""A page ends before it is larger than this, whatever its limit; it always has one item."""
PREVIEW: Final = 500
"""Characters of a text that lists of what waits show; they say how long it is and where all of it stands."""


def ranks(*first: Q) -> Expression:
    """0 for rows that the first condition fits, 1 for the second, and so on; the others come last."""
    whens = [When(which, then=Value(place)) for place, which in enumerate(first)]
    return Case(*whens, default=Value(len(first)), output_field=IntegerField())


@dataclass(frozen=True)
class Listing(Generic[M]):
    """A list by its name: lower ``rank`` first, then by ``by`` (newest first unless ``ascending``), then by key."""

    name: str
    model: type[M]
    by: str
    show: Callable[[list[M]], list[Json]]
    rank: Expression | None = None
    ascending: bool = False
    load: Callable[[list[Any]], Iterable[M]] | None = None
    """Fetches the rows of these keys, where whole rows would be too much."""

    def page(self, rows: QuerySet[M], page: Page) -> Json:
        """``{name: items, nextCursor}``. Raises :class:`BadCursor`."""
        places = self._places(rows, page)
        by_key = {row.pk: row for row in self._load([place[2] for place in places[: page.limit]])}
        kept = [place for place in places[: page.limit] if place[2] in by_key]  # not removed meanwhile
        items = fitting(self.show([by_key[place[2]] for place in kept]))
        more = len(places) > page.limit or len(items) < len(kept)
        return {self.name: items, "nextCursor": self._cursor(kept[len(items) - 1]) if more and items else None}

    def _places(self, rows: QuerySet[M], page: Page) -> list[tuple[int, Any, Any]]:
        """Rank, value and key of the page's rows and of one more; small, so that sorting many is fast."""
        ranked: QuerySet[Any] = rows.annotate(listing_rank=self.rank or Value(0))
        if page.cursor:
            ranked = ranked.filter(self._behind(page.cursor))
        sign = "" if self.ascending else "-"
        ordered = ranked.order_by("listing_rank", f"{sign}{self.by}", f"{sign}pk")
        return list(ordered.values_list("listing_rank", self.by, "pk")[: page.limit + 1])

    def _behind(self, cursor: str) -> Q:
        rank, stored, key = unsigned(self.name, cursor)
        is_time = isinstance(self.model._meta.get_field(self.by), DateTimeField)
        value = datetime.fromisoformat(stored) if is_time else stored
        further = "gt" if self.ascending else "lt"
        same = Q(listing_rank=rank)
        return (
            Q(listing_rank__gt=rank)
            | (same & Q(**{f"{self.by}__{further}": value}))
            | (same & Q(**{self.by: value, f"pk__{further}": key}))
        )

    def _cursor(self, place: tuple[int, Any, Any]) -> str:
        rank, value, key = place
        return signed(self.name, [rank, value.isoformat() if isinstance(value, datetime) else value, key])

    def _load(self, keys: list[Any]) -> Iterable[M]:
        return self.load(keys) if self.load else self.model._default_manager.filter(pk__in=keys)


def fitting(items: Iterable[Json]) -> list[Json]:
    """The first items that fit on a page; at least one."""
    kept: list[Json] = []
    size = 0
    for item in items:
        size += len(json.dumps(item))
        if kept and size > PAGE_BYTES:
            break
        kept.append(item)
    return kept


def counted(name: str, items: list[Json], total: int, page: Page) -> Json:
    """A page of a list that is computed, not stored: ``items`` are those from :func:`offset` on."""
    kept, start = fitting(items), offset(name, page)
    more = kept and start + len(kept) < total
    return {name: kept, "nextCursor": signed(name, start + len(kept)) if more else None}


def listed(name: str, items: list[Any], page: Page, show: Callable[[Any], Json]) -> Json:
    """A page of a list that is all at hand."""
    start = offset(name, page)
    part = [show(item) for item in items[start : start + page.limit]]
    return counted(name, part, len(items), page)


def offset(name: str, page: Page) -> int:
    """Where a page of a computed list begins."""
    return int(unsigned(name, page.cursor)) if page.cursor else 0


def dated(answer: Json) -> Json:
    """An answer with the moment that it speaks of."""
    return {**answer, "generatedAt": iso(now())}


# --- cursors ---------------------------------------------------------------------------------------------------------


def signed(name: str, place: Any) -> str:
    """The cursor of a place in the list of this name."""
    return Signer(salt=f"agentlink.cursor.{name}").sign_object(place)


def unsigned(name: str, cursor: str) -> Any:
    """The place that a cursor holds. Raises :class:`BadCursor` for anything else than a cursor of this list."""
    try:
        return Signer(salt=f"agentlink.cursor.{name}").unsign_object(cursor)
    except (BadSignature, ValueError):
        raise BadCursor("This cursor is not one that a page before it gave.") from None
