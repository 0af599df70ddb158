"""The command line as real processes, on homes with and without a server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.site.servers import WAIT, environment, program

PLANTED = """
from agentlink_site.server import prepare
prepare()
from boards.rules import tasks
tasks.held = lambda *_: False  # the planted fault: nobody ever holds anything
from agentlink_site.cli import main
main()
"""
"""`agentlink` without its compare-and-set: what the checkers must notice."""


@dataclass
class Done:
    """A command that has ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Shell:
    """Runs `agentlink` on one home."""

    home: Path
    more: dict[str, str] = field(default_factory=dict)
    planted: bool = False
    """Run the program with the planted fault."""

    def run(self, *arguments: str, **more: str) -> Done:
        """A command, whatever its exit status."""
        return _ended(self.start(*arguments, **more))

    def ok(self, *arguments: str, **more: str) -> Done:
        """A command that must work."""
        done = self.run(*arguments, **more)
        assert done.status == 0, done
        return done

    def json(self, *arguments: str, **more: str) -> Any:
        """The answer of a command that must work."""
        return self.ok(*arguments, "--json", **more).json

    def start(self, *arguments: str, **more: str) -> subprocess.Popen[str]:
        """A command that may still run."""
        command = [sys.executable, "-c", PLANTED, *arguments] if self.planted else program(*arguments)
        return subprocess.Popen(
            command, env=environment(self.home, **self.more, **more), cwd=self.home.parent,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, path: str, **body: Any) -> Any:
        """The API over the client, for what no command does: a read, or a write when there is a body."""
        code = (
            "import json, sys\nfrom agentlink_site.client import call\n"
            "path, body = sys.argv[1], json.loads(sys.argv[2])\n"
            "answer = call('POST', path, body) if body else call('GET', path, query={'limit': '500'})\n"
            "assert answer[0] in (200, 201), answer\n"
            "sys.stdout.buffer.write(answer[2])\n"
        )
        return json.loads(self._python(code, path, json.dumps(body)))

    def _python(self, code: str, *arguments: str) -> bytes:
        env = environment(self.home, **self.more)
        return subprocess.run(
            [sys.executable, "-c", code, *arguments], env=env, stdout=subprocess.PIPE, check=True
        ).stdout

    def register(self, names: Iterable[str]) -> None:
        """Nodes with tokens; made by the person over the client, as no command of the CLI registers yet."""
        code = (
            "import sys\nfrom agentlink_site.client import call\n"
            "for name in sys.argv[1:]:\n"
            "    answer = call('POST', '/commands', {'command': 'register_node', 'name': name})\n"
            "    assert answer[0] == 201, answer\n"
        )
        self._python(code, *names)


def complaint(done: Done) -> str:
    """The code of the one sentence on stderr."""
    match = re.fullmatch(r"agentlink: .+ \[([a-z0-9_]+)\]\n", done.err)
    assert match is not None, done
    assert done.out == ""
    return match[1]


def _ended(process: subprocess.Popen[str]) -> Done:
    out, err = process.communicate(timeout=WAIT * 2)
    return Done(process.returncode, out, err)


def all_ended(processes: list[subprocess.Popen[str]]) -> list[Done]:
    """Every one of them, when the last has ended."""
    return [_ended(process) for process in processes]
