"""AgInTiFlow's own redaction rules, needed only to reproduce the ids that it derives from redacted diffs.

These rules miss most secrets: never show text that went through them alone. Source: `src/redaction.js` of AgInTiFlow
0.20.203, described in words; its own vectors are in the tests.
"""

from __future__ import annotations

import re2

_MARK = "[REDACTED]"
_KEYS = (
    "api_key|api-key|apikey|token|secret|password|passwd|npm_token|_authToken|grsai|venice_api_key|openrouter_api_key"
)
_RULES = tuple(
    (re2.compile(pattern), replacement)
    for pattern, replacement in (
        (r"sk-or-v1-[\w-]{16,}", _MARK),
        (r"sk-[\w-]{16,}", _MARK),
        (r"github_pat_\w{20,}", _MARK),
        (r"gh[pousr]_\w{20,}", _MARK),
        (rf"(?i)((?:{_KEYS})[ \t]*[=:][ \t]*)[^\s\"']+", rf"\1{_MARK}"),
        (r"(?i)(Authorization:[ \t]*Bearer[ \t]+)[^\s\"']+", rf"\1{_MARK}"),
    )
)


def redact_as_agintiflow(text: str) -> str:
    """The text as AgInTiFlow would have redacted it (idempotent enough for hashing, not for showing)."""
    for rule, replacement in _RULES:
        text = rule.sub(replacement, text)
    return text
