"""Commands: the one way to change anything. ``execute(command, actor) -> Receipt``."""

from __future__ import annotations

from boards.commands.execution import execute, repeated, service
from boards.commands.identity import ensure_identity

__all__ = ["ensure_identity", "execute", "repeated", "service"]
