"""Who asks the API in the tests; every answer is held against the OpenAPI document, whatever else a test looks at."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import jsonschema_rs
from django.test import Client

from agentlink_site.api import api

BASE = "/api/agentlink"
Json = dict[str, Any]


@dataclass
class Answer:
    status: int
    kind: str
    data: Json


@cache
def document() -> Json:
    """The OpenAPI document as a program reads it."""
    found: Json = json.loads(json.dumps(api.get_openapi_schema()))
    return found


@cache
def routes() -> list[tuple[re.Pattern[str], Json]]:
    """Each address as a pattern, with what the document says of its methods."""
    paths = document()["paths"].items()
    return [(re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path) + r"\Z"), known) for path, known in paths]


@cache
def validator(schema: str) -> Any:
    """Holds a value against a schema of the document, given as JSON."""
    whole = json.loads(schema) | {"components": document()["components"]}
    return jsonschema_rs.Draft202012Validator(whole)


def check_documented(method: str, address: str, answer: Answer) -> None:
    """The status, the content type and every field of this answer stand in the document."""
    path = address.partition("?")[0]
    operation = next((known[method.lower()] for route, known in routes() if route.match(path)), None)
    assert operation, f"{method} {path} is not in the document"
    known = operation["responses"].get(str(answer.status))
    assert known, f"{method} {path} answers {answer.status}, which is not in the document: {answer.data}"
    assert answer.kind in known["content"], f"{method} {path} answers {answer.status} with {answer.kind}"
    schema = json.dumps(known["content"][answer.kind]["schema"])
    faults = [f"{list(fault.instance_path)}: {fault.message}" for fault in validator(schema).iter_errors(answer.data)]
    assert not faults, f"{method} {path} {answer.status}: {faults}"


def client(actor: Json, **headers: str) -> Client:
    """A client that acts as somebody: what the guard would have found out."""
    found: dict[str, Any] = {"agentlink.actor": actor, **headers}
    return Client(**found)


@dataclass
class Caller:
    """Somebody who asks the API."""

    actor: Json

    def ask(self, method: str, path: str, content: bytes = b"", kind: str = "", **headers: str) -> Answer:
        """One request; its answer must be as documented."""
        response = client(self.actor, **headers).generic(method, BASE + path, content, kind or "application/json")
        answer = Answer(response.status_code, response.headers["Content-Type"], json.loads(response.content))
        if answer.status != 405:
            check_documented(method, BASE + path, answer)
        return answer

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def send(self, path: str, body: Any, kind: str = "", method: str = "POST", **headers: str) -> Answer:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask(method, path, content, kind, **headers)

    def patch(self, path: str, body: Any, **headers: str) -> Answer:
        return self.send(path, body, method="PATCH", **headers)

    def give(self, command: str, **fields: Any) -> Answer:
        return self.send("/commands", {"command": command, **fields})


def check_problem(answer: Answer, status: int, code: str) -> None:
    """An RFC 9457 problem with our code and a sentence."""
    assert (answer.status, answer.data["code"]) == (status, code), answer.data
    assert answer.kind == "application/problem+json"
    assert set(answer.data) >= {"type", "title", "status", "detail", "code", "receipt"}
    assert answer.data["status"] == status
    assert answer.data["detail"].endswith((".", "?", "\N{RIGHT DOUBLE QUOTATION MARK}"))


def every(caller: Caller, path: str, name: str, limit: int = 2) -> list[Json]:
    """All pages of a list; no page is larger than asked for."""
    found: list[Json] = []
    cursor = ""
    while True:
        mark = "&" if "?" in path else "?"
        answer = caller.get(f"{path}{mark}limit={limit}" + (f"&cursor={cursor}" if cursor else ""))
        assert answer.status == 200, answer.data
        assert len(answer.data[name]) <= limit
        found += answer.data[name]
        cursor = answer.data["nextCursor"]
        if not cursor:
            return found
