"""The typer application, and ``command``: what every command has (``--as``, ``--json``) and every write besides."""

from __future__ import annotations

import functools
import inspect
import json
import signal
from collections.abc import Callable
from typing import Annotated, Any, Final, get_type_hints

import typer

from agentlink_site import client
from agentlink_site.cli.desk import Desk
from agentlink_site.config import ConfigError

Function = Callable[..., None]

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
contract_app = typer.Typer(no_args_is_help=True, help="Contracts: who owns what, and which proof closes it.")
evidence_app = typer.Typer(no_args_is_help=True, help="Evidence: attach, list, verify, reject.")
app.add_typer(contract_app, name="contract")
app.add_typer(evidence_app, name="evidence")

As = Annotated[str | None, typer.Option("--as", metavar="NODE", help="Act as this node, with its own token.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the API's answer as it is.")]
Key = Annotated[str | None, typer.Option("--key", help="Idempotency key; the same key never does a thing twice.")]
Expect = Annotated[int | None, typer.Option("--expect", metavar="N", min=0, help="The board revision that you saw.")]
READS: Final[dict[str, Any]] = {"as_": (As, None), "as_json": (AsJson, False)}
WRITES: Final[dict[str, Any]] = {**READS, "key": (Key, None), "expect": (Expect, None)}


def board_names(incomplete: str) -> list[str]:
    """For the shell's completion: the boards that may be meant. Only a running server is asked: else it is too slow."""
    try:
        if not client.served():
            return []
        node = client.environment_node()
        status, _, raw = client.call("GET", "/boards", node=node, query={"limit": "500"})
        found = json.loads(raw)["boards"] if status == 200 else []
    except (ConfigError, client.Outage, ValueError, KeyError):
        return []  # a key press is no place for a complaint
    names = [str(board["boardId"]) for board in found]
    return [name for name in names if name.startswith(incomplete) and name.isascii() and name.isprintable()]


BoardArgument = Annotated[
    str,
    typer.Argument(metavar="BOARD", help="The board's id, or - for the one that is meant.", autocompletion=board_names),
]
BoardOption = Annotated[
    str, typer.Option("--board", help="The board; left out: the one that is meant.", autocompletion=board_names)
]
Limit = Annotated[int, typer.Option(min=1, max=500)]
Cursor = Annotated[str, typer.Option(help="The nextCursor of the page before.")]
For = Annotated[str | None, typer.Option("--for", metavar="NODE", help="As the local human, for this session.")]


@app.callback()
def agentlink() -> None:
    """The collaboration desk for coding-agent sessions on one machine."""


def command(group: typer.Typer, name: str, *, writes: bool = False) -> Callable[[Function], Function]:
    """Registers a function of a :class:`Desk` and its own arguments as a command."""

    def register(function: Function) -> Function:
        shared = WRITES if writes else READS

        @functools.wraps(function)
        def run(**given: Any) -> None:
            wish = {key: given.pop(key) for key in shared}
            try:
                function(Desk(wish.pop("as_"), **wish), **given)
            except BrokenPipeError:  # typer would end with 1, which means an outage
                raise typer.Exit(128 + signal.SIGPIPE) from None

        _sign(run, function, shared)
        group.command(name)(run)
        return function

    return register


def _sign(run: Any, function: Function, shared: dict[str, Any]) -> None:
    """Gives ``run`` the function's own parameters (without the desk) and the shared ones, for typer to read."""
    hints = get_type_hints(function, include_extras=True)
    own = list(inspect.signature(function).parameters.values())[1:]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [one.replace(annotation=hints[one.name], kind=keyword) for one in own]
    parameters += [inspect.Parameter(n, keyword, default=d, annotation=h) for n, (h, d) in shared.items()]
    del run.__wrapped__
    run.__signature__ = inspect.Signature(parameters)
    run.__annotations__ = {one.name: one.annotation for one in parameters}
