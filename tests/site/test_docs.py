"""The documents are part of the contract: what exists is mentioned, examples parse, and links lead somewhere."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import typer.main

from agentlink_site import config
from agentlink_site.api import api
from agentlink_site.cli import app
from boards import words
from boards.events import EVENTS
from boards.schemas import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
OWN = {"agentlink_site", "boards", "peers", "evidence", "templates", "static", "tests", "docs", ".ci"}


def text_of(name: str) -> str:
    return (ROOT / name).read_text()


def verbs(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from verbs(command, (*path, name))
        else:
            yield (*path, name), command


VERBS = dict(verbs(typer.main.get_command(app)))


def examples() -> list[list[str]]:
    """Every example of docs/cli.md as words."""
    joined = text_of("docs/cli.md").replace("\\\n", " ")
    lines = [line for line in joined.splitlines() if line.startswith("$ agentlink ")]
    return [shlex.split(line.removeprefix("$ agentlink "), comments=True) for line in lines]


def called(example: list[str]) -> tuple[str, ...]:
    """The verb of an example; its first word when there is no such verb."""
    return next((path for size in (2, 1) if (path := tuple(example[:size])) in VERBS), tuple(example[:1]))


def test_every_verb_has_an_example() -> None:
    assert {called(example) for example in examples()} == set(VERBS)


@pytest.mark.parametrize("example", examples(), ids=" ".join)
def test_every_example_parses(example: list[str]) -> None:
    path = called(example)
    VERBS[path].make_context(" ".join(path), example[len(path) :])


def test_every_option_is_mentioned() -> None:
    text = text_of("docs/cli.md")
    used = {(path, word) for example in examples() for path in [called(example)] for word in example}
    shared = {"--as", "--json", "--key", "--expect", "--for", "--help"}
    options = {(path, name) for path, command in VERBS.items() for one in command.params for name in one.opts}
    own = {(path, name) for path, name in options if name.startswith("--") and name not in shared}
    assert own <= used
    assert all(f"`{name}" in text for name in shared - {"--help"})


def test_every_setting_is_mentioned() -> None:
    names = {config.env_name(name) for name in config.Config.model_fields}
    assert not [name for name in names if f"| `{name}` |" not in text_of("docs/cli.md")]


def test_every_event_is_described() -> None:
    text = text_of("docs/rules.md")
    assert not [name for name in EVENTS if f"| `{name}` |" not in text]


def test_every_command_is_described() -> None:
    text = text_of("docs/rules.md")
    assert not [name for name in COMMANDS if f"| `{name}` |" not in text]


def test_every_word_of_the_domain_is_explained() -> None:
    text = text_of("docs/rules.md")
    tables = (words.Role, words.Trust, words.MessageType, words.Answer, words.Verdict)
    assert not [word for table in tables for word in get_args(table) if f"`{word}`" not in text]


def test_every_route_is_listed() -> None:
    text = text_of("docs/api.md")
    routes = [(m.upper(), path) for path, known in api.get_openapi_schema()["paths"].items() for m in known]
    assert len(routes) > 10
    assert not [r for r in routes if f"| {r[0]} | `{r[1].removeprefix('/api/agentlink')}` |" not in text]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if "://" not in link:
            name, _, heading = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), link
            assert not heading or heading in _headings(target), link


def _headings(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
