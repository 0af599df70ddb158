"""What a person can still do at the end: take an accidental contract away, prove a blocker, read the closing note."""

from __future__ import annotations

import pytest

from boards.models import Contract, Evidence
from tests.boards.pages import Story, get, post, text
from tests.people import done

pytestmark = pytest.mark.django_db


def test_an_accidental_contract_without_owners_can_be_taken_away_from_its_card():
    story = Story()
    done("propose_contract", story.who.human, board_id=story.board_id, objective="by accident")
    shown = text(get(f"/boards/{story.board_id}/regions/contracts"))
    assert f"/boards/{story.board_id}/do/reject_contract" in shown
    contract = Contract.objects.get(objective="by accident")
    done("claim_task", story.who.alice, board_id=story.board_id, task_id=contract.contract_id)
    assert "do/reject_contract" not in text(get(f"/boards/{story.board_id}/regions/contracts"))


def test_what_proves_a_blocker_is_attached_without_answering_a_requirement():
    story = Story()
    contract_id = story.accept()
    page = text(get(f"/boards/{story.board_id}/attach?contract={contract_id}"))
    assert f'value="{contract_id}/!"' in page
    wish = {"what": "url", "url": "http://127.0.0.1:9/", "answers": f"{contract_id}/!", "summary": "It is down."}
    post(f"/boards/{story.board_id}/attach", **wish)
    bundle = Evidence.objects.get(summary="It is down.")
    assert (bundle.stands_for, bundle.requirement_id) == ("blocker", None)


def test_the_closing_note_stands_in_the_report():
    story = Story()
    done("close_board", story.who.human, board_id=story.board_id, note="Both halves proved.")
    assert "Both halves proved." in text(get(f"/boards/{story.board_id}/"))
