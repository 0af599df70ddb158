"""The panel: every page in every state, and forms that tell what became of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError

from boards import discovery
from boards.models import Event, Member
from boards.queries import pages
from boards.queries.pages import home
from boards.schemas import COMMANDS
from boards.views import regions as region_views
from boards.views.forms import FORMS
from boards.views.kept import Kept
from tests.boards.pages import Story, completed, get, post, text
from tests.boards.pages import page_clock as page_clock
from tests.fixtures import unpack
from tests.people import claim, people

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("page_clock")]


def closed(story: Story) -> None:
    completed(story)
    story.give("close_board", story.who.human)


def rejected(story: Story) -> None:
    contract_id = story.propose()
    story.give("reject_contract", story.who.alice, contract_id=contract_id, reason="No camera here")


STATES: dict[str, tuple[Callable[[Story], Any], str]] = {
    "empty": (lambda story: None, "No contract yet."),
    "proposed": (Story.propose, "Accepted by 0 of 1 owner"),
    "accepted": (Story.accept, "not claimed yet"),
    "claimed": (Story.claim, "Claimed by"),
    "blocked": (Story.blocked, "The device is busy"),
    "completed": (completed, "Closed with 1 verified of 1 required"),
    "rejected": (rejected, "No camera here"),
    "closed": (closed, "Final report"),
}


@pytest.mark.parametrize("state", STATES)
def test_every_view_shows_the_board_in_every_state_and_changes_nothing(state):
    story = Story()
    prepare, says = STATES[state]
    prepare(story)
    before = Event.objects.count()
    shown = text(get(story.url))
    assert says in shown
    for path in [*story.views, f"{story.url}attach", "/", "/boards/new"]:
        assert "Light sync" in text(get(path))
    for name in region_views.BOARD_REGIONS:
        assert text(get(f"/boards/{story.board_id}/regions/{name}"))
    assert Event.objects.count() == before, "reading changed something"


def test_a_closed_board_offers_no_form_at_all_but_a_note_that_it_is_read_only():
    story = Story()
    closed(story)
    shown = text(get(story.url))
    offered = set(re.findall(r'hx-post="[^"]*/do/(\w+)"', shown)) - {"send_message", "propose_contract"}
    assert offered == set()
    assert "closed and read-only" in shown


def test_the_first_visit_offers_the_sessions_found_and_the_demo(settings, tmp_path):
    people()
    assert "No agent session was found" in text(get("/"))
    settings.AGINTIFLOW_HOME = unpack(tmp_path).home
    discovery.scan_once()
    shown = text(get("/"))
    assert "Collaborate with another session" in shown and "14 sessions · 3 projects" in shown
    assert "<code>make demo</code>" in shown


def test_an_address_that_names_nothing_is_404():
    story = Story()
    for path in (
        "/boards/none/",
        f"{story.url}regions/diary",
        "/regions/diary",
        "/boards/x/attach",
    ):
        assert get(path).status_code == 404, path
    assert post(f"{story.url}do/erase_everything").status_code == 404


def test_a_view_that_there_is_not_is_the_first_one():
    story = Story()
    for asked in ("diary", "", "Contracts", "messages"):
        shown = text(get(f"{story.url}?view={asked}"))
        assert 'id="region-contracts"' in shown and 'id="region-ownership"' not in shown, asked


def test_a_program_with_a_token_sees_no_page(client):
    story = Story()
    program = {"agentlink.actor": {"node_id": "alice", "surface": "api", "human": False}}
    for path in ("/", story.url, f"{story.url}regions/messages", "/boards/new"):
        assert client.get(path, **program).status_code == 403, path


# --- forms ---


def give(story: Story, kind: str, status: int = 200, **fields: Any) -> str:
    response = post(f"{story.url}do/{kind}", **fields)
    assert response.headers["AgentLink-Outcome"]
    return text(response, status)


def test_a_form_tells_what_became_of_it_and_the_same_key_acts_once():
    story = Story()
    wish = {"key": "k-1", "objective": "Measure the noise", "owner": ["alice"], "resources-alice": "/dev/video0, tmp"}
    assert "applied · revision" in give(story, "propose_contract", requiredEvidence="noise.csv\r\nplot.png\n", **wish)
    assert "already applied" in give(story, "propose_contract", requiredEvidence="noise.csv\r\nplot.png\n", **wish)
    shown = text(get(story.url))
    assert shown.count('id="contract-measure-the-noise"') == 1
    assert "noise.csv" in shown and "plot.png" in shown


def test_a_conflict_names_who_and_what_changed_and_the_view_it_was_based_on():
    story = Story()
    contract_id = story.accept()
    seen = Event.objects.filter(stream=story.board_id).count()
    claim(story.who, story.board_id, contract_id)
    answer = give(
        story, "claim_task", 409, taskId=contract_id, node="alice", leaseMinutes="30", expectedRevision=str(seen)
    )
    assert "conflict" in answer and "task.claimed by alice" in answer and f"revision {seen}" in answer
    now = Event.objects.filter(stream=story.board_id).count()
    answer = give(story, "claim_task", 409, taskId=contract_id, node="bob", expectedRevision=str(now))
    assert "alice holds run-1" in answer and f"Your view was revision {now}" in answer


def test_a_refusal_says_why_and_the_gate_lists_what_is_missing():
    story = Story()
    contract_id, fencing = story.claim()
    answer = give(story, "complete_task", 422, taskId=contract_id, node="alice", fencing=str(fencing))
    assert "not finished yet" in answer and "nothing is attached" in answer and 'role="alert"' in answer
    assert "Message: The text is empty" in give(story, "send_message", 422, to="alice", content="  ")
    assert "fencing must be a whole number" in give(story, "renew_task", 422, taskId=contract_id, fencing="x")
    assert "There is no peer" in give(story, "invite", 422, node="alcie", role="worker")


def test_a_store_that_cannot_write_is_said_and_nothing_is_lost(monkeypatch):
    story = Story()

    def full(*_: Any, **__: Any) -> None:
        raise OperationalError("disk is full")

    monkeypatch.setattr("boards.commands.execution._execute", full)
    answer = give(story, "send_message", 503, key="k", to="alice", content="hello")
    assert "failed" in answer and "disk is full" in answer and "same key may be tried again" in answer


def test_a_message_to_several_peers_and_its_answer_by_the_person(clock):
    story = Story()
    give(story, "send_message", to="alice, bob", content="Report", type="status_request")
    assert Event.objects.filter(type="agentlink.message.sent").count() == 1
    to = [story.who.human.node_id]
    asked = story.give("send_message", story.who.alice, to=to, content="May I?", requires_ack=True)
    message_id = asked.extra["messageId"]
    shown = text(get(story.url))
    assert "waits for your answer" in shown
    give(story, "acknowledge_message", messageId=message_id, answer="accepted", note="go on")
    assert "waits for your answer" not in text(get(story.url))


def test_what_could_not_be_delivered_can_be_sent_again(clock):
    story = Story()
    story.send()
    story.step("undeliverable", reason="The session's folder is gone.")
    assert "Send again" in text(get(story.url))
    clock.move(10)
    assert "applied" in give(story, "resend", messageId=story.message_id)
    assert Event.objects.filter(type="agentlink.message.sent").count() == 2


def test_buttons_appear_only_where_the_rules_let_them_mean_something():
    story = Story()

    def offered(path: str = story.url) -> set[str]:
        return set(re.findall(r'hx-post="[^"]*/do/(\w+)"', text(get(path))))

    contract_id = story.propose()
    assert {"accept_contract", "reject_contract"} <= offered() and "claim_task" not in offered()
    story.give("accept_contract", story.who.alice, contract_id=contract_id)
    assert "claim_task" in offered() and not {"accept_contract", "renew_task"} & offered()
    fencing = claim(story.who, story.board_id, contract_id)
    assert {"renew_task", "release_task"} <= offered() and not {"claim_task", "complete_task"} & offered()
    evidence_id = story.attach(contract_id)
    assert "verify_evidence" in offered(story.views[1])
    story.give("verify_evidence", story.who.human, evidence_id=evidence_id)
    assert "complete_task" in offered() and "verify_evidence" not in offered(story.views[1])
    give(story, "complete_task", taskId=contract_id, node="alice", fencing=str(fencing), note="done")
    assert not {"claim_task", "renew_task", "complete_task", "open_blocker"} & offered()


def test_nobody_is_offered_to_verify_what_he_attached_himself():
    story = Story()
    contract_id = story.accept()
    wish = {"contract_id": contract_id, "requirement_id": "proof-1", "summary": "mine", "evidenceKind": "statement"}
    story.give("attach_evidence", story.who.human, **wish)
    assert "do/verify_evidence" not in text(get(story.views[1]))


def test_every_form_reads_fields_that_its_command_has():
    for kind, fields in FORMS.items():
        known = {field.alias for field in COMMANDS[kind].model_fields.values()}
        assert set(fields) <= known, kind


def test_a_new_board_goes_there_and_a_refused_one_keeps_what_was_typed(settings, tmp_path):
    people()
    settings.AGINTIFLOW_HOME = unpack(tmp_path).home
    discovery.scan_once()
    wish = {"title": "Sync", "session": ["kv260-recorder"], "role-kv260-recorder": "supervisor"}
    response = post("/boards/new", **wish)
    assert (response.status_code, response.headers["Location"]) == (303, "/boards/sync/")
    assert "kv260-recorder" in text(get("/boards/sync/regions/head"))
    again = text(post("/boards/new", title=" ", objective="half typed", session=["kv260-recorder"]), 422)
    assert "half typed" in again and "Title: The text is empty" in again and again.count(" checked>") == 1


def test_sessions_that_are_not_listed_are_counted_and_can_be_named(settings, tmp_path, monkeypatch):
    story = Story()
    settings.AGINTIFLOW_HOME = unpack(tmp_path).home
    discovery.scan_once()
    listed = {row.session_id for row in pages.found_sessions().rows}
    assert len(listed) == 14 and "more can be named" not in text(get("/boards/new"))
    monkeypatch.setattr(home, "LISTED", 2)
    monkeypatch.setattr(home, "PER_PAGE", 2)
    monkeypatch.setattr(region_views, "KEPT", Kept(1_000_000))
    unlisted = sorted(listed - {row.session_id for row in pages.found_sessions().rows})
    assert "12 more can be named by their ids" in text(get("/boards/new"))
    board = text(get(story.url))
    assert "Session found here (12 more can be named by their ids)" in board
    assert "and 12 more: invite them by their ids, in Members" in board
    assert "14 more sessions on this machine" in board and "Page 1 of 7 · 12 more" in board
    last = text(get("/regions/collaborators?page=7"))
    assert last.count('id="session-') == 2 and "Page 7 of 7" in last
    wish = {"session": [unlisted[0]], "other": f"{unlisted[1]}, {unlisted[2]}"}
    refused = text(post("/boards/new", title=" ", **wish), 422)
    assert f'name="other" value="{", ".join(unlisted[:3])}"' in refused, "what was ticked meanwhile left the list"
    assert post("/boards/new", title="Named", **wish).headers["Location"] == "/boards/named/"
    assert set(Member.objects.filter(board_id="named").values_list("node_id", flat=True)) >= set(unlisted[:3])
    assert "applied" in give(story, "invite", node=unlisted[3], role="worker")


def test_the_composer_says_how_a_peer_is_reached_before_anything_is_sent(settings, tmp_path):
    story = Story()
    settings.AGINTIFLOW_HOME = unpack(tmp_path).home
    discovery.scan_once()
    waits = text(get(f"{story.url}reach?to=kv260-recorder"))
    assert "waits until resumed" in waits and "<code>" in waits and "aginti resume kv260-recorder" in waits
    assert "cannot be reached" in text(get(f"{story.url}reach?to=nobody-here"))
    assert "its own copy" in text(get(f"{story.url}reach?to=@board"))
    assert not text(get(f"{story.url}reach?to=" + "%3Cb%3E")).strip()


def test_a_store_that_cannot_be_read_is_503_and_the_page_keeps_what_it_shows(monkeypatch):
    story = Story()

    def gone(_: Any) -> None:
        raise OperationalError("unable to open database file")

    monkeypatch.setattr(region_views, "region", gone)
    response = get(f"{story.url}regions/contracts")
    assert response.status_code == 503
    assert "cannot be reached" in response.content.decode()


def test_a_board_is_found_without_the_last_slash_too():
    story = Story()
    response = get(story.url.rstrip("/"))
    assert (response.status_code, response.headers["Location"]) == (302, story.url)
