"""Loaded before everything else (``-p tests.homes``): scratch homes, before Django's settings can be read.

Nothing of the developer's own homes may be touched by a test.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_HOMES = Path(tempfile.mkdtemp(prefix="agentlink-tests-"))
atexit.register(shutil.rmtree, _HOMES, ignore_errors=True)
for _name in [name for name in os.environ if name.startswith("AGENTLINK_")]:
    del os.environ[_name]
os.environ["AGINTIFLOW_HOME"] = str(_HOMES / "aginti")
os.environ["AGENTLINK_HOME"] = str(_HOMES / "agentlink")
