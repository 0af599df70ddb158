"""The big dataset in its small form: a legal history, a home that can be copied, sessions as AgInTiFlow writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from boards import log
from boards.models import Contract, Delivery, Evidence, Message, Task
from tests import crowd
from tests.crowd.homes import python
from tests.site.servers import Server

SIZE = crowd.Size(sessions=8, boards=3, messages=12, contracts=6, evidence=6, workers=3)


@pytest.mark.django_db
def test_a_history_has_what_its_size_says_and_its_log_verifies() -> None:
    made = crowd.history(SIZE)
    on_it = {"board_id": made.board_id}
    reports = Message.objects.filter(**on_it, content__startswith="Report")
    assert Delivery.objects.filter(node_id=made.lead, message_id__in=reports.values("pk")).count() == SIZE.messages
    assert Contract.objects.filter(**on_it).count() == SIZE.contracts
    assert Evidence.objects.filter(**on_it).count() == SIZE.evidence
    assert len(made.boards) == SIZE.boards
    assert {Task.objects.get(task_id=task).status for task in made.open_tasks} == {"open"}
    assert log.verify() == []


@pytest.mark.process
def test_two_copies_are_homes_of_their_own_and_serve_every_session(tmp_path: Path) -> None:
    first, second = (crowd.copied(SIZE, tmp_path / name) for name in ("first", "second"))
    python(tmp_path / "first", f"from tests import people; people.done('send_message', people.Actor('alice', 'cli'), "
           f"board_id={first.small_id!r}, to=['bob'], type='task_update', content='Only here.')")  # fmt: skip
    assert b"Only here." in _messages(first)
    assert b"Only here." not in _messages(second)


def _messages(home: crowd.Crowd) -> bytes:
    with Server(home.home, launcher=False) as server:
        answer = server.ask_unix("GET", f"/api/agentlink/boards/{home.small_id}")
        assert answer.status == 200
        return answer.body
