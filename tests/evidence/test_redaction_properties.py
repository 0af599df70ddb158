from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evidence.redaction
from evidence.redaction import WITHHELD, RedactionContext, redact
from evidence.redaction.normal import normalise
from tests.evidence.facts import encoded

CONTEXT = RedactionContext(project_root="/home/u/proj", home="/home/u", known_hosts=("box",), key=b"board")
PIECES = [
    *(case["text"] for case in encoded("redaction.b64")),
    *(
        "token",
        "password",
        "secret",
        "key",
        "=",
        ":",
        " ",
        '"',
        "'",
        "\\",
        "\n",
        "/",
        "..",
        ".",
        ",",
        ";",
        "-",
        "_",
        "@",
    ),
    *(
        "/home/u/proj",
        "/home/u",
        "~u/x",
        "C:\\",
        "\\\\srv\\a",
        "//srv/a/b",
        "file://",
        "%2Fhome%2Fu",
        "://",
        "?code=",
        "&",
    ),
    *("[PATH]", "[TOKEN:github#a1f3]", "[SECRET:", "#a1f3]", "[", "]", "{", "}", "(", ")", "<", ">", "$"),
    *(
        "Bearer ",
        "Authorization: ",
        "Cookie: ",
        "a=b;",
        "--token ",
        "curl -u ",
        "login a password ",
        "Private-Lines: 2\n",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "QUJD" * 10,
        "ghp_" + "a1B2" * 9,
        "eyJhbGciOi1",
        "x1Y2z3" * 8,
    ),
    *(
        "\x1b[0m",
        "\x1b]",
        "\x1b",
        "\u200b",
        "\x00",
        "\x01\x0e\x02",
        "\ud800",
        "\u00e9",
        "\u6f22",
        "\U0001f600",
        "\u017f",
        "\u212a",
    ),
    *("10.0.0.1", "fe80::1:2:3", "a@b.cd", "box", "nas.local", "aa:bb:cc:dd:ee:ff"),
]
TEXTS = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=14).map("".join))


@settings(max_examples=1500, deadline=None)
@given(TEXTS)
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redact(text, context=CONTEXT)
    again = redact(once.text, context=CONTEXT)
    assert again.text == once.text


@settings(max_examples=1000, deadline=None)
@given(TEXTS)
def test_every_text_can_be_redacted(text: str) -> None:
    found = redact(text, context=CONTEXT)
    assert WITHHELD in text or found.text != WITHHELD
    assert found.text.isascii() or found.text.encode()


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=300))
def test_normalising_again_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="abc xyz.,\n", max_size=400))
def test_text_without_digits_names_or_slashes_stays(text: str) -> None:
    assert redact(text, context=CONTEXT).text == text


@pytest.mark.parametrize("text", ["pa\u017f\u017fword=Hunter22", "to\u212aen: Hunter22x"])
def test_letters_that_fold_to_ascii_neither_hide_a_key_nor_break_a_rule(text: str) -> None:
    found = redact(text)
    assert found.rule_ids in (("secret.password",), ("secret.token",))
    assert "Hunter22" not in found.text


def test_a_rule_that_breaks_withholds_the_whole_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: bytes, scope: object) -> bytes:
        raise RuntimeError("a bug in a rule")

    monkeypatch.setattr(evidence.redaction, "TIERS", (*evidence.redaction.TIERS, broken))
    assert redact("harmless") == evidence.redaction.Redacted(WITHHELD, ("withheld",))


def test_rules_that_never_settle_withhold_the_whole_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence.redaction, "TIERS", (lambda text, scope: text + b"x",))
    assert redact("harmless").text == WITHHELD


def test_what_was_withheld_stays_withheld() -> None:
    assert redact(WITHHELD).text == WITHHELD


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "aA1",
        "/",
        "token=",
        "://a:b",
        "://a:b@",
        "eyJ",
        "-----BEGIN PRIVATE KEY-----\n",
        "\x1b]",
        "Cookie: a=b; ",
        '"token":"',
    ],
)
def test_two_hundred_kilobytes_of_anything_are_done_in_one_go(piece: str) -> None:
    """Linear rules: a quadratic one would run into the timeout."""
    text = (piece * (200_000 // len(piece) + 1))[:200_000]
    assert redact(text, context=CONTEXT).text != WITHHELD


def test_the_redactor_needs_no_django() -> None:
    program = "import sys, evidence.redaction as r; assert r.redact('a').text == 'a'; print('django' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(evidence.redaction.__file__).parents[2],
    )
    assert done.stdout.strip() == "False"


def test_source_code_is_left_alone() -> None:
    """At most 0.2 % of the lines of a large real code base change."""
    import django

    changed = lines = 0
    for path in sorted(Path(django.__file__).parent.rglob("*.py")):
        source = path.read_text("utf-8")
        if "\r" in source or lines > 20_000:
            continue
        before, after = source.split("\n"), redact(source).text.split("\n")
        assert len(before) == len(after)
        lines += len(before)
        changed += sum(old != new for old, new in zip(before, after, strict=True))
    assert lines > 20_000
    assert changed / lines <= 0.002
