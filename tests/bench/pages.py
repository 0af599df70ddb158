"""The first page of everything on a big home: server time in a warm process that has nothing of it in memory yet.

Each sample is a fork of one process that has answered the same kinds of requests for a small board: its modules and
templates are loaded, its caches know nothing of the big board. ``python -m tests.bench.pages FOLDER SAMPLES`` is the
process on that home.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import statistics
import time
from collections.abc import Callable, Iterable
from multiprocessing import get_context
from typing import Any, Final

from tests.bench.aside import begun, settle, told_by
from tests.bench.asking import Wanted, answered
from tests.bench.figures import Figure, number
from tests.crowd import Crowd

MOST_MS: Final = 300.0
API: Final = "/api/agentlink"
Times = dict[str, dict[str, list[list[float]]]]
"""Group of pages -> page -> samples of (milliseconds, milliseconds of the floor, bytes, statements)."""


def measure(big: Crowd, *, samples: int) -> tuple[list[Figure], list[str]]:
    """Of each group of pages the slowest; the others are told behind them."""
    found: Times = told_by("tests.bench.pages", big, samples)
    return judged(found)


def judged(found: Times) -> tuple[list[Figure], list[str]]:
    """The table's line for each group, and a note with all its pages."""
    return [_slowest(group, pages) for group, pages in found.items()], [_all(*item) for item in found.items()]


def _slowest(group: str, pages: dict[str, list[list[float]]]) -> Figure:
    page = max(pages, key=lambda name: _median(pages[name], 0))
    ours, floor = (_median(pages[page], place) for place in (0, 1))
    name = f"first page: {group}" if len(pages) == 1 else f"first page: {group}, the slowest ({page})"
    return Figure(name, "ms", ours, floor, most=MOST_MS)


def _all(group: str, pages: dict[str, list[list[float]]]) -> str:
    """Milliseconds and statements of each page, the slowest first."""
    ordered = sorted(pages.items(), key=lambda item: -_median(item[1], 0))
    told = [f"{name} {number(_median(found, 0))} ms/{_median(found, 3):.0f}" for name, found in ordered]
    return f"first page, {group} (ms/statements): {', '.join(told)}"


def _median(samples: list[list[float]], place: int) -> float:
    return statistics.median(sample[place] for sample in samples)


# --- the process on the big home --------------------------------------------------------------------------------------


def groups(board_id: str, example: Callable[[str], str]) -> dict[str, dict[str, Wanted]]:
    """Every page that has a first one. ``example``: a value for a parameter in an address of the API."""
    from boards.views.regions import BOARD_REGIONS, HOME_REGIONS

    base = f"/boards/{board_id}/"
    return {
        "home": {"home": Wanted("/")},
        "board": {"board": Wanted(base)},
        "regions of the home": {name: Wanted(f"/regions/{name}") for name in HOME_REGIONS},
        "regions of the board": {name: Wanted(f"{base}regions/{name}") for name in BOARD_REGIONS},
        "API": {path: Wanted(API + _filled(path, board_id, example)) for path in sorted(routes())},
    }


def routes() -> Iterable[str]:
    """Every address of the API that can be read, below its base."""
    from agentlink_site.api import api

    paths = api.get_openapi_schema()["paths"]
    return [path.removeprefix(API) for path, methods in paths.items() if "get" in methods]


def _filled(path: str, board_id: str, example: Callable[[str], str]) -> str:
    filled = path.replace("{board_id}", board_id)
    return re.sub(r"/(\w+)/\{\w+\}", lambda found: f"/{found[1]}/{example(found[1])}", filled)


def examples(board_id: str) -> Callable[[str], str]:
    """The newest thing of each kind on a board, by the word that stands before its id in an address."""
    from boards.models import Blocker, Contract, Evidence, Message, Task
    from peers.queries import session_ids

    kinds: dict[str, Any] = {
        "contracts": Contract, "tasks": Task, "messages": Message, "evidence": Evidence, "blockers": Blocker,
    }  # fmt: skip

    def example(word: str) -> str:
        if word == "sessions":
            return session_ids()[-1]
        found = kinds[word].objects.filter(board_id=board_id).order_by("-revision").first()
        return str(found.pk) if found else "none"

    return example


def main() -> None:
    """Prints :data:`Times`."""
    big, (samples,) = begun()
    from django.db import connection

    small = groups(big.small_id, examples(big.small_id))
    for pages in small.values():
        for one in pages.values():
            answered(one)
    wanted = groups(big.board_id, examples(big.board_id))
    settle()
    connection.close()  # a SQLite connection must not be carried across a fork
    pairs = {group: {name: (small[group][name], one) for name, one in pages.items()} for group, pages in wanted.items()}
    print(json.dumps({group: _sampled(pages, samples) for group, pages in pairs.items()}))


Pair = tuple[Wanted, Wanted]
"""A page of the small board and the same of the big one; at home twice the same."""


def _sampled(pages: dict[str, Pair], samples: int) -> dict[str, list[list[float]]]:
    return {name: [_in_fork(pair) for _ in range(samples)] for name, pair in pages.items()}


def _in_fork(pair: Pair) -> list[float]:
    here, there = get_context("fork").Pipe(duplex=False)
    pid = os.fork()
    if not pid:
        status = 1
        try:
            there.send(_sample(*pair))
            status = 0
        finally:
            os._exit(status)
    there.close()
    try:
        sample: list[float] = here.recv()
    except EOFError:
        raise RuntimeError(f"{pair[1].target} could not be measured; see above.") from None
    finally:
        os.waitpid(pid, 0)
    return sample


def _sample(small: Wanted, wanted: Wanted) -> list[float]:
    """The small board's page first: it touches what the fork shares with its parent, which costs more than reading."""
    from tests.bench.statements import recording

    answered(small)
    _forget()
    ours, response = _timed(lambda: answered(wanted))
    if response.status_code != 200:
        raise RuntimeError(f"{wanted.target} was answered with {response.status_code}.")
    body, kind = response.content, response.headers["Content-Type"]
    answered(wanted, bare=(body, kind))
    floor, _ = _timed(lambda: answered(wanted, bare=(body, kind)))
    _forget()
    with recording() as seen:
        answered(wanted)
    return [ours, floor, len(body), len(seen)]


def _forget() -> None:
    """What regions are in memory are those of another start from now on."""
    from boards.views import regions

    regions.START = secrets.token_hex(4)  # type: ignore[misc]


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    done = work()
    return (time.perf_counter() - start) * 1000, done


if __name__ == "__main__":
    main()
