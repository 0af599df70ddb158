"""A part of the bench in a process of its own, on a home of its own: Django's settings are read once per process."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.crowd import Crowd, opened
from tests.site.servers import ROOT, environment

PATIENCE = 300.0


def told_by(module: str, big: Crowd, *arguments: int) -> Any:
    """What ``python -m <module> <folder> <numbers>`` prints as JSON. Raises when it fails."""
    asked = [sys.executable, "-m", module, big.folder, *map(str, arguments)]
    done = subprocess.run(
        asked, env=environment(big.home), cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{module} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def begun() -> tuple[Crowd, list[int]]:
    """The other end: Django on the home, and what was asked."""
    from agentlink_site.server import prepare

    prepare()
    return opened(Path(sys.argv[1])), [int(text) for text in sys.argv[2:]]


def settle() -> None:
    """As the server does when it is ready: what lives now lives on."""
    gc.collect()
    gc.freeze()
