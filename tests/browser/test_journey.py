"""From the login link to the final report, in one sitting, while another program writes on the same board."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import log_in
from tests.browser.desk import LIGHT, RECORDER, SUPERVISOR, Desk
from tests.browser.panel import act, card, expect_live, fill, message, need, open_board, stayed, stays, step

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

TITLE = "Record the event camera while the light changes"
OBJECTIVE = "Record five seconds of pattern A"
FIRST, SECOND = "recording file path and byte size", "a note on the light's state"
ASK = "Please record run 002 while pattern A runs."
SESSIONS = {
    RECORDER: (re.compile("Continue with the recording notes.*stopped"), "kv260"),
    LIGHT: (re.compile("Start a background job for the light pattern.*idle"), "arduino"),
    SUPERVISOR: (re.compile("Use AgentLink to find the other session context.*idle"), "supervisor"),
}


def test_from_the_login_link_to_the_final_report(visitor: Callable[..., BrowserContext], desk: Desk) -> None:
    page = visitor(viewport={"width": 1440, "height": 900}).new_page()
    log_in(page, desk)
    board = choose_three_sessions(page)
    with desk.chatter(board, SUPERVISOR, LIGHT) as other:
        propose(page)
        accept_and_claim(page)
        ask_the_recorder(page, desk)
        refused_while_proof_is_missing(page)
        attach_what_is_gone(page, desk)
        attach(page, desk, "recordings/run002.md", FIRST)
        attach(page, desk, "recordings/light.md", SECOND)
        block_and_resolve(page, board)
        complete_and_close(page, board)
        said, _ = other.communicate()
    assert said.count(" to arduino-longjob (") >= 3, "the other program did not write all the while"


def choose_three_sessions(page: Page) -> str:
    """The first visit: the sessions found with their states, three of them chosen, one board made."""
    expect(page.get_by_role("heading", name="Collaborate with another session")).to_be_visible()
    found = page.get_by_role("main").get_by_role("listitem")
    expect(found).to_have_count(14)
    expect(found.filter(has_text="stale")).to_have_count(1)
    expect(found.filter(has_text="failed")).to_have_count(1)
    expect(page.get_by_role("button", name="Create a board with 0 sessions")).to_be_disabled()
    for name, _ in SESSIONS.values():
        page.get_by_role("checkbox", name=name).check()
    page.get_by_role("textbox", name="What is it for?").fill(TITLE)
    page.get_by_role("button", name="Create a board with 3 sessions").click()
    expect(page.get_by_role("heading", name=TITLE, level=1)).to_be_visible()
    expect(page.get_by_role("button", name="Members: 4")).to_be_visible()
    expect_live(page)
    return page.url.rstrip("/").rpartition("/")[2]


def propose(page: Page) -> None:
    """A contract with its owner, the proof that closes it, and when to stop."""
    page.get_by_role("main").get_by_role("button", name="New contract").first.click()
    form = page.locator("#propose")
    expect(form).to_be_visible()
    fill(form, {"Objective": OBJECTIVE, RECORDER: True, f"Resources of {RECORDER}": "/dev/video0, recordings/"})
    fill(form, {"Required evidence": f"{FIRST}\n{SECOND}", "Stop conditions": "the camera gets hot"})
    form.get_by_role("button", name="Propose contract").click()
    expect(form.get_by_text("applied · revision")).to_be_visible()
    page.keyboard.press("Escape")
    expect(form).to_be_hidden()
    proposed = card(page, OBJECTIVE)
    expect(proposed).to_contain_text("/dev/video0, recordings/")
    expect(proposed.get_by_role("listitem").filter(has_text=FIRST)).to_contain_text("missing")
    expect(proposed).to_contain_text("1 stop condition")


def accept_and_claim(page: Page) -> None:
    """For the session, as its human: the contract is accepted, the task is claimed, the lease runs."""
    stays(page)
    contract = card(page, OBJECTIVE)
    contract.get_by_role("button", name=f"Accept for {RECORDER}").click()
    expect(contract).to_contain_text("Accepted by every owner, not claimed yet")
    act(contract, "Claim", Claim_for=RECORDER)
    expect(contract).to_contain_text(re.compile(rf"Claimed by {RECORDER} · lease .+ left"))
    expect(contract.get_by_role("meter", name=f"Lease left of {RECORDER}")).to_be_visible()
    assert stayed(page)


def ask_the_recorder(page: Page, desk: Desk) -> None:
    """How it will be reached is said before sending; each proven step then appears by itself."""
    composer = page.get_by_role("complementary", name="Messages")
    composer.get_by_role("combobox", name="To").select_option(label=RECORDER)
    expect(composer.get_by_text("waits until resumed")).to_be_visible()
    expect(composer.get_by_text(f"aginti resume {RECORDER}")).to_be_visible()
    fill(composer, {"Contract": "record-five-seconds-of-pattern-a", "Type": "task_request", "Message": ASK})
    sent = message(page, ASK)
    with desk.busy(RECORDER):
        composer.get_by_role("button", name="Send to peer").click()
        expect(sent).to_contain_text("another program keeps this session's inbox locked")
        expect(sent).to_contain_text(step("queued"))
        expect(sent).not_to_contain_text(step("handed"))
    expect(sent).to_contain_text(step("handed"))
    message_id = str(sent.get_attribute("id")).removeprefix("msg-")
    [item] = [one for one in desk.inbox(RECORDER) if one["id"] == f"inbox-agentlink-{message_id}"]
    assert item["source"] == "agentlink" and ASK in item["content"]
    expect(sent).not_to_contain_text(step("applied"))
    desk.applies(RECORDER, message_id)
    expect(sent).to_contain_text(step("applied"))
    expect(sent).to_contain_text("waiting")
    desk.answers(RECORDER, message_id)
    expect(sent).to_contain_text(step("accepted"))
    expect(sent).not_to_contain_text("waiting")
    assert stayed(page), "the page was loaded anew"


def refused_while_proof_is_missing(page: Page) -> None:
    """Nothing is finished because somebody says so; what is missing stands beside the button."""
    expect(card(page, OBJECTIVE).get_by_role("button", name="Complete")).to_have_count(0)
    page.get_by_role("button", name="Close board").click()
    sheet = page.locator("[popover]:popover-open")
    sheet.get_by_role("button", name="Close board").click()
    expect(sheet.get_by_role("alert")).to_contain_text("refused: not finished yet")
    expect(sheet.get_by_role("listitem").filter(has_text=FIRST)).to_contain_text("nothing is attached")
    expect(sheet.get_by_role("listitem").filter(has_text=SECOND)).to_be_visible()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()


def attach_what_is_gone(page: Page, desk: Desk) -> None:
    """A file that the session's log names but that is not there: attached as it was named, and rejected."""
    desk.writes_file(RECORDER, "recordings/lost.md", "1 byte\n").unlink()
    choose_artifact(page, "recordings/lost.md")
    give_evidence(page, FIRST, "The recording that got lost.")
    expect(page.get_by_text("it will not close the requirement")).to_be_visible()
    checks = page.get_by_role("list").filter(has_text="recordings/lost.md").get_by_role("listitem")
    expect(checks.filter(has_text="rejected")).to_have_count(1)
    page.get_by_role("link", name="Look at it on the board").click()
    rejected = card(page, "The recording that got lost.")
    expect(rejected.get_by_text("rejected", exact=True).first).to_be_visible()
    expect(rejected).to_contain_text(f"answers {FIRST}")
    page.get_by_role("link", name="Contracts").click()
    expect(card(page, OBJECTIVE).get_by_role("listitem").filter(has_text=FIRST)).to_contain_text("rejected")


