"""The server's workers: leases end by themselves, and one failing worker does not end the others."""

from __future__ import annotations

import threading

import pytest
from django.db import OperationalError

from boards import workers
from boards.models import Event, Task
from tests.people import board, contract, done, people


@pytest.mark.django_db
def test_the_timer_makes_the_event_of_every_lease_that_has_ended_once(clock, monkeypatch):
    monkeypatch.setattr(workers, "now", clock)
    who = people()
    board_id = board(who)
    contract_id = contract(who, board_id)
    done("claim_task", who.alice, boardId=board_id, taskId=contract_id, leaseSeconds=60)
    assert workers.expire_leases() == 0
    clock.move(60)
    assert workers.expire_leases() == 1 and workers.expire_leases() == 0
    task = Task.objects.get(pk=contract_id)
    assert (task.status, task.holder, task.last_holder) == ("open", "", "alice")
    event = Event.objects.get(type="agentlink.task.expired")
    assert (event.actor, '"surface":"timer"' in event.origin) == ("agentlink", True)


def test_a_worker_whose_store_fails_is_started_again(monkeypatch):
    stop, runs = threading.Event(), []
    monkeypatch.setattr(workers, "RESTART_SECONDS", 0.0)

    def job(stop: threading.Event) -> None:
        runs.append(1)
        if len(runs) == 3:
            stop.set()
        raise OperationalError("disk I/O error")

    workers._run("job", job, stop)
    assert len(runs) == 3
