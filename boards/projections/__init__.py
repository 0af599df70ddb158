"""Projections: what each event does to the rows. They read their event and their own row, nothing else.

No clock, no counts of other rows: that is what makes "replay equals state" true, and a test holds it after every test.
"""

from __future__ import annotations

from boards.projections import boards, evidence, home, messages, work
from boards.projections.base import PROJECTORS, apply

__all__ = ["PROJECTORS", "apply", "boards", "evidence", "home", "messages", "work"]
