"""Plain facts for the tests of evidence."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evidence.redaction import RedactionContext, redact

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Event:
    timestamp: str
    type: str
    data: dict[str, Any] = field(default_factory=dict)


def encoded(name: str) -> list[dict[str, Any]]:
    """The cases of a data file: base64 of JSON per line, so that scanners do not take fake secrets for live ones."""
    return [json.loads(base64.b64decode(line)) for line in (DATA / name).read_text("ascii").split()]


def cleaner(context: RedactionContext = RedactionContext()) -> Callable[[str], str]:
    """The redactor as a plain function from text to text, for what takes a `clean`."""
    return lambda text: redact(text, context=context).text
