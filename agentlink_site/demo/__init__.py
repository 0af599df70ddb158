"""`agentlink demo`: a home of its own, filled with an example, on which a small story is played while the server runs.

Everything lives in one scratch folder that is removed at the end. The user's own homes are neither read nor written.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from pathlib import Path
from typing import Final

from agentlink_site import running, server
from agentlink_site.demo.example import Example, lay_out

KEPT: Final = frozenset({"AGENTLINK_LOG_LEVEL", "AGENTLINK_HOST"})
"""Settings of the user that may reach into the demo; a database, a mode or a node of theirs must not."""


def run(port: int | None = None, open_browser: bool = True, keep: bool = False) -> int:
    """Lays out the example, serves it and plays the story until SIGINT or SIGTERM; returns the exit status.

    ``port``: 0 is any free one, None the usual one or the next free one. ``keep`` leaves the scratch folder in place.
    Must be called before Django's settings are read. Raises ConfigError when no port can be used.
    """
    os.umask(0o077)
    scratch = Path(tempfile.mkdtemp(prefix="agentlink-demo-")).resolve()
    signal.signal(signal.SIGTERM, _interrupt)  # until the server has its own
    try:
        print(f"The demo lives in {scratch}; your own homes are left alone.", flush=True)
        return _serve(scratch, port, open_browser)
    except KeyboardInterrupt:
        return 0
    finally:
        _leave(scratch, keep)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _serve(scratch: Path, port: int | None, open_browser: bool) -> int:
    example = lay_out(scratch)
    home = _enter(example)
    stop = threading.Event()
    player = threading.Thread(target=_play, args=(example, home, stop), name="demo", daemon=True)
    player.start()
    try:
        return server.up(port=port, open_browser=open_browser)
    finally:
        stop.set()
        player.join(5.0)


def _play(example: Example, home: Path, stop: threading.Event) -> None:
    """The story, once the server is ready: before that Django is not."""
    while running.read(home) is None:
        if stop.wait(0.1):
            return
    from agentlink_site.demo import player

    player.play(example, home, stop)


def _enter(example: Example) -> Path:
    """Makes the scratch folder this process's only home; returns AgentLink's."""
    home = example.agintiflow / "agentlink"
    for name in [name for name in os.environ if name.startswith("AGENTLINK_") and name not in KEPT]:
        del os.environ[name]
    os.environ |= {"AGENTLINK_HOME": str(home), "AGINTIFLOW_HOME": str(example.agintiflow)}
    return home


def _leave(scratch: Path, keep: bool) -> None:
    """Removes the scratch folder; a second Ctrl-C must not leave half of it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if keep:
        home = scratch / "agintiflow"
        print(f"The demo is kept in {scratch}. See it again with:", flush=True)
        print(f"  AGINTIFLOW_HOME={home} AGENTLINK_HOME={home / 'agentlink'} agentlink up", flush=True)
        return
    shutil.rmtree(scratch, ignore_errors=True)
    left = "could not be removed whole" if scratch.exists() else "is removed"
    print(f"The demo's folder {scratch} {left}.", flush=True)
