"""How often each actor may ask: a token bucket per node, and one for the person at the command line.

The panel is not counted: its own pages fetch many regions at once, and no agent has its cookie.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple


class Rate(NamedTuple):
    """So many requests at once, then so many a second."""

    burst: int
    per_second: int


RATES: Final[dict[str, Rate]] = {"node": Rate(100, 50), "person": Rate(400, 200)}
"""For a node with its token, by TCP or by the unix socket; for the person on the unix socket."""
MOST_KEPT: Final = 1024
"""Buckets in memory. The one that was used longest ago goes first, and is as good as full by then."""


class Buckets:
    """The buckets of one server. Touched only on the event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, node_id: str | None) -> int:
        """Takes one request of this node (None: the person); 0, or in how many whole seconds to ask again."""
        rate = RATES["person" if node_id is None else "node"]
        now, key = self._clock(), node_id or ""
        level, since = self._levels.pop(key, (float(rate.burst), now))
        level = min(float(rate.burst), level + (now - since) * rate.per_second)
        wait = 0 if level >= 1 else math.ceil((1 - level) / rate.per_second)
        self._levels[key] = (level if wait else level - 1, now)
        if len(self._levels) > MOST_KEPT:
            self._levels.popitem(last=False)
        return wait