def attach(page: Page, desk: Desk, path: str, requirement: str) -> None:
    """A file of the session, written after the claim: its preview, each check's line, and the verdict."""
    text = f"{path}: 5 s at 2 MB/s, 10,485,760 bytes"
    desk.writes_file(RECORDER, path, text + "\n")
    choose_artifact(page, path)
    expect(page.get_by_label("Content", exact=True)).to_contain_text(text)
    give_evidence(page, requirement, f"What came out: {path}.")
    expect(page.get_by_text("Every check holds.")).to_be_visible()
    for line in ("is in the session's log", "has the stated sha256", "was last changed after the claim"):
        expect(page.get_by_role("listitem").filter(has_text=line)).to_contain_text("verified")
    page.get_by_role("link", name="Look at it on the board").click()
    expect(card(page, f"What came out: {path}.")).to_contain_text("has the stated sha256")
    page.get_by_role("link", name="Contracts").click()
    expect(card(page, OBJECTIVE).get_by_role("listitem").filter(has_text=requirement)).to_contain_text("verified")


def choose_artifact(page: Page, path: str) -> None:
    card(page, OBJECTIVE).get_by_role("link", name="Attach artifact as evidence").click()
    page.get_by_role("navigation", name="From which session").get_by_role("link", name=RECORDER).click()
    listed = page.get_by_role("list", name="Artifacts, newest first")
    listed.get_by_role("link", name=re.compile(re.escape(path.rpartition("/")[2]))).filter(has_not_text="diff").click()
    expect(page.get_by_role("figure")).to_contain_text(path)


