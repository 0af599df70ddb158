"""Processes: claims that race, a server that is killed between commit and reply, a second one on the same home."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests.site.desks import Shell
from tests.site.servers import Answer, Server, run
from tests.threats.test_network import BASE, JSON, bearer, give, token_of

pytestmark = pytest.mark.process


def test_of_twenty_claims_at_once_exactly_one_is_applied_and_the_others_learn_who_and_since_when(home: Path) -> None:
    with Server(home, launcher=False) as server:
        names = [f"worker-{number}" for number in range(20)]
        tokens = [token_of(server, name) for name in names]
        board = give(server, "create_board", title="b", members=dict.fromkeys(names, "worker"))["boardId"]
        made = give(server, "propose_contract", boardId=board, objective="one task")
        contract, revision = made["contractId"], made["receipt"]["revision"]
        answers: list[Answer] = []
        barrier = threading.Barrier(len(names))

        def claim(name: str, token: str) -> None:
            wish = {"command": "claim_task", "boardId": board, "taskId": contract, "key": f"k-{name}"}
            body = json.dumps(wish | {"expectedRevision": revision}).encode()
            barrier.wait()
            answers.append(server.ask("POST", f"{BASE}/commands", JSON | bearer(token), body))

        threads = [threading.Thread(target=claim, args=pair) for pair in zip(names, tokens, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answer.status for answer in answers) == [200] + [409] * 19
        winner = next(answer.json for answer in answers if answer.status == 200)
        holder = winner["holder"]
        for answer in answers:
            if answer.status == 409:
                receipt = answer.json["receipt"]
                assert receipt["outcome"] == "conflict"
                assert holder in answer.json["detail"]
                assert receipt["current"]["holder"] == holder and receipt["current"]["revision"] > revision
        claimed = [event for event in give_events(server, board) if event["type"] == "agentlink.task.claimed"]
        assert len(claimed) == 1


def give_events(server: Server, board: str) -> list[dict[str, object]]:
    events: list[dict[str, object]] = server.ask_unix("GET", f"{BASE}/boards/{board}/events?limit=500").json["events"]
    return events


def test_a_wish_whose_answer_was_lost_is_done_once_even_when_the_server_died(home: Path) -> None:
    with Server(home, launcher=False) as first:
        token_of(first, "alice")
        give(first, "create_board", title="b", members={"alice": "worker"})
        body = json.dumps({"to": ["alice"], "content": "once", "key": "k1"}).encode()
        sent = first.ask_unix("POST", f"{BASE}/boards/b/messages", JSON, body)
        assert sent.status == 201
        first.process.kill()  # its answer might never have arrived
        first.process.wait()
    with Server(home, launcher=False) as second:
        again = second.ask_unix("POST", f"{BASE}/boards/b/messages", JSON, body)
        assert (again.status, again.json["receipt"]["outcome"]) == (200, "already_applied")
        assert again.json["messageId"] == sent.json["messageId"]
        messages = second.ask_unix("GET", f"{BASE}/boards/b").json["messages"]
        assert [message["content"] for message in messages] == ["once"]


def test_a_second_server_says_where_the_first_one_is_and_damages_nothing(home: Path) -> None:
    with Server(home, launcher=False) as first:
        give(first, "create_board", title="b")
        before = {path.name for path in home.iterdir() if not path.name.endswith(".tmp")}
        second = run(home, "up", "--json", "--port", "0")
        assert second.returncode == 0
        assert json.loads(second.stdout)["url"] == first.ready["url"]
        assert before <= {path.name for path in home.iterdir()}
        assert first.ask_unix("GET", f"{BASE}/boards/b").status == 200
    with Server(home, "--port", str(first.port), launcher=False) as third:
        assert third.port == first.port


def test_a_misspelt_peer_ends_the_command_with_a_status_and_the_nearest_name(home: Path) -> None:
    shell = Shell(home)
    shell.register(["reviewer"])
    shell.ok("create", "b", "--member", "reviewer")
    refused = shell.run("send", "b", "reviwer", "hello")
    assert refused.status == 2
    assert "reviewer" in refused.err
    assert shell.json("board", "b")["messages"] == []
