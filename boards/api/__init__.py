"""The JSON API: ``router`` with every route, and what the site needs to mount it."""

from __future__ import annotations

from boards.api.reading import TOO_LARGE, JsonParser, Malformed
from boards.api.replies import malformed, problem, refused
from boards.api.routes import router

__all__ = ["TOO_LARGE", "JsonParser", "Malformed", "malformed", "problem", "refused", "router"]
