"""How long the redactor takes: 1,000 texts of 8 kB as agents write them, as many of hostile ones, 200 kB of each shape.

`measure()` gives the figures; `python -m tests.evidence.redaction_speed` prints them. No test looks at a time.
"""

from __future__ import annotations

import base64
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evidence.redaction import RedactionContext, redact
from tests.evidence.facts import encoded

CONTEXT = RedactionContext(project_root="/home/fakeuser/code/proj", home="/home/fakeuser", key=b"board")
SMALL, MIDDLE, LARGE = 200, 8_000, 200_000

_LINES = (
    "I ran the tests in tests/boards/test_rules.py and 3 of 214 failed; the lease is renewed too late by one second.\n",
    "def renew(self, lease: Lease, *, now: datetime) -> Receipt:\n    token = self.tokens.get(lease.id)\n",
    '    return {"id": "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "revision": 42, "state": "open", "tokens": 1532}\n',
    "commit 18ac3e7343f016890c510e93f935261169d9e3f5 (HEAD -> main) Fix the reader's offset after a torn line\n",
    "- [x] read docs/api.md, https://docs.djangoproject.com/en/6.0/ref/settings/#secret-key and RFC 9110, section 15\n",
    "2026-03-01T10:22:33.123Z INFO worker-3 processed 128 events in 0.42 s (127.0.0.1:8000), 0 errors\n",
    '  File "/home/fakeuser/code/proj/boards/log.py", line 212, in append\n    raise ConflictError(expected, found)\n',
    "diff --git a/src/app.ts b/src/app.ts\nindex 83db48f..bf2a9c1 100644\n@@ -1,7 +1,7 @@ import { x } from './x';\n",
    "The password field must be at least 12 characters; see `validate_password()` and the settings page.\n",
    "| board | members | open | last event          |\n|-------|---------|------|---------------------|\n",
    "npm warn deprecated inflight@1.0.6: This module is not supported, and leaks memory. Do not use it.\n",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  dist/agentlink-0.2.0.tar.gz\n",
    "    const handler = async (req, res) => { if (!req.user) return res.status(401).json({ error: 'login' }); };\n",
    "We agreed: you take the parser, I take the index. I shall tell you when the contract's evidence is there.\n",
    "$ pytest -q tests/peers  -> 118 passed, 2 warnings in 12.31s; coverage 93 %, slowest test_follow_rotated 1.02s\n",
)
_JUNK = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/-_=.:;,'\"\\ @%&?#\n()[]{}<>|~$é漢"


@dataclass(frozen=True)
class Time:
    """CPU milliseconds of one call: median, 99th percentile, worst; `of` says over which texts."""

    of: str
    p50: float
    p99: float
    worst: float
    count: int


def measure(count: int = 1_000, repeats: int = 3) -> list[Time]:
    """All figures. `count`: texts of the small and middle sizes; `repeats`: runs of each large shape, best of them."""
    redact("warm", context=CONTEXT)
    figures = [
        _timed("agents' text, 200 B", typical(SMALL, count, 1)),
        _timed("agents' text, 8 kB", typical(MIDDLE, count, 2)),
        _timed("hostile text, 8 kB", hostile(MIDDLE, count, 3)),
    ]
    for name, piece in shapes():
        text = _cut(piece, LARGE)
        figures.append(_timed(f"200 kB: {name}", [text] * repeats, best=True))
    return figures


