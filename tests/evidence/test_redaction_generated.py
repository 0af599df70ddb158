"""Any secret in any surrounding: what no list of cases can hold."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evidence.redaction
from evidence.redaction import RedactionContext, redact
from evidence.redaction.engine import HINTS, Scope
from evidence.redaction.prose import PROSE
from evidence.redaction.shell import COMMANDS
from evidence.redaction.structures import STRUCTURES

LETTERS = string.ascii_letters + string.digits
PLAIN = ("the", "we", "run", "a", "test", "of", "this", "file", "and", "then", "wait", "it", "for", "you", "is", "done")
WORDS = st.lists(st.sampled_from(PLAIN), max_size=12).map(" ".join)
BREAKS = st.sampled_from(["\n", "\n\n", "\n  ", ".\n", "\n- ", "\n> ", "\n# "])


@st.composite
def random_part(draw: st.DrawFn, length: int) -> str:
    """Random letters of both cases with digits among them, as generators of keys make them."""
    middle = draw(st.text(alphabet=LETTERS, min_size=length - 6, max_size=length - 6))
    return f"k7Q{middle}x4Z"


TOKENS = st.one_of(
    random_part(36).map(lambda part: "gh" + "p_" + part),
    random_part(40).map(lambda part: "sk-" + "ant-api03-" + part),
    random_part(48).map(lambda part: "sk-" + "proj-" + part),
    random_part(20).map(lambda part: "gl" + "pat-" + part),
    random_part(24).map(lambda part: "sk" + "_live_" + part),
    random_part(36).map(lambda part: "npm" + "_" + part),
    random_part(34).map(lambda part: "hf" + "_" + part),
    random_part(30).map(lambda part: "ts" + "key-auth-" + part),
)
PASSWORDS = st.builds("{}{}{}".format, st.sampled_from(["Otter", "Maple", "winter", "Bridge"]), st.sampled_from("!#*+"),
                      random_part(10))  # fmt: skip
FORMS = st.sampled_from(
    [
        "password={}",
        "DB_PASSWORD={}",
        'export API_TOKEN="{}"',
        "apiKey: '{}'",
        '{{"client_secret": "{}"}}',
        '{{\\"token\\":\\"{}\\"}}',
        "Authorization: Bearer {}",
        "<password>{}</password>",
        "https://bob:{}@example.com/x",
        "tool --token {} -v",
        "the password is {}",
        "пароль: {}",
        "密码：{}",
        "- name: DB_PASSWORD\n  value: {}",
        "setPassword('{}')",
        "machine example.org login bob password {}",
    ]
)


@settings(max_examples=400, deadline=None)
@given(
    WORDS, st.sampled_from([" ", "\n", "(", "'", '"', "=", ": ", "/", "`", "<", "\t", "[", "漢", "é"]), TOKENS, WORDS
)
def test_a_known_token_is_hidden_wherever_it_stands(before: str, edge: str, token: str, after: str) -> None:
    assert token[-20:] not in redact(f"{before}{edge}{token} {after}").text


@settings(max_examples=600, deadline=None)
@given(WORDS, BREAKS, FORMS, PASSWORDS, BREAKS, WORDS)
def test_a_password_is_hidden_in_every_form(
    before: str, first: str, form: str, password: str, last: str, after: str
) -> None:
    found = redact(f"{before}{first}{form.format(password)}{last}{after}")
    assert password not in found.text
    assert redact(found.text).text == found.text


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 40), st.sampled_from("\u200b\u200d\u2060\u00ad\u202e\ufe0f\u3164"), TOKENS)
def test_invisible_characters_do_not_split_a_token(at: int, invisible: str, token: str) -> None:
    assert token[-16:] not in redact(f"see {token[:at]}{invisible}{token[at:]} there").text


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["pаssword", "раsswоrd", "ｐａｓｓｗｏｒｄ", "𝗽𝗮𝘀𝘀𝘄𝗼𝗿𝗱", "tоken", "sесrеt"]), PASSWORDS)
def test_letters_of_another_script_do_not_hide_a_key(key: str, password: str) -> None:
    assert password not in redact(f"{key}: {password}").text


@pytest.mark.parametrize(
    "text", ["Привет, мир: это просто текст", "日本語　全角　ＡＢＣ：説明", "“quoted” — dash – and ‘so on’"]
)
def test_text_of_other_scripts_stays_as_it_is_written(text: str) -> None:
    assert redact(text).text == text


def test_what_is_left_beside_a_secret_keeps_its_own_signs() -> None:
    assert redact("“Die Anleitung” – Passwort: Otter!k7Q4 – siehe ‘oben’").text == (
        "“Die Anleitung” – Passwort: [SECRET:password] – siehe ‘oben’"
    )


@pytest.mark.parametrize("position", range(len(evidence.redaction.TIERS)))
def test_any_tier_that_fails_withholds_the_whole_text(monkeypatch: pytest.MonkeyPatch, position: int) -> None:
    def broken(text: bytes, scope: object) -> bytes:
        raise MemoryError

    tiers = list(evidence.redaction.TIERS)
    tiers[position] = broken
    monkeypatch.setattr(evidence.redaction, "TIERS", tuple(tiers))
    assert redact("harmless").text == evidence.redaction.WITHHELD


def test_every_rule_over_a_text_is_of_re2() -> None:
    rows = (*STRUCTURES, *COMMANDS, *PROSE)
    assert {type(row.rule).__module__ for row in rows} == {"re2"}


def test_a_hint_is_seen_wherever_it_stands() -> None:
    """Also inside of another one and over its end, because a rule whose hint is missed is not asked."""
    for hint in HINTS:
        for other in HINTS:
            scope = Scope(RedactionContext())
            scope.look((other + hint).upper())
            assert scope.holds(frozenset((hint,)))
            scope.look(other[: len(other) // 2] + hint)
            assert scope.holds(frozenset((hint,)))
