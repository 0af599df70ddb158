"""Text without what the eye does not see, and how a reader sees what only looks like ASCII.

Matching on anything else would let an invisible character split a secret in two, so the stripped text is also what is
kept. The result holds none of the stripped characters, so normalising twice changes nothing.
"""

from __future__ import annotations

import re
import unicodedata

import re2

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
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, marks, fillers, selectors
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f"  # zero width, bidi marks, embeddings, isolates
    "\u3164\uffa0\ufe00-\ufe0f\ufeff\ufff9-\ufffb"  # fillers, variation selectors, byte order mark, annotations
    "]+"
    "|[\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"  # musical controls, tags, more variation selectors
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(text: str) -> str:
    """Strip invisible characters, make odd line ends plain, and replace lone surrogates by U+FFFD."""
    if not text.isascii():
        text = _SURROGATE.sub("\ufffd", text).replace("\u2028", "\n").replace("\u2029", "\n")
    elif not _INVISIBLE.search(text):
        return text
    return _INVISIBLE.sub("", _TERMINAL.sub("", text))


_LOOK_ALIKES = (
    "\u0430a\u0435e\u043eo\u0440p\u0441c\u0443y\u0445x\u0456i\u0458j\u0455s\u04bbh\u0501d\u051bq\u051dw"  # Cyrillic
    "\u0410A\u0412B\u0415E\u041aK\u041cM\u041dH\u041eO\u0420P\u0421C\u0422T\u0423Y\u0425X\u0406I\u0408J\u0405S"
    "\u0391A\u0392B\u0395E\u0396Z\u0397H\u0399I\u039aK\u039cM\u039dN\u039fO\u03a1P\u03a4T\u03a5Y\u03a7X"  # Greek
    "\u03bfo\u03b1a\u03b9i\u03bak\u03bdv\u03c1p\u03c5u\u0131i\u0261g\u017fs\u212aK"
)
_SIGNS = {
    " ": "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\u2800",
    '"': "\u201c\u201d\u201e\u00ab\u00bb\uff02\u300c\u300d\u300e\u300f",
    "'": "\u2018\u2019\u201a\uff07\u2039\u203a",
    "-": "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d",
    "/": "\u2044\u2215\uff0f",
    ":": "\ufe55\uff1a\ua789",
    "=": "\uff1d",
    "@": "\uff20",
    "_": "\uff3f",
    ",": "\uff0c\u3001",
    ";": "\uff1b",
    ".": "\uff0e\u3002",
    "(": "\uff08\u3010",
    ")": "\uff09\u3011",
}
_COMPATIBLE = (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B),
               *range(0x24B6, 0x24EA), *range(0x1D400, 0x1D800))  # fmt: skip


def _table() -> dict[int, str]:
    letters = dict(zip(map(ord, _LOOK_ALIKES[::2]), _LOOK_ALIKES[1::2], strict=True))
    for code in _COMPATIBLE:
        plain = unicodedata.normalize("NFKC", chr(code))
        if len(plain) == 1 and plain.isascii():
            letters[code] = plain
    return letters


_SEEN_AS = _table()
_SEEN_SIGNS = {ord(sign): plain for plain, signs in _SIGNS.items() for sign in signs}
# Two classes: one with characters beyond the basic plane would be searched through item by item.
_FOREIGN = re.compile(f"[{''.join(chr(code) for code in _SEEN_AS if code < 0x10000)}]|[\U0001d400-\U0001d7ff]")
_SEEN_SIGN = re.compile(f"[{''.join(map(chr, _SEEN_SIGNS))}]")
_COMPATIBLE_SET = frozenset(map(chr, _COMPATIBLE))
_FOREIGN_CLASS = "".join(chr(code) for code in _SEEN_AS if code < 0x1D400) + "\U0001d400-\U0001d7ff"
_MIXED = re2.compile(f"[A-Za-z0-9_-]*[{_FOREIGN_CLASS}][A-Za-z0-9_{_FOREIGN_CLASS}-]*".encode())


def as_seen(text: str) -> str:
    """The text with spaces, signs and letters that only look like ASCII as ASCII, one for one.

    Only words in which all other letters are ASCII count: words of other scripts stay as they are.
    """
    if text.isascii():
        return text
    if _SEEN_SIGN.search(text):
        text = text.translate(_SEEN_SIGNS)
    return _plain_words(text) if _FOREIGN.search(text) else text


def _plain_words(text: str) -> str:
    pieces: list[bytes] = []
    data, end = text.encode(), 0
    for match in _MIXED.finditer(data):
        start, stop = match.span()
        word = data[start:stop].decode()
        if _is_mixed(word) and not (_letter_before(data, start) or _letter_after(data, stop)):
            pieces += (data[end:start], word.translate(_SEEN_AS).encode())
            end = stop
    return b"".join((*pieces, data[end:])).decode() if pieces else text


def _is_mixed(word: str) -> bool:
    return word[0] in _COMPATIBLE_SET or any(char.isascii() and char.isalnum() for char in word)


def _letter_before(data: bytes, at: int) -> bool:
    return at > 0 and data[at - 1] >= 0x80 and data[max(0, at - 4) : at].decode("utf-8", "ignore")[-1:].isalpha()


def _letter_after(data: bytes, at: int) -> bool:
    return at < len(data) and data[at] >= 0x80 and data[at : at + 4].decode("utf-8", "ignore")[:1].isalpha()


def as_written(cleaned: str, placeholder: re.Pattern[str], seen: str, text: str) -> str:
    """What the rules have left of `seen`, as `text` has it: each part as it was or as a reader sees the same."""
    parts: list[str] = []
    at = end = 0
    for match in (*placeholder.finditer(cleaned), None):
        left = cleaned[at : match.start() if match else len(cleaned)]
        found = seen.find(left, end)
        if found >= 0:
            end = found + len(left)
        parts += (text[found:end] if found >= 0 else left, match.group() if match else "")
        at = match.end() if match else at
    return "".join(parts)
