"""How far each consumer of events has read: one small file for each name, replaced in one step."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from agentlink_site.cli.desk import Desk
from agentlink_site.client import working_home
from agentlink_site.home import own_folder, read_private, write_private

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def check(desk: Desk, name: str) -> None:
    """Ends the command for what cannot be a file's name."""
    if not NAME.fullmatch(name) or ".." in name:
        desk.refuse(
            "bad_name", f"--resume is {name[:64]!r}; use letters, digits, '.', '_' and '-', at most 64 of them."
        )


def recall(desk: Desk, name: str, board: str | None) -> int | None:
    """Where this consumer stopped; None for a new one. Ends the command when the name follows something else."""
    try:
        kept = json.loads(read_private(_path(name)))
        followed, after = kept["board"], int(kept["after"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        desk.refuse("bad_cursor", f"{_path(name)} is damaged; delete it and give --after.")
    if followed != board:
        what = f"the board {followed}" if followed else "all boards"
        desk.refuse("other_cursor", f"{name} follows {what}; choose another name for this.")
    return after


def keep(name: str, board: str | None, after: int) -> None:
    """Everything up to here was shown."""
    path = _path(name)
    own_folder(path.parent)
    write_private(path, json.dumps({"board": board, "after": after}).encode() + b"\n")


def _path(name: str) -> Path:
    return working_home() / "cursors" / f"{name}.json"
