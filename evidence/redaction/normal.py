"""Text without what the eye does not see: terminal sequences, control, zero-width and bidi characters.

Matching on anything else would let an invisible character split a secret in two, so the stripped text is also what is
kept. The result holds none of the stripped characters, so normalising twice changes nothing.
"""

from __future__ import annotations

import re

# ESC sequences or their one-character C1 forms: strings (OSC, DCS, SOS, PM, APC) up to their end, at most to the end
# of the line; CSI; the two-character ones. Each part excludes what ends it, so matching is linear.
_TERMINAL = re.compile(
    "(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"
    "|\x1b[ -/]*[0-~]?"
)
_INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 but tab, newline and return; DEL; C1
    "\u00ad\u034f\u061c\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, Arabic mark, Khmer, Mongolian selectors
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f"  # zero width, bidi marks, embeddings, isolates
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb"  # variation selectors, byte order mark, annotations
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # musical controls, tags, more variation selectors
    "]+"
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(text: str) -> str:
    """Strip invisible characters and replace lone surrogates by U+FFFD."""
    if not text.isascii():
        text = _SURROGATE.sub("\ufffd", text)
    elif not _INVISIBLE.search(text):
        return text
    return _INVISIBLE.sub("", _TERMINAL.sub("", text))
