"""Logging in: one link, one button, one cookie, and no trace of the code."""

from __future__ import annotations

import re
import subprocess
import threading
from collections import Counter
from pathlib import Path

import pytest

from agentlink_site.login import WRONG_CODES, LoginCodes
from tests.site.servers import Answer, Server, cookie_of, run

pytestmark = pytest.mark.process


def test_the_link_shows_a_button_and_looking_at_it_consumes_nothing(server: Server) -> None:
    code = server.new_code()
    for _ in range(3):
        page = server.ask("GET", f"/login?code={code}")
        assert page.status == 200
        assert b"<button" in page.body
        assert not re.search(rb"<script|<style|\sstyle=|\son\w+=", page.body)
    assert server.post_code(code).status == 303


def test_the_button_logs_in_and_leads_to_a_clean_address(server: Server) -> None:
    answer = server.post_code(server.new_code())
    assert (answer.status, answer.headers["location"]) == (303, "/")
    session = next(cookie for cookie in answer.cookies if "csrf" not in cookie)
    for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
        assert part in session
    assert server.ask("GET", "/test/actor", {"Cookie": cookie_of(answer)}).status == 200


def test_a_code_logs_in_once(server: Server) -> None:
    code = server.new_code()
    assert server.post_code(code).status == 303
    again = server.post_code(code)
    assert again.status == 401
    assert b"used already" in again.body
    assert not [cookie for cookie in again.cookies if "csrf" not in cookie]
    assert server.ask("GET", f"/login?code={code}").status == 401


