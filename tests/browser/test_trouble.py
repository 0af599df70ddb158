"""When things go wrong: a server that dies and comes back, a card that is out of date, a link that was used."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, WebSocket, expect

from tests.browser.desk import LIGHT, RECORDER, SUPERVISOR, Desk
from tests.browser.panel import card, expect_live, fill, message, open_board, stayed, stays, step, unfold
from tests.browser.watch import GONE

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

DRAFT = "This was typed before the server died"
REFUSED_LINK = r"status of 401"


def test_a_server_that_is_killed_and_started_again(desktop: Page, desk: Desk, allowed: list[str]) -> None:
    """The chip tells, another process writes meanwhile, and then nothing is lost: not the login, not the draft."""
    allowed.append(GONE)
    page = desktop
    board = desk.board("Through a crash", RECORDER, LIGHT)
    open_board(page, board)
    stays(page)
    composer = page.get_by_role("complementary", name="Messages")
    composer.get_by_role("combobox", name="To").select_option(label=LIGHT)
    text = composer.get_by_role("textbox", name="Message")
    text.fill(DRAFT)
    chip = page.get_by_role("banner")

    desk.kill()
    expect(chip.get_by_text(re.compile(r"^Reconnecting, last seen \d+ s ago$"))).to_be_visible()
    text.press_sequentially(", and this after.")
    composer.get_by_role("button", name="Send to peer").click()
    expect(composer.get_by_role("alert")).to_contain_text("The server did not answer. Nothing you typed is lost")
    desk.contract(board, "Proposed while the server was dead", "--owner", f"{LIGHT}=/dev/ttyACM0")
    desk.restart()

    expect_live(page)
    expect(card(page, "Proposed while the server was dead")).to_be_visible()
    assert stayed(page), "the page was loaded anew"
    expect(text).to_have_value(f"{DRAFT}, and this after.")
    page.reload()
    expect_live(page)
    expect(text).to_have_value(f"{DRAFT}, and this after.")
    expect(composer.get_by_role("combobox", name="To")).to_have_value(LIGHT)
    composer.get_by_role("button", name="Send to peer").click()
    expect(message(page, f"{DRAFT}, and this after.")).to_contain_text(step("handed"))
    expect(message(page, DRAFT)).to_have_count(1)
    expect(text).to_have_value("")


def test_a_send_that_met_a_dead_server_is_done_once_afterwards(desktop: Page, desk: Desk, allowed: list[str]) -> None:
    """The same wish, pressed again on the same page after the restart."""
    allowed.append(GONE)
    page = desktop
    board = desk.board("Pressed twice", RECORDER, LIGHT)
    open_board(page, board)
    composer = page.get_by_role("complementary", name="Messages")
    fill(composer, {"Message": "Pressed before and after"})
    desk.kill()
    composer.get_by_role("button", name="Send to peer").click()
    expect(composer.get_by_role("alert")).to_contain_text("try again, it will not be done twice")
    desk.restart()
    expect_live(page)
    composer.get_by_role("button", name="Send to peer").click()
    expect(composer.get_by_text("applied · revision")).to_be_visible()
    expect(message(page, "Pressed before and after")).to_have_count(1)
    expect(message(page, "Pressed before and after")).to_contain_text(step("handed"))
    [item] = [one for one in desk.inbox(RECORDER) if "Pressed before and after" in one["content"]]
    assert item["agentlink"]["boardId"] == board


def test_a_claim_on_a_stale_card_says_who_holds_it(desktop: Page, desk: Desk) -> None:
    """Two tabs; the second has not heard yet that the first has claimed."""
    first, second = desktop, desktop.context.new_page()
    second.goto(first.url)
    board = desk.board("Two tabs", RECORDER, SUPERVISOR)
    desk.contract(board, "One task for whoever is first", "--requires", "a file")
    for page in (first, second):
        open_board(page, board)
    second.route("**/regions/**", lambda route: None)  # its network is slow: it fetches, and nothing comes back
    forms = [unfold(card(page, "One task for whoever is first"), "Claim") for page in (first, second)]
    for form, node in zip(forms, (RECORDER, SUPERVISOR), strict=True):
        fill(form, {"Claim for": node})
        form.get_by_role("button", name="Claim").click()
        if node == RECORDER:
            expect(card(first, "One task for whoever is first").get_by_role("meter")).to_be_visible()
    conflict = card(second, "One task for whoever is first").get_by_role("alert")
    expect(conflict).to_contain_text("conflict")
    expect(conflict).to_contain_text(re.compile(rf"{RECORDER} holds it until 20\d\d-"))
    second.unroute("**/regions/**")  # lets go of what was held
    expect(card(second, "One task for whoever is first").get_by_role("meter")).to_be_visible()
    expect(conflict).to_be_visible()


def test_completing_is_refused_beside_the_button_when_the_proof_was_rejected_meanwhile(
    desktop: Page, desk: Desk
) -> None:
    """The page still offers it; the gate decides, and says what is missing."""
    page = desktop
    board = desk.board("Too late", RECORDER, LIGHT)
    contract = desk.contract(board, "One checked file", "--requires", "the file of the run")
    desk.shell.ok("claim", board, contract, "--for", RECORDER)
    file = str(desk.writes_file(RECORDER, "recordings/late.md", "5 s"))
    about = ("--contract", contract, "--requirement", "proof-1", "--summary", "The file", "--file", file)
    bundle = desk.shell.json("evidence", "attach", board, *about)
    assert bundle["verdict"] == "verified"
    open_board(page, board)
    form = unfold(card(page, "One checked file"), "Complete")
    page.route("**/regions/**", lambda route: None)
    desk.shell.ok("evidence", "reject", board, bundle["evidenceId"], "--reason", "It is the file of another run.")
    form.get_by_role("button", name="Complete").click()
    refused = card(page, "One checked file")
    expect(refused.get_by_role("alert")).to_contain_text("refused: not finished yet")
    expect(refused.get_by_text("lacks “the file of the run” (its evidence is rejected).")).to_be_visible()
    page.unroute("**/regions/**")  # lets go of what was held
    expect(refused.get_by_role("button", name="Complete")).to_have_count(0)
    expect(refused.get_by_text("lacks “the file of the run” (its evidence is rejected).")).to_be_visible()


def test_a_login_link_works_once(visitor: Callable[..., BrowserContext], desk: Desk, allowed: list[str]) -> None:
    """Looking at it uses nothing up; the button does, for every page that shows it."""
    allowed.append(REFUSED_LINK)
    link = desk.link
    pages = [visitor().new_page() for _ in range(3)]
    for page in pages[:2]:
        page.goto(link)
        expect(page.get_by_role("button", name="Log in on this browser")).to_be_visible()
    for page in pages[:2]:
        page.get_by_role("button", name="Log in on this browser").click()
    expect(pages[0].get_by_role("banner")).to_contain_text("Live")
    assert pages[0].url == f"{desk.server.origin}/"
    pages[2].goto(link)
    for page in pages[1:]:
        expect(page.get_by_text("This login link was used already")).to_be_visible()
        page.goto(f"{desk.server.origin}/boards/new")
        expect(page.get_by_role("button", name="Create board")).to_have_count(0)


def test_ten_tabs_on_one_board_all_receive_a_change(desktop: Page, desk: Desk) -> None:
    """By the doorbell, not by the look that every region takes now and then."""
    board = desk.board("Ten tabs", RECORDER, LIGHT)
    pages = [desktop, *(desktop.context.new_page() for _ in range(9))]
    frames = [heard(page, board) for page in pages]
    for page in pages:
        page.goto(f"{desk.server.origin}/boards/{board}/")
        expect_live(page)
        stays(page)
    made = desk.shell.json("contract", "new", board, "--objective", "Seen in every tab")
    for page, bells in zip(pages, frames, strict=True):
        expect(card(page, "Seen in every tab")).to_be_visible()
        assert {"board": board, "revision": made["receipt"]["revision"]} in [
            {"board": bell["board"], "revision": bell["revision"]} for bell in bells if "contracts" in bell["regions"]
        ]
        assert stayed(page)


def heard(page: Page, board: str) -> list[dict[str, Any]]:
    """What the board's socket of this page says from now on."""
    bells: list[dict[str, Any]] = []

    def listen(socket: WebSocket) -> None:
        if socket.url.endswith(f"/ws/boards/{board}"):
            socket.on("framereceived", lambda text: bells.append(json.loads(text)))

    page.on("websocket", listen)
    return bells


