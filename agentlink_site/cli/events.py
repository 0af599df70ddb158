"""Events as they happen: read page by page after a position, looked for only when the store changed, shown as lines."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Final

from agentlink_site import client
from agentlink_site.cli.desk import Desk, Json
from agentlink_site.cli.terminal import brief, line

PAGE: Final = 500
TICK: Final = 0.1
"""Seconds between two looks at the store's files; the shortest pause between two questions."""
HEARTBEAT: Final = 5.0
"""Seconds after which the API is asked in any case."""
LAST: Final = 2**62
"""After this comes nothing: the answer only says how far the board is."""
PREFIX: Final = "agentlink."
UNPROVEN: Final = "untrusted-imported-summary"
"""The trust of what came through the board folder."""


def rounds(deadline: float) -> Iterator[None]:
    """Whenever it is worth asking: at once, after writes to the store, after a while in any case, and at the end."""
    files = client.store_files()
    while True:
        seen = client.mark_of(files)
        yield
        if time.monotonic() >= deadline:
            return
        end = min(time.monotonic() + HEARTBEAT, deadline)
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(TICK, left))
            if client.mark_of(files) != seen:
                break


def news(desk: Desk, board: str | None, after: int, deadline: float) -> Iterator[tuple[list[Json], int]]:
    """Events after a revision of one board, or after a position of all, with the place to go on from; until the
    deadline (``time.monotonic``). Without a server, what its workers would do is done here meanwhile."""
    for _ in rounds(deadline):
        with contextlib.suppress(client.Outage):  # the question after it says so when it lasts
            client.tend()
        more = True
        while more:
            found, after, more = page(desk, board, after)
            yield found, after


def page(desk: Desk, board: str | None, after: int, limit: int = PAGE) -> tuple[list[Json], int, bool]:
    """One page of events, the place to go on from, and whether more are there already."""
    path = client.at("boards", board, "events") if board else "/events"
    data = desk.follow(path, {"after": after, "limit": limit}).data
    found: list[Json] = data["events"]
    if data["nextAfter"] is not None:
        return found, int(data["nextAfter"]), True
    if board is None:
        return found, max(after, int(data["position"])), False
    return found, max([after, *(event["revision"] for event in found)]), False


def present(desk: Desk, board: str | None) -> int:
    """The place of the last event: only what comes after it is new."""
    if board is None:
        return int(desk.get("/status").data["position"])
    return int(desk.get(client.at("boards", board, "events"), {"after": LAST, "limit": 1}).data["sourceRevision"])


# --- one line --------------------------------------------------------------------------------------------------------

ABOUT: Final = ("messageId", "contractId", "taskId", "evidenceId", "blockerId", "requirementId")
WHO: Final = ("nodeId", "fromNode", "offeredTo", "name", "to")
STATE: Final = ("messageType", "answer", "status", "finalStatus", "verdict", "outcome", "role", "adapter")
TEXTS: Final = ("content", "note", "summary", "objective", "title", "reason", "resolution")


def one_line(event: Json) -> str:
    """An event in one line: where, what, who, about what, and the beginning of what was said."""
    where = f"{event['boardId'] or 'home'} r{event['revision']}"
    return f"{event['at']}  {line(where)}  {kind(event)}  {line(event['actor'])}: {said(event)}"


def kind(event: Json) -> str:
    """The event's name without what all names begin with."""
    return line(str(event["type"]).removeprefix(PREFIX))


def said(event: Json) -> str:
    """What it is about, in the data's own words; what came through the board folder is marked."""
    data = event["data"] or {}
    words = [_word(data[name]) for names in (ABOUT, STATE, WHO) for name in names if data.get(name)]
    text = next((data[name] for name in TEXTS if isinstance(data.get(name), str) and data[name]), "")
    mark = ["(unverified)"] if data.get("trust") == UNPROVEN else []
    return " ".join([*mark, *words, *([f"\N{EM DASH} {line(brief(text))}"] if text else [])])


def _word(value: object) -> str:
    return line(", ".join(map(str, value)) if isinstance(value, list) else value)
