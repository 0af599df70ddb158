"""Tags of the panel. What agents wrote passes through ``said`` (or, inside attributes, through ``visible``)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from boards import texts
from boards.times import iso

register = template.Library()

SOCKET_EVENTS: Final = {
    "message": "htmx:after:ws:message",
    "open": "htmx:after:ws:connection",
    "closed": "htmx:ws:close",
}
"""What the htmx in use calls its socket's events; 4.0.1 has other names, and this is the one place to change."""


@register.simple_tag
def socket_event(name: str) -> str:
    """The name of a socket event for ``hx-trigger`` and for our own script."""
    return SOCKET_EVENTS[name]


@register.filter
def visible(text: object) -> str:
    """Agents' text for an attribute: invisible characters are named; Django escapes the rest."""
    return texts.visible("" if text is None else text)


@register.simple_tag
def said(text: object) -> SafeString:
    """Agents' text for the page: escaped, its direction isolated, and nothing in it is looked at by htmx."""
    return format_html("<bdi hx-ignore>{}</bdi>", visible(text))


@register.simple_tag(takes_context=True)
def ago(context: dict[str, Any], moment: datetime | None) -> SafeString:
    """How long ago, with the exact time on hover."""
    return _time(moment, texts.ago(moment, context["at"]) if moment else "")


@register.simple_tag
def clock(moment: datetime | None) -> SafeString:
    """The time of day, with the exact time on hover."""
    return _time(moment, f"{moment:%H:%M}" if moment else "")


def _time(moment: datetime | None, shown: str) -> SafeString:
    if moment is None:
        return SafeString("")
    return format_html('<time datetime="{0}" title="{0}">{1}</time>', iso(moment), shown)


@register.filter
def size(count: int | None) -> str:
    """``12,345,678 bytes``."""
    return "" if count is None else f"{count:,} bytes"
