"""Every route of the API but ``status``. Views build what they are asked for; commands decide, queries answer."""

from __future__ import annotations

from boards.api.routes import reading, writing
from boards.api.routes.base import router

__all__ = ["reading", "router", "writing"]
