"""A clock that all processes of one run share, faster than the real one: a lease of a minute ends in half a second."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

SPEED: Final = 120
"""Server seconds in one real second."""
VARIABLE: Final = "TEST_CLOCK"
START: Final = datetime(2030, 1, 1, tzinfo=UTC)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    """``began``: the moment of CLOCK_MONOTONIC (one for the whole machine, in ns) at which it was ``START``."""

    began: int

    def milliseconds(self) -> int:
        """Since 1970, whole ones: what the store keeps, so that its times and ours can be compared."""
        return milliseconds(START) + (time.monotonic_ns() - self.began) * SPEED // 1_000_000

    def __call__(self) -> datetime:
        """In the place of ``boards.times.now``."""
        return _EPOCH + timedelta(milliseconds=self.milliseconds())


def milliseconds(moment: datetime) -> int:
    """Since 1970."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def shared() -> Clock:
    """The clock of this run: its children find it in their environment."""
    began = os.environ.setdefault(VARIABLE, str(time.monotonic_ns()))
    return Clock(int(began))


def install() -> Clock:
    """From now on every part of the product in this process asks the shared clock."""
    from boards import times

    clock, real = shared(), times.now
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in ("boards", "agentlink_site", "peers", "evidence") and vars(module).get("now") is real:
            module.now = clock  # type: ignore[attr-defined]
    return clock
