"""`agentlink` that also notes when it begins to ring: one line per round, nanoseconds of the monotonic clock."""

import os
import time

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentlink_site.settings")

from agentlink_site import asgi  # noqa: F401  (Django is set up)
from agentlink_site.cli import main
from boards import live

NOTES = os.environ["RING_NOTES"]
ring = live.Registry._ring


def noting(self: live.Registry, frames: dict[str, str]) -> None:
    began = time.monotonic_ns()
    ring(self, frames)
    with open(NOTES, "a", encoding="utf-8") as notes:
        notes.write(f"{began} {' '.join(frames)}\n")


live.Registry._ring = noting  # type: ignore[method-assign]
main()
