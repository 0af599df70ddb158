"""Whether a process of this machine is alive, and is still the one that somebody wrote down."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

# Clock ticks and the boot time are rounded: a start this much after the record is still the same process.
START_SLACK_SECONDS = 2.0


def is_alive(pid: int) -> bool:
    """True when `pid` exists (somebody else's counts) and is no zombie."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return _stat_fields(pid)[:1] != ["Z"]


def was_alive_at(pid: int, moment: float) -> bool:
    """True when `pid` is alive and, where the system tells, started no later than `moment` (seconds since 1970).

    A pid that was given to a new process since is not proof of the old one's life.
    """
    if not is_alive(pid):
        return False
    started = started_at(pid)
    return started is None or started <= moment + START_SLACK_SECONDS


def started_at(pid: int) -> float | None:
    """When the process started, in seconds since 1970; None where /proc does not tell."""
    fields = _stat_fields(pid)
    boot = _boot_time()
    if len(fields) < 20 or boot is None:
        return None
    return boot + int(fields[19]) / os.sysconf("SC_CLK_TCK")


def _stat_fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on (the name before it may hold spaces and brackets)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []


@lru_cache(maxsize=1)
def _boot_time() -> float | None:
    try:
        lines = Path("/proc/stat").read_text().split("\n")
    except OSError:
        return None
    return next((float(line.split()[1]) for line in lines if line.startswith("btime ")), None)