def test_a_message_with_the_keyboard_alone(desktop: Page, desk: Desk) -> None:
    """`c` goes to the composer, Tab walks through it, Ctrl+Enter sends; the pointer is never used."""
    page, keys = desktop, desktop.keyboard
    board = desk.board("Keys", RECORDER, LIGHT)
    open_board(page, board)
    keys.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    keys.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    keys.press("c")
    composer = page.get_by_role("complementary", name="Messages")
    expect(composer.get_by_role("textbox", name="Message")).to_be_focused()
    for label in ("Priority", "Type", "Contract", "To"):
        keys.press("Shift+Tab")
        expect(composer.get_by_role("combobox", name=label)).to_be_focused()
    keys.press("ArrowDown")
    expect(composer.get_by_role("combobox", name="To")).to_have_value(LIGHT)
    expect(composer.get_by_text(f"aginti resume {LIGHT}")).to_be_visible()
    for _ in range(4):
        keys.press("Tab")
    keys.type("Written without a pointer")
    keys.press("Enter")
    keys.type("on two lines")
    keys.press("Control+Enter")
    expect(message(page, "Written without a pointer")).to_contain_text(step("handed"))
    expect(message(page, "on two lines")).to_contain_text(LIGHT)
    expect(composer.get_by_role("textbox", name="Message")).to_have_value("")
    expect(composer.get_by_role("textbox", name="Message")).to_be_focused()
