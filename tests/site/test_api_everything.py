"""The whole OpenAPI document against a real server: what is asked is made up by schemathesis, sensible and hostile.

No answer may be a 5xx, an undocumented status, content type or header, or a body of another form; wrong data and wrong
methods must be refused. So that more is met than 404s, ids of what is there take the place of most made-up ones.
"""

from __future__ import annotations

import json
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case, Response
from schemathesis.specs.openapi.checks import ignored_auth

from boards.api import bodies
from boards.schemas import COMMANDS
from boards.shapes import camel
from tests.fixtures import unpack
from tests.site.callers import BASE, Json, document
from tests.site.servers import WAIT, Server

SESSION = "kv260-recorder"
PEER = "arduino-longjob"
Asked = Case[Any]
CONTENT = {"Content-Type": "application/json"}
SPARED = {"leave_board", "close_board", "erase_payload"}
"""Commands that would end the story for all that come after: they meet made-up ids only."""

schema = schemathesis.openapi.from_dict(document())
schema.config.generation.update(with_security_parameters=False)  # who asks is each test's own matter
schema.config.checks.positive_data_acceptance.expected_statuses += ["422"]  # the rules of the domain are in no schema


@dataclass
class Story:
    """A server with things to ask for, and what the latest answers said of them."""

    server: Server
    headers: dict[str, dict[str, str]]
    seen: dict[str, set[int]] = field(default_factory=dict)

    def tell(self, path: str, body: Json) -> Json:
        """The person does something that must work."""
        answer = self.server.ask_unix("POST", BASE + path, CONTENT, json.dumps(body).encode())
        assert answer.status in (200, 201), answer.body
        found: Json = answer.json
        return found


REAL: dict[str, Any] = {}
"""What is there, by the names that fields and addresses have for it; filled when the server stands."""


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with tempfile.TemporaryDirectory(prefix="al-") as folder:
        fixture = unpack(Path(folder))
        home = Path(folder) / "home"
        with Server(home, UNHURRIED="1", AGINTIFLOW_HOME=str(fixture.home)) as server:
            yield begun(Story(server, {}))


def begun(story: Story) -> Story:
    """A board with contracts, tasks, evidence, a blocker, a message and a summary."""
    until_scanned(story.server)
    members = {SESSION: "supervisor", PEER: "worker"}
    board = f"/boards/{story.tell('/boards', {'title': 'All', 'boardId': 'all', 'members': members})['boardId']}"
    wish = {"owners": {SESSION: ["/dev/video0"]}, "requiredEvidence": ["one file"], "stopConditions": ["no disk"]}
    for number in range(3):
        story.tell(f"{board}/contracts", {"objective": f"Work {number}", "contractId": f"work-{number}"})
    story.tell(f"{board}/contracts", {"objective": "Record", "contractId": "record", **wish})
    told = {"contractId": "work-0", "summary": "It is there."}
    evidence = story.tell(f"{board}/evidence", told)["evidenceId"]
    message = story.tell(f"{board}/messages", {"to": [SESSION, PEER], "content": "Go on"})["messageId"]
    blocker = story.tell("/commands", {"command": "open_blocker", "boardId": "all", "summary": "No disk"})
    story.tell(f"/sessions/{SESSION}/summarize", {"boardId": "all"})
    token = (story.server.home / "tokens" / SESSION).read_text().strip()
    story.headers["token"] = {"Authorization": f"Bearer {token}"}
    story.headers["cookie"] = {**story.server.login(), "Origin": story.server.origin}
    REAL.update(
        boardId=["all"], contractId=["record", "work-0", "work-1", "work-2"], taskId=["record", "work-0", "work-1"],
        messageId=[message], evidenceId=[evidence], blockerId=[blocker["blockerId"]], sessionId=[SESSION, PEER],
        nodeId=[SESSION, PEER], node=[SESSION, PEER], requirementId=["proof-1"], replyTo=[message], board=["all"],
        expectedRevision=[0],
    )  # fmt: skip
    return story


def until_scanned(server: Server) -> None:
    """The sessions are found a moment after the start."""
    deadline = time.monotonic() + WAIT
    while server.ask_unix("GET", f"{BASE}/sessions/{SESSION}/artifacts").status == 404:
        assert time.monotonic() < deadline, server.log()
        time.sleep(0.05)


THING_OF = {"contracts": "contractId", "tasks": "taskId", "messages": "messageId", "evidence": "evidenceId",
            "blockers": "blockerId"}  # fmt: skip


