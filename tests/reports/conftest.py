"""The clock that tests move, and homes for real processes."""

from __future__ import annotations

from tests.boards.conftest import clock as clock
from tests.site.conftest import home as home
