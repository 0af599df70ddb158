"""Verification of plain facts: what a bundle states is looked at, and each look gives a verdict and a sentence.

Nothing here reads the database or changes anything. A check that cannot be made is `unavailable` or `unverified`,
never `verified`. Details name paths relative to their root only.
"""

from evidence.checks.bundle import ArtifactFact, BundleFacts, EventFact, run
from evidence.checks.events import check_event
from evidence.checks.files import MAX_HASHED_BYTES, check_file
from evidence.checks.urls import check_url
from evidence.checks.verdicts import Check, Verdict, bundle_verdict

__all__ = [
    "MAX_HASHED_BYTES",
    "ArtifactFact",
    "BundleFacts",
    "Check",
    "EventFact",
    "Verdict",
    "bundle_verdict",
    "check_event",
    "check_file",
    "check_url",
    "run",
]