def typical(size: int, count: int, seed: int) -> Iterator[str]:
    """Prose, code, logs, diffs and tables in turn, each text with a few secrets in it."""
    chance = random.Random(seed)
    secrets = [case["text"] + "\n" for case in encoded("redaction.b64") if case["must_hide"]]
    for _ in range(count):
        lines = chance.choices(_LINES, k=size // 60 + 2)
        for _ in range(size // 2_000):
            lines[chance.randrange(min(len(lines), size // 90))] = chance.choice(secrets)
        text = "".join(lines)
        start = chance.randrange(40) if size == SMALL else 0
        yield text[start : start + size]


def hostile(size: int, count: int, seed: int) -> Iterator[str]:
    """Every shape in turn, mixed pieces of shapes, and noise."""
    chance = random.Random(seed)
    pieces = [piece for _, piece in shapes()]
    for number in range(count):
        if number % 3 == 0:
            yield _cut(pieces[number // 3 % len(pieces)], size)
        elif number % 3 == 1:
            yield _cut("".join(chance.choice(pieces)[: chance.randrange(5, 120)] for _ in range(200)), size)
        else:
            yield "".join(chance.choices(_JUNK, k=size))


def shapes() -> list[tuple[str, str]]:
    """Texts that are dense with what rules look for; each is repeated up to the size."""
    chance = random.Random(5)

    def word(length: int) -> str:
        return "".join(chance.choices(_JUNK[:62], k=length))

    secret = [word(36) for _ in range(40)]
    return [
        ("keys", "".join(f"password{n}_token=pw{n}a!\n" for n in range(40))),
        ("keys, one line", "".join(f"api_key={word(9)}4;" for n in range(40))),
        ("JSON keys", "".join(f'"secret_{n}": "{value}", ' for n, value in enumerate(secret))),
        ("tokens", "".join(f"ghp_{value} " for value in secret)),
        ("tokens, no space", "".join(f"ghp_{value}/sk-{value}:" for value in secret)),
        ("random strings", "".join(f"{value}{value[::-1]} " for value in secret)),
        ("paths", "".join(f"/home/u{n}/x{n}.py C:\\Users\\u{n}\\y \\\\srv{n}\\a\\b " for n in range(40))),
        ("project paths", "/home/fakeuser/code/proj/../proj/a/./b.py:1 "),
        ("addresses", "".join(f"10.0.{n}.7 fe80::{n}:1:2:3 u{n}@example.org nas{n}.local " for n in range(40))),
        ("URLs", "".join(f"https://u{n}:p{n}w@example.org/a?token={value}&x=1 " for n, value in enumerate(secret))),
        ("cookies", "Cookie: " + "".join(f"sid{n}={value}; " for n, value in enumerate(secret)) + "\n"),
        ("private keys", "-----BEGIN PRIVATE" + " KEY-----\n" + "".join(f"{value}{value}\n" for value in secret)),
        ("begins only", "-----BEGIN PRIVATE" + " KEY-----\n"),
        ("quotes", '"\'`\\"'),
        (
            "nested quotes",
            "".join(slash + '"password' + slash + '": ' for slash in ("\\" * (n % 8) for n in range(40))),
        ),
        ("one word", "a"),
        ("one random word", "aA1"),
        ("one key", "password"),
        ("signs", "=:="),
        ("signs and words", "token=:token=>"),
        ("slashes", "/"),
        ("backslashes", "\\"),
        ("dots", "a.b.1."),
        ("colons", "1:a:"),
        ("at", "a@a."),
        ("dashes", "a-1-"),
        ("percent", "%2Fhome%2F"),
        ("flags", " --token curl -u login a password"),
        ("spoken", "the password is the token is a secret "),
        ("unicode", "пароль漢字é\u200b😀密码"),
        ("look-alikes", "ｐａｓｓｗоrd=ａ1"),
        ("controls", "\x1b[1m\x1b]8;;"),
        ("own placeholders", "[SECRET:token#a1f3][PATH][TOKEN:"),
        ("spaces", " "),
        ("lines", "\n"),
        ("base64", base64.b64encode("".join(secret).encode()).decode()),
        ("YAML", "- name: API_TOKEN\n  value: " + secret[0] + "\npassword: |\n  " + secret[1] + "\n"),
        ("XML", f"<password>{secret[0]}</password><add key='ApiKey' value='{secret[1]}'/>"),
    ]


def _cut(piece: str, size: int) -> str:
    return (piece * (size // len(piece) + 1))[:size]


def _timed(of: str, texts: Iterator[str] | Sequence[str], *, best: bool = False) -> Time:
    spent = []
    for text in texts:
        started = time.process_time_ns()
        redact(text, context=CONTEXT)
        spent.append((time.process_time_ns() - started) / 1e6)
    spent.sort()
    worst = spent[0] if best else spent[-1]
    return Time(of, spent[len(spent) // 2], spent[max(0, -(-len(spent) * 99 // 100) - 1)], worst, len(spent))


def main() -> None:
    """Print the figures, slowest large shape first."""
    figures = measure()
    for figure in [*figures[:3], *sorted(figures[3:], key=lambda figure: -figure.worst)]:
        print(f"{figure.of:32} p50 {figure.p50:8.3f}  p99 {figure.p99:8.3f}  worst {figure.worst:8.3f} ms CPU")


if __name__ == "__main__":
    main()
