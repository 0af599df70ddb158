"""``docs/performance.md``, written by the bench itself."""

from __future__ import annotations

from pathlib import Path

from tests.bench.figures import Figure, table


def write(*_: object) -> None: ...
