"""The first page of an inbox of ten thousand messages, against the raw SQL of the same page.

``python -m tests.bench.inbox FOLDER SAMPLES`` is the process on the big home.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.bench.aside import begun, settle, told_by
from tests.bench.asking import Wanted, answered
from tests.bench.figures import Figure, percentile, spread
from tests.crowd import Crowd

MOST_MS: Final = 300.0
MOST_TIMES: Final = 10.0
LIMIT: Final = 50
TARGET: Final = f"/api/agentlink/inbox?state=open&limit={LIMIT}"
SQL: Final = """
SELECT m.*, d.* FROM boards_delivery d JOIN boards_message m ON m.message_id = d.message_id
WHERE d.node_id = ? AND d.step IN ('queued', 'handed', 'applied') AND (d.step = 'queued' OR m.requires_ack)
ORDER BY m.priority IN ('high', 'asap') DESC, m.position DESC LIMIT ?
"""
COUNT: Final = "SELECT count(*) FROM boards_delivery WHERE node_id = ? AND step = 'queued'"


def measure(big: Crowd, *, samples: int) -> tuple[list[Figure], list[str]]:
    """The 95th percentile of both."""
    return judged(*told_by("tests.bench.inbox", big, samples))


def judged(ours: list[float], floor: list[float]) -> tuple[list[Figure], list[str]]:
    """The table's line, and both distributions."""
    name = "first page of the inbox with every message of the big board, p95"
    told = [f"inbox page: {spread(ours, 'ms')}", f"raw SQL of the same page: {spread(floor, 'ms')}"]
    times = (percentile(ours, 0.95), percentile(floor, 0.95))
    return [Figure(name, "ms", *times, most_ratio=MOST_TIMES, most=MOST_MS)], told


def main() -> None:
    """Prints the milliseconds of both, in turns."""
    big, (samples,) = begun()
    from django.conf import settings

    from tests.bench import statements

    raw = statements.plain(Path(settings.DATABASES["default"]["NAME"]))
    wanted = Wanted(TARGET, big.lead)
    rows = raw.execute(SQL, (big.lead, LIMIT)).fetchall()
    shown = json.loads(answered(wanted).content)["inbox"]
    if [row[0] for row in rows] != [copy["messageId"] for copy in shown]:
        raise RuntimeError("The raw SQL finds another page than the API shows; the floor must be written anew.")

    def floor() -> None:
        raw.execute(SQL, (big.lead, LIMIT)).fetchall()
        raw.execute(COUNT, (big.lead,)).fetchall()

    settle()
    turns = [(_timed(lambda: answered(wanted)), _timed(floor)) for _ in range(samples)]
    print(json.dumps(list(zip(*turns, strict=True))))


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    main()
