"""Plain facts for the tests of evidence."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Event:
    timestamp: str
    type: str
    data: dict[str, Any] = field(default_factory=dict)


def encoded(name: str) -> list[dict[str, Any]]:
    """The cases of a data file: base64 of JSON per line, so that scanners do not take fake secrets for live ones."""
    return [json.loads(base64.b64decode(line)) for line in (DATA / name).read_text("ascii").split()]
