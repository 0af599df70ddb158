"""Redaction before storage holds for every text field of every command: by construction, not by memory."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel, ValidationError

from boards.commands.cleaning import LISTED, READ, RESOLVED, clean, looks_secret
from boards.rules.rights import SERVICE_ONLY
from boards.schemas import COMMANDS, Actor, Command
from tests.people import people

TOKEN = "ghp_" + "a1B2" * 9
"""Fake, and of a form that the redactor knows with certainty."""


def example(kind: Any, name: str) -> Any:
    """A value that fits an annotation, with the token in every text."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return example(args[0], name)
    if origin is Literal:
        return args[0]
    if origin in (Union, types.UnionType):
        return example(next(arg for arg in args if arg is not type(None)), name)
    if origin is list:
        return [example(args[0], name)]
    if origin is dict:
        return {"x": example(args[1], name)}
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {field: example(info.annotation, field) for field, info in kind.model_fields.items()}
    return {str: TOKEN, int: 60, bool: True}.get(kind, "2030-01-01T00:00:00Z" if "datetime" in str(kind) else TOKEN)


HARMLESS = {
    "sha256": "a" * 64,
    "timestamp": "2026-11-30T00:00:00.000Z",
    "event_type": "tool.completed",
    "root": "project",
    "session_id": "s",
    "source": "agintiflow",
    "id": "x",
}


def built(command: type[Command]) -> Command:
    """The command with the token in each field that takes it; a field that refuses it gets a harmless value."""

    def settle(values: dict[str, Any]) -> Command:
        for _ in range(60):
            try:
                return command.model_validate(values)
            except ValidationError as error:
                put(values, error.errors()[0]["loc"])
        raise AssertionError(f"no value fits {command.kind}")

    def put(values: Any, place: tuple[Any, ...]) -> None:
        names = [part for part in place if part != "[key]"]
        names = [snake(part) if isinstance(part, str) else part for part in names]
        for part in names[:-1]:
            values = values[part]
        values[names[-1]] = HARMLESS.get(str(names[-1]), "x")

    fields = {name: example(info.annotation, name) for name, info in command.model_fields.items()}
    return settle(fields)


def snake(name: str) -> str:
    """``sessionId`` becomes ``session_id``; an alias becomes its field."""
    return {"evidenceKind": "kind_of"}.get(name) or "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


def leaks(value: Any, at: str = "") -> Iterator[str]:
    """Where the token still stands."""
    if isinstance(value, str) and TOKEN in value:
        yield at
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from leaks(name, f"{at}.<name>")
            yield from leaks(item, f"{at}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from leaks(item, at)


@pytest.mark.django_db
@pytest.mark.parametrize("kind", sorted(set(COMMANDS) - SERVICE_ONLY - READ))
def test_no_command_carries_a_secret_into_the_store(kind):
    people()
    command = built(COMMANDS[kind])
    try:
        cleaned, _ = clean(command, Actor("alice", "cli"))
    except ValidationError as refused:  # where a pattern does not take the placeholder, the command is refused whole
        why = {error["type"] for error in refused.errors()}
        assert why == {"string_pattern_mismatch"}
        return
    left = {place for place in leaks(cleaned.model_dump()) if place.rpartition(".")[2] not in RESOLVED}
    assert not left


@pytest.mark.django_db
def test_secrets_hide_in_no_corner():
    """The corners that a list of names once let through."""
    people()
    wishes: list[tuple[str, dict[str, Any]]] = [
        ("register_node", {"name": "x", "role": TOKEN}),
        ("send_message", {"boardId": "b", "to": ["x"], "content": "c", "refs": [{"id": TOKEN, TOKEN: "x"}]}),
        ("summarize_session", {"boardId": "b", "node": "x", "text": "t", "summary": {"source": TOKEN, "to": TOKEN}}),
        ("attach_evidence", {"boardId": "b", "contractId": "c", "summary": "s", "evidenceKind": TOKEN}),
    ]
    for kind, fields in wishes:
        cleaned, hits = clean(COMMANDS[kind].model_validate(fields), Actor("alice", "cli"))
        assert TOKEN not in str(cleaned) and hits, kind
    for kind, fields in (
        ("propose_contract", {"boardId": "b", "objective": "o", "allowedActions": [{"id": TOKEN, "text": "t"}]}),
        ("register_node", {"name": "x", "source": TOKEN}),
    ):
        with pytest.raises(ValidationError):
            COMMANDS[kind].model_validate(fields)
    chosen = "glptt-fa4e0736ac3a33fc51c7d8525679868094d9b2ad"
    assert looks_secret(COMMANDS["create_board"].model_validate({"title": "t", "boardId": chosen}))


def test_what_is_exempt_is_an_id_a_word_of_a_list_or_a_narrow_pattern():
    for command in COMMANDS.values():
        for name, info in command.model_fields.items():
            if name in LISTED and name != "role":
                shape = str(info.annotation) + str(info.metadata)
                assert "Literal" in shape or "pattern" in shape, (command.kind, name)
