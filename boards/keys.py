"""How rows are keyed that belong to two things, and how names are compared."""

from __future__ import annotations

import unicodedata
from typing import Final


def pair(left: str, right: str) -> str:
    """The key of a row that belongs to two things."""
    return f"{left}:{right}"


def name_key(name: str) -> str:
    """Names are unique without regard to case."""
    return " ".join(name.casefold().split())


ALIKE: Final = str.maketrans(
    "01I|_"  # in ASCII itself; case is folded afterwards, so that only the capital I is an l
    "\N{HYPHEN}\N{NON-BREAKING HYPHEN}\N{FIGURE DASH}\N{EN DASH}\N{EM DASH}\N{MINUS SIGN}\N{HYPHEN BULLET}"
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u051b\u051d\u04bb\u04cf"  # Cyrillic, small
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405"  # Cyrillic, capital
    "\u03b1\u03b9\u03bd\u03bf\u03c1"  # Greek, small
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",  # Greek, capital
    "olll--------aeopcyxijsdqwhlabekmhopctxljsaivopabezhlkmnoptyx",
)
"""Letters that people take for another one. A table of our own: names are ASCII, so a package that knows all of
Unicode would add thousands of pairs that cannot occur and miss those that can (1 and l, rn and m)."""
PAIRS: Final = (("rn", "m"), ("vv", "w"))


def look(name: str) -> str:
    """How a name looks: two names with one look would be taken for each other."""
    plain = name if name.isascii() else unicodedata.normalize("NFKC", name)
    seen = "".join(sign for sign in plain if unicodedata.category(sign) not in ("Cc", "Cf", "Mn", "Cn", "Co"))
    folded = "-".join(seen.translate(ALIKE).casefold().split())
    for pair_of_letters, one in PAIRS:
        folded = folded.replace(pair_of_letters, one)
    return folded