def real(name: str, value: Any) -> Any:
    """Something that is there in the place of most made-up values; which, the made-up value decides."""
    choices, chance = REAL.get(name), zlib.crc32(repr(value).encode("utf-8", "replace"))
    return choices[chance // 4 % len(choices)] if choices and chance % 4 else value


def speak_of_what_is_there(case: Asked) -> None:
    """Sensible cases get real ids; hostile ones stay as they were made up."""
    if case.meta is None or case.meta.generation.mode.is_negative:
        return
    case.path_parameters = {
        name: real(known_as(case, name), value) for name, value in (case.path_parameters or {}).items()
    }
    case.query = {name: real(name, value) for name, value in (case.query or {}).items() if name != "cursor"}
    if isinstance(case.body, dict):
        case.headers.pop("Idempotency-Key", None)  # the body's own key would have to be the same
        case.body = filled(case.body)


def known_as(case: Asked, name: str) -> str:
    """The field that a part of an address is: what `thing_id` is, the word before it says."""
    return THING_OF[case.path.split("/")[3]] if name == "thing_id" else camel(name)


def filled(body: Json) -> Json:
    """A body with real ids, and with what its command cannot do without."""
    spared = str(body.get("command")) in SPARED
    found = dict(body) if spared else {name: real(name, value) for name, value in body.items()}
    if isinstance(found.get("to"), list):
        found["to"] = [real("node", one) for one in found["to"]]
    kind = found.get("command") or bodies.STATUS_COMMANDS.get(str(found.get("status")))
    if kind and COMMANDS[kind].controlled:
        made = f"key-{zlib.crc32(repr(body).encode('utf-8', 'replace'))}"
        found |= {"key": found.get("key") or made, "expectedRevision": REAL["expectedRevision"][0]}
    return found


def ask(story: Story, surface: str, case: Asked) -> None:
    """One request and every check of its answer. Whether nobody is refused is tried with the token: the cookie's name
    is each home's own."""
    speak_of_what_is_there(case)
    response = case.call(base_url=story.server.origin, headers=story.headers[surface], timeout=30)
    story.seen.setdefault(f"{case.method} {case.path}", set()).add(response.status_code)
    remember(response)
    case.validate_response(response, excluded_checks=[] if surface == "token" else [ignored_auth])


def remember(response: Response) -> None:
    """The newest revision that an answer spoke of is what the next controlled command has seen."""
    receipt = response.json().get("receipt") if "json" in response.headers.get("content-type", [""])[0] else None
    if isinstance(receipt, dict) and receipt.get("boardId") == "all" and receipt["revision"]:
        REAL["expectedRevision"] = [receipt["revision"]]


def examples(number: int, *, same: bool) -> settings:
    """So many made-up cases of each route besides the telling ones; ``same``: those of the run before."""
    return settings(
        max_examples=number, derandomize=same, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )  # fmt: skip


@pytest.mark.process
@schema.parametrize()
@examples(4, same=True)
def test_a_token_meets_nothing_undocumented(story: Story, case: Asked) -> None:
    ask(story, "token", case)


@pytest.mark.process
@schema.parametrize()
@examples(1, same=True)
def test_the_cookie_meets_nothing_undocumented(story: Story, case: Asked) -> None:
    ask(story, "cookie", case)


@pytest.mark.process
@pytest.mark.soak
@pytest.mark.timeout(1800)
@schema.parametrize()
@examples(100, same=False)
def test_nobody_meets_anything_undocumented_for_long(story: Story, case: Asked) -> None:
    for surface in story.headers:
        ask(story, surface, case)


@pytest.mark.process
def test_what_was_there_was_found_and_is_still_there(story: Story) -> None:
    """Else the tests above would only have met refusals. They may have been shared with another process."""
    reads = {name: statuses for name, statuses in story.seen.items() if name.startswith("GET ")}
    assert [name for name, statuses in reads.items() if 200 not in statuses] == []
    for path in (path for path, known in document()["paths"].items() if "get" in known):
        address = path.format(
            board_id="all", session_id=SESSION, thing_id=REAL[THING_OF.get(path.split("/")[3], "boardId")][0]
        )
        assert story.server.ask("GET", address, story.headers["token"]).status == 200, address
    for headers in story.headers.values():
        board = story.server.ask("GET", f"{BASE}/boards/all", headers).json
        assert (board["boardId"], board["status"]) == ("all", "active")
