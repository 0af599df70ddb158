"""The command line: `agentlink`. Exit status 0 done, 2 refused or wrong usage, 3 conflict, 4 not yet, 1 outage."""

from __future__ import annotations

import os
import signal
import sys

import typer

from agentlink_site.cli import asking, boards, contracts, evidence, folders, home, inbox, messages, tasks, watching
from agentlink_site.cli.app import app
from agentlink_site.cli.desk import OUTAGE, USAGE, complain
from agentlink_site.client import Outage
from agentlink_site.config import ConfigError

__all__ = [
    "app", "asking", "boards", "contracts", "evidence", "folders", "home", "inbox", "main", "messages", "tasks",
    "watching",
]  # fmt: skip

PIPE_CLOSED = 128 + signal.SIGPIPE
INTERRUPTED = 128 + signal.SIGINT


def main() -> None:
    """Run the command line; whatever a person can do wrong is one sentence on stderr, never a traceback."""
    os.umask(0o077)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a terminal that is not UTF-8
    try:
        status = _run()
        sys.stdout.flush()
    except BrokenPipeError:
        status = PIPE_CLOSED
    except KeyboardInterrupt:
        status = INTERRUPTED
    if status in (PIPE_CLOSED, INTERRUPTED):
        _drop_output()
    sys.exit(status)


def _run() -> int:
    """The exit status of the command."""
    try:
        return int(app(prog_name="agentlink", standalone_mode=False) or 0)
    except typer.TyperException as error:
        return _usage(error)
    except typer.Abort:
        return INTERRUPTED
    except ConfigError as error:
        return _failed(USAGE, str(error), getattr(error, "code", "bad_setting"))
    except Outage as error:
        return _failed(OUTAGE, str(error), error.code)


def _usage(error: typer.TyperException) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":  # `agentlink contract` alone: its help is the answer
        error.show()  # type: ignore[attr-defined]
        return USAGE
    context = getattr(error, "ctx", None)
    where = context.command_path if context else "agentlink"
    return _failed(USAGE, f"{error.format_message().rstrip('.')}; see `{where} --help`.", "usage")


def _failed(status: int, sentence: str, code: str) -> int:
    complain(sentence, code)
    return status


def _drop_output() -> None:
    """Nobody reads any more: what is still in the buffers must not raise when Python ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
