"""Board folders: export a board into a folder, import one from it. Work of the person, done in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from agentlink_site import client
from agentlink_site.cli import which
from agentlink_site.cli.app import BoardArgument, app, command
from agentlink_site.cli.desk import CONFLICT, OUTAGE, USAGE, Desk, put
from agentlink_site.cli.terminal import line, say

Folder = Annotated[Path, typer.Argument(metavar="DIR")]
ENDS: Final = {"conflict": CONFLICT, "failed": OUTAGE}
"""The exit status of an outcome that is no success and no refusal."""


@command(app, "export-board")
def export_board(desk: Desk, board: BoardArgument, folder: Folder) -> None:
    """Copy a board's folder to DIR, for keeping or for another home. Only you may, not a node."""
    desk.only_human("export a board")
    board_id = which.board(desk, board)
    with _own_work(desk):
        from boards.folder import export_board as export

        made = export(board_id, folder.absolute())
    if desk.as_json:
        put(json.dumps({"boardId": board_id, "path": str(made)}).encode())
        return
    say(f"{line(board_id)} is in {line(made)}.")


@command(app, "import-board")
def import_board(
    desk: Desk,
    folder: Folder,
    until_break: Annotated[
        bool, typer.Option("--until-break", help="Where the chain is broken, restore what stands before.")
    ] = False,
) -> None:
    """Restore a board from what DIR holds of it. Only you may, not a node."""
    desk.only_human("import a board")
    with _own_work(desk):
        from boards.folder import import_board as restore

        found = restore(folder.absolute(), until_break=until_break)
    if not found.receipt.accepted:
        status = ENDS.get(found.receipt.outcome, USAGE)
        desk.end(found.receipt.code, found.receipt.detail, found.body(), status=status)
    if desk.as_json:
        put(json.dumps(found.body()).encode())
        return
    came = f"{found.events} events, {found.nodes} nodes, {found.foreign} foreign lines"
    say(f"{line(found.board_id)} is restored: {came}.")
    for problem in found.problems:
        say(f"  {line(problem)}")


@contextmanager
def _own_work(desk: Desk) -> Iterator[None]:
    """Work on the store itself; what the rules or the disk refuse ends the command with a sentence."""
    with client.in_process():
        try:
            yield
        except LookupError as error:
            desk.refuse("unknown_board", str(error.args[0] if error.args else error))
        except OSError as error:
            desk.refuse("folder_unusable", _said(error))


def _said(error: OSError) -> str:
    """The sentence that came with it, else what the system says of which file."""
    return f"{error.filename} cannot be used: {error.strerror}." if error.strerror else str(error)
