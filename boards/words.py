"""The fixed words and limits of the domain (source: the rules of the domain; `docs/rules.md`).

Tables only: no logic, so that everything above may read them.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final, Literal

ID: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
"""What AgentLink itself makes (to be matched from the start). ``..`` is refused besides."""
BOARD_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}\Z")
"""What AgInTiFlow makes, for the boards that were its own. ``..`` is refused besides."""
SLUG_LENGTH: Final = 48

Role = Literal["observer", "worker", "supervisor", "human"]
ROLES: Final[tuple[Role, ...]] = ("observer", "worker", "supervisor", "human")

Trust = Literal[
    "self",
    "same-user-local",
    "same-project-local",
    "manual-ssh-peer",
    "trusted-team-relay",
    "untrusted-imported-summary",
]
"""Most trusted first."""

MessageType = Literal[
    "status_request",
    "status_response",
    "task_request",
    "task_claim",
    "task_update",
    "task_done",
    "task_blocked",
    "evidence_attached",
    "handoff_summary",
    "permission_request",
    "permission_denied",
    "permission_granted",
    "contract_proposed",
    "contract_accepted",
    "contract_rejected",
    "stop_request",
]
REQUIRES_ACK: Final[frozenset[str]] = frozenset(
    {"task_request", "contract_proposed", "permission_request", "stop_request"}
)
"""Types that ask for an acknowledgement unless the sender says otherwise."""
REQUESTS: Final[frozenset[str]] = REQUIRES_ACK | {"status_request"}
"""Types that count as an unanswered request until they are acknowledged."""
OBSERVER_TYPES: Final[frozenset[str]] = frozenset({"status_request", "status_response"})

Priority = Literal["low", "normal", "high", "asap"]
Answer = Literal["accepted", "blocked", "needs_clarification", "evidence", "read"]
FINAL_STEPS: Final[frozenset[str]] = frozenset({"acknowledged", "expired", "undeliverable", "withdrawn", "refused"})
"""Steps that nothing follows."""
OPEN_STEPS: Final = ("queued", "handed", "applied")
"""Steps that an answer may still follow."""
STEP_ORDER: Final[dict[str, int]] = {"queued": 0, "handed": 1, "applied": 2, "acknowledged": 3}

Verdict = Literal["unverified", "verified", "rejected", "stale", "unavailable"]

TEXT_LIMIT: Final = 200_000
"""Bytes of UTF-8 in one text; more is an error that says so, never a cut."""
TITLE_LIMIT: Final = 200
LIST_LIMIT: Final = 100
BOARD_ROOM: Final[dict[str, tuple[str, int]]] = {
    "Member": ("members", 200),
    "Contract": ("contracts", 5_000),
    "Blocker": ("blockers", 2_000),
    "Evidence": ("pieces of evidence", 20_000),
}
"""How much one board holds, so that nobody can fill it without end: the word for it, and the most."""
LEASE_DEFAULT: Final = timedelta(minutes=30)
LEASE_MIN: Final = timedelta(minutes=1)
LEASE_MAX: Final = timedelta(hours=24)
LEASE_WARNING: Final = timedelta(minutes=3)
"""A lease that ends within this time is shown in "Needs you"."""
ACK_OVERDUE: Final = timedelta(minutes=10)
"""A handed message that wants an acknowledgement is overdue after this time."""

HOPS_LIMIT: Final = 8
SAME_TEXT_WINDOW: Final = timedelta(seconds=3)
BURST_LIMIT: Final = 20
BURST_WINDOW: Final = timedelta(seconds=10)
UNANSWERED_LIMIT: Final = 5
REQUEST_WINDOW: Final = timedelta(hours=1)
"""A request that asks for no acknowledgement counts as unanswered for this long."""

SERVICE_NODE: Final = "agentlink"
"""Acts for timers and for what the board finds by itself."""
HOME_STREAM: Final = ""
"""How the log's home stream (``boardId: null``) is keyed in the database."""

Surface = Literal["panel", "api", "cli", "mcp", "folder", "timer"]