def give_evidence(page: Page, requirement: str, summary: str) -> None:
    form = page.locator("form").filter(has=page.get_by_role("button", name="Attach as evidence")).first
    fill(form, {"Answers": requirement, "What it shows": summary})
    form.get_by_role("button", name="Attach as evidence").click()


def block_and_resolve(page: Page, board: str) -> None:
    """A met stop condition with proof blocks the contract and asks for the person, here and in the tab's title."""
    open_board(page, board)
    stays(page)
    expect(page).to_have_title(f"{TITLE} · AgentLink")
    contract = card(page, OBJECTIVE)
    stops = {
        "What_stands_in_the_way": "The camera is at 80 degrees.",
        "Stop_condition_that_is_met": "the camera gets hot",
    }
    act(contract, "Open blocker", **stops, **{"verified: What came out: recordings/light.md.": True})
    expect(page).to_have_title(f"(1) {TITLE} · AgentLink")
    expect(page.get_by_role("link", name="Needs you 1")).to_be_visible()
    expect(page.get_by_role("link", name="Blockers 1")).to_be_visible()
    expect(contract).to_contain_text(re.compile(r"Blocked.*The camera is at 80 degrees\."))
    act(need(page, "The camera is at 80 degrees."), "Resolve", How_it_ended="It cooled down to 40 degrees.")
    expect(page.get_by_text("Nothing waits for you on this board.")).to_be_visible()
    expect(page).to_have_title(f"{TITLE} · AgentLink")
    assert stayed(page)


def complete_and_close(page: Page, board: str) -> None:
    """With every proof verified the gate lets both through; what was proved stays as a report."""
    contract = card(page, OBJECTIVE)
    act(contract, "Complete", Note="Both files are there.")
    expect(contract).to_contain_text("Closed with 2 verified of 2 required")
    page.get_by_role("button", name="Close board").click()
    page.locator("[popover]:popover-open").get_by_role("button", name="Close board").click()
    report = page.get_by_role("region", name="Final report")
    expect(report).to_contain_text("completed")
    expect(report).to_contain_text(OBJECTIVE)
    for path in ("recordings/run002.md", "recordings/light.md"):
        expect(report.get_by_role("listitem").filter(has_text=path)).to_contain_text("verified")
    expect(report.get_by_role("listitem").filter(has_text="The recording that got lost.")).to_contain_text("rejected")
    expect(report).to_contain_text("It cooled down to 40 degrees.")
    expect(page.get_by_text("This board is closed and read-only.")).to_be_visible()
    assert stayed(page)