def test_of_many_who_press_at_once_one_gets_in(server: Server) -> None:
    code = server.new_code()
    answers: list[Answer] = []
    threads = [threading.Thread(target=lambda: answers.append(server.post_code(code))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(answer.status for answer in answers) == {303: 1, 401: 7}


def test_the_button_of_another_site_does_not_log_in(server: Server) -> None:
    code = server.new_code()
    assert server.post_code(code, Origin="http://evil.example").status == 403
    assert server.post_code(code, Origin="null").status == 403
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": server.origin}
    assert server.ask("POST", "/login", form, f"code={code}".encode()).status == 403  # no CSRF token
    assert server.post_code(code).status == 303


@pytest.mark.parametrize("code", ["", "x", "%C3%A9", "%00", "a" * 43, "%ED%A0%80"])
def test_a_wrong_code_gets_a_sentence(server: Server, code: str) -> None:
    answer = server.ask("GET", f"/login?code={code}")
    assert answer.status == 401
    assert b"agentlink open" in answer.body
    server.new_code()  # ends the count of wrong ones


def test_ten_wrong_codes_lock_every_code_that_is_out() -> None:
    codes = LoginCodes()
    good = codes.mint()
    assert [codes.look("wrong", consume=True) for _ in range(WRONG_CODES)] == ["wrong"] * WRONG_CODES
    assert codes.look(good, consume=True) == "locked"
    assert codes.look("wrong", consume=True) == "locked"
    assert codes.look(codes.mint(), consume=True) == "ok"
    assert codes.look(good, consume=True) == "wrong"


def test_a_used_code_does_not_count_as_wrong() -> None:
    codes = LoginCodes()
    used, good = codes.mint(), codes.mint()
    assert codes.look(used, consume=True) == "ok"
    assert {codes.look(used, consume=True) for _ in range(WRONG_CODES * 2)} == {"used"}
    assert codes.look(good, consume=True) == "ok"


def test_a_code_is_over_after_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    codes, now = LoginCodes(), [1000.0]
    monkeypatch.setattr("agentlink_site.login.time.monotonic", lambda: now[0])
    code = codes.mint()
    now[0] += 599
    assert codes.look(code, consume=False) == "ok"
    now[0] += 1
    assert codes.look(code, consume=True) == "wrong"


def test_a_code_has_256_bits_and_is_kept_only_as_a_hash() -> None:
    codes = LoginCodes()
    code = codes.mint()
    assert len(code) == 43
    assert code not in repr(vars(codes))


def test_login_links_are_made_only_over_the_unix_socket(server: Server, cookie: dict[str, str]) -> None:
    path = "/api/agentlink/login-links"
    assert server.ask("POST", path).status == 403
    panel = server.ask("POST", path, cookie | {"Origin": server.origin})
    assert panel.status == 403
    assert server.ask("GET", path, cookie).status == 405
    made = server.ask_unix("POST", path)
    assert made.status == 201
    assert made.json["loginUrl"].startswith(f"{server.origin}/login?code=")


def test_logging_out_ends_the_session(home: Path) -> None:
    with Server(home) as server:
        cookie = server.login()
        token = cookie["Cookie"].partition("=")[2].partition(";")[0]
        headers = cookie | {"Origin": server.origin, "X-CSRFToken": token}
        assert server.ask("POST", "/logout", headers).status == 303
        again = server.ask("GET", "/test/actor", cookie)
        for _ in range(100):  # the guard remembers a session for a second
            if again.status != 200:
                break
            threading.Event().wait(0.05)
            again = server.ask("GET", "/test/actor", cookie)
        assert again.status == 401


def test_two_instances_do_not_share_their_cookies(home: Path, server: Server, cookie: dict[str, str]) -> None:
    with Server(home) as other:
        assert other.ask("GET", "/test/actor", cookie).status == 401
        both = {"Cookie": "; ".join((cookie["Cookie"], other.login()["Cookie"]))}
        assert server.ask("GET", "/test/actor", both).status == 200
        assert other.ask("GET", "/test/actor", both).status == 200


def test_the_cookie_is_good_after_a_restart_and_the_old_code_is_not(home: Path) -> None:
    with Server(home) as first:
        cookie, code = first.login(), first.new_code()
        assert first.stop() == 0
    with Server(home, "--port", str(first.port)) as second:
        assert second.ask("GET", "/test/actor", cookie).status == 200
        assert second.post_code(code).status == 401


def test_the_code_is_in_no_command_line_and_in_no_log(home: Path) -> None:
    with Server(home, AGENTLINK_LOG_LEVEL="debug") as server:
        code = server.new_code()
        shown = server.ask("GET", f"/login?code={code}")
        assert server.post_code(code).status == 303
        server.ask("GET", f"/login?code={code}")
        printed = server.ready["loginUrl"].partition("code=")[2]
        listing = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout
        assert '"path": "/login"' in server.log()
        for secret in (code, printed):
            assert secret not in listing
            assert secret not in server.log()
        assert shown.headers["referrer-policy"] == "no-referrer"
        assert shown.headers["cache-control"] == "no-store"


def test_open_prints_a_link_that_works_and_fails_with_a_sentence_without_a_server(home: Path) -> None:
    nobody = run(home, "open")
    assert nobody.returncode != 0
    assert "agentlink up" in nobody.stderr
    with Server(home) as server:
        opened = run(home, "open")
        assert opened.returncode == 0
        assert server.post_code(opened.stdout.strip().partition("code=")[2]).status == 303


def test_the_browser_is_sent_by_a_private_file_and_not_by_its_command_line(home: Path) -> None:
    seen = home.parent / "arguments"
    browser = home.parent / "browser"
    browser.write_text(
        f'#!/bin/sh\necho "$@" > {seen}.draft; cp "${{1#file://}}" {seen}.page; mv {seen}.draft {seen}\n'
    )
    browser.chmod(0o755)
    with Server(home):
        link = run(home, "open", BROWSER=f"{browser} %s", DISPLAY=":1").stdout.strip()
        assert seen.read_text().strip() == (home / "open.html").as_uri()
        assert link.partition("code=")[2] in (home / "open.html").read_text()
        assert (home / "open.html").stat().st_mode & 0o077 == 0


def test_an_old_link_in_a_browser_that_is_logged_in_leads_to_the_boards(server: Server, cookie: dict[str, str]) -> None:
    code = server.new_code()
    assert server.post_code(code).status == 303
    again = server.ask("GET", f"/login?code={code}", cookie)
    assert (again.status, again.headers["location"]) == (303, "/")
    assert server.ask("GET", f"/login?code={code}").status == 401
