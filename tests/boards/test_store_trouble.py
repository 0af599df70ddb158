"""When the store cannot take it: nothing is half done, the answer says so, and the same key works later."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import pytest
from django.db import connection

from boards import log
from boards.models import Board, Message, StoredReceipt
from tests.people import board, done, give, people


@pytest.mark.django_db(transaction=True)
def test_a_full_disk_fails_the_command_whole_and_a_retry_with_the_same_key_works():
    who = people()
    board_id = board(who)
    before = log.last_position()
    wish = {"boardId": board_id, "to": ["alice"], "content": "x" * 150_000}
    with connection.cursor() as cursor:
        pages = cursor.execute("PRAGMA page_count").fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count = {pages}")
    try:
        receipt = give("send_message", who.human, key="k", **wish)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA max_page_count = 1073741823")
    assert (receipt.outcome, receipt.code) == ("failed", "store_failed")
    assert "full" in receipt.detail and "same key" in receipt.detail
    assert log.last_position() == before and not Message.objects.exists() and not StoredReceipt.objects.exists()
    done("send_message", who.human, key="k", **wish)


@pytest.mark.django_db(transaction=True)
def test_a_store_that_vanished_fails_every_command_and_queues_nothing(tmp_path):
    who = people()
    board_id = board(who)
    name = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = str(tmp_path / "gone" / "store.sqlite3")
    try:
        receipt = give("update_board", who.human, boardId=board_id, title="late")
    finally:
        connection.close()
        connection.settings_dict["NAME"] = name
    assert (receipt.outcome, receipt.code) == ("failed", "store_failed")
    assert "late" not in str(log.state(board_id))


@pytest.mark.django_db
def test_a_second_turn_in_one_thread_is_an_error_instead_of_a_wait_without_end():
    with log.writer():
        with pytest.raises(RuntimeError, match="turn already"), log.writer():
            pass
    with log.writer():
        pass


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("harm", ["removed", "replaced"])
def test_a_store_whose_file_was_taken_away_under_us_takes_no_more_writes(harm):
    who = people()
    board_id = board(who)
    name, aside = connection.settings_dict["NAME"], f"{connection.settings_dict['NAME']}.aside"
    os.rename(name, aside)
    if harm == "replaced":
        shutil.copy(aside, name)
    try:
        receipt = give("update_board", who.human, boardId=board_id, title="late")
    finally:
        os.replace(aside, name)
    assert (receipt.outcome, receipt.code) == ("failed", "store_failed") and "removed or replaced" in receipt.detail
    done("update_board", who.human, boardId=board_id, title="in time")


@pytest.mark.django_db(transaction=True)
def test_a_process_that_was_stopped_in_its_turn_fails_the_others_in_time_and_loses_nothing(monkeypatch):
    """Ctrl-Z at the wrong moment: the others are told that it may be tried again, and it can."""
    monkeypatch.setattr(log, "TURN_SECONDS", 0.3)
    who = people()
    lock = f"{connection.settings_dict['NAME']}.lock"
    hold = (
        f"import fcntl, time; lock = open({lock!r}); fcntl.flock(lock, fcntl.LOCK_EX)\n"
        "print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGSTOP)
        failed = give("create_board", who.human, title="Late", key="k-1")
        assert (failed.outcome, failed.code, "stopped" in failed.detail) == ("failed", "store_failed", True)
        holder.kill()
    again = give("create_board", who.human, title="Late", key="k-1")
    assert again.outcome == "applied"
    assert Board.objects.count() == 1
