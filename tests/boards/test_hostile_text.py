"""Texts that break others: surrogates, NUL, separators, controls, and redaction that makes a text invalid."""

from __future__ import annotations

import pytest

from boards import log
from boards.models import Message
from tests.people import board, done, give, people

TEXTS = [
    "lone \ud800 surrogate",
    "nul \x00 in it",
    "line\u2028sep\u2029\x85\x1c\x1d",
    "terminal \x1b]52;c;Zm9v\x07 \x1b[2J",
    "rtl \u202egnp.exe",
    "tags \U000e0041\U000e0042",
    "\ufeffbom \u200b zero",
    "<script>alert(1)</script>",
    "'; DROP TABLE boards_event; --",
    "%s %(x)s {0} {{x}}",
    "日本語 👩‍👩‍👧 עברית",
]


@pytest.mark.django_db
@pytest.mark.parametrize("text", TEXTS)
def test_any_text_is_stored_or_refused_with_a_sentence_and_the_log_stays_whole(text, clock):
    who = people()
    board_id = board(who, title=f"T {text}", objective=text)
    wish = {"objective": text, "owners": {"alice": [text]}, "requiredEvidence": [text], "stopConditions": [text]}
    done("propose_contract", who.human, boardId=board_id, **wish)
    done("send_message", who.human, boardId=board_id, to=["alice"], content=text)
    done("update_node", who.human, nodeId="alice", role=text, capabilities=[text])
    assert Message.objects.filter(sender=who.human.node_id).exists()
    assert log.verify() == []


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["\u200b\u200b", "\u202e"])
def test_a_text_that_is_empty_once_invisible_signs_are_gone_is_refused(text):
    who = people()
    board_id = board(who)
    receipt = give("send_message", who.human, boardId=board_id, to=["alice"], content=text)
    assert (receipt.outcome, receipt.code) == ("rejected", "not_valid_when_redacted")
    assert "empty" in receipt.detail


@pytest.mark.django_db
def test_a_text_that_redaction_makes_too_long_is_refused_and_never_cut():
    who = people()
    board_id = board(who)
    text = ("password=abcdefg1 " * 20_000)[:199_999]
    receipt = give("send_message", who.human, boardId=board_id, to=["alice"], content=text)
    assert receipt.outcome in ("applied", "rejected")
    if receipt.outcome == "rejected":
        assert receipt.code == "not_valid_when_redacted" and "limit" in receipt.detail
    else:
        assert "abcdefg1" not in Message.objects.get().content
