"""A clock that tests move by hand: the commands' present is the real one plus what was added."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from boards import log, times


class Clock:
    """The real present, moved forward."""

    def __init__(self) -> None:
        self.frozen = times.now()

    def move(self, seconds: float) -> None:
        """Lets time pass."""
        self.frozen += timedelta(seconds=seconds)

    def __call__(self) -> datetime:
        return self.frozen


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Time stands still unless a test moves it."""
    clock = Clock()
    monkeypatch.setattr(log, "now", clock)
    return clock
