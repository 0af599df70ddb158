"""Logging: one JSON object a line on stderr. Query strings and headers never get in."""

from __future__ import annotations

from typing import Any

import structlog

SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]


def configure_structlog() -> None:
    """Our own log calls take the same way as those of Django, daphne and Twisted."""
    structlog.configure(
        processors=[*SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def logging_config(level: str) -> dict[str, Any]:
    """Django's LOGGING. JSON escapes control characters, so hostile text cannot write to the terminal."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.JSONRenderer(),
                ],
                "foreign_pre_chain": SHARED,
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": level.upper()},
        "loggers": {
            # Django's own handlers would print each record a second time.
            "django": {"handlers": [], "level": level.upper(), "propagate": True},
            # Refused requests are answered, not worth a line; errors are.
            "django.request": {"level": "ERROR"},
            "django.security": {"level": "ERROR"},
            "daphne": {"level": "ERROR" if level in ("warning", "error") else "WARNING"},
            "asyncio": {"level": "WARNING"},
        },
    }


def access(protocol: object, action: str, details: dict[str, Any]) -> None:
    """daphne's action log: one line a request at level info, the path without its query string."""
    structlog.get_logger("agentlink.access").info(
        f"{getattr(protocol, 'application_type', 'http')} {action}",
        method=details.get("method"),
        path=str(details.get("path", "")).partition("?")[0],
        status=details.get("status"),
    )
