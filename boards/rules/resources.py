"""Resources: what one running contract gives to a node, no other may give to another node."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Final

from boards.models import Contract
from boards.rules.world import Refused, World

RUNNING: Final = ["accepted", "active", "blocked"]
PATTERN: Final = re.compile(r"[*?\[]")


def check_free(world: World, contract_id: str, owners: dict[str, list[str]]) -> None:
    """Raises a conflict that names the holder when a resource overlaps with one that somebody else has.

    A resource belongs to the machine, so contracts of every board count; one that the actor may not read is not named.
    """
    wanted = [(node, thing) for node, things in owners.items() for thing in things]
    if not wanted:
        return
    for row in world.fetch(Contract, status__in=RUNNING):
        if row.contract_id == contract_id:
            continue
        for holder, things in row.owners.items():
            for node, thing in wanted:
                if node != holder and any(overlap(thing, held) for held in things):
                    raise _taken(world, row, holder, thing)


def _taken(world: World, row: Contract, holder: str, thing: str) -> Refused:
    if not world.listens(row.board_id, world.actor.node_id):
        where, current = "a contract of another board", None
    else:
        where = f"{holder} by {row.contract_id}"
        current = {"contractId": row.contract_id, "boardId": row.board_id, "holder": holder, "resource": thing}
    sentence = f"{thing!r} is given to {where} already; end that contract first, or leave the resource out."
    return Refused("resource_taken", sentence, outcome="conflict", current=current)


def overlap(one: str, other: str) -> bool:
    """The same words without regard to case and spacing, a path inside the other, or patterns that meet."""
    first, second = _folded(one), _folded(other)
    if not first or not second:
        return False
    if PATTERN.search(first) or PATTERN.search(second):
        return fnmatchcase(first, second) or fnmatchcase(second, first) or _stems_meet(first, second)
    return first == second or _inside(first, second) or _inside(second, first)


def _folded(resource: str) -> str:
    return " ".join(resource.casefold().split()).rstrip("/") or resource.strip()


def _inside(path: str, folder: str) -> bool:
    return "/" in folder and path.startswith(f"{folder.rstrip('/')}/")


def _stems_meet(one: str, other: str) -> bool:
    """Two patterns may meet when what stands before their first wildcard agrees; so does the end of both.

    May say yes for two that have no common path: then people name their resources more exactly.
    """
    heads = [PATTERN.split(pattern)[0] for pattern in (one, other)]
    tails = [PATTERN.split(pattern)[-1].lstrip("]") for pattern in (one, other)]
    short, long = sorted(heads, key=len)
    end, longer = sorted(tails, key=len)
    return bool(short) and long.startswith(short) and longer.endswith(end)
