"""Which board is meant by ``-``, and who is shared with."""

from __future__ import annotations

from agentlink_site import client
from agentlink_site.cli.desk import Desk, Json

THIS = "-"


def board(desk: Desk, given: str, **things: str | None) -> str:
    """The board that is named; for ``-`` that of the thing, ``AGENTLINK_BOARD``, or the only open one.

    ``things`` are ids by kind of address: ``contracts="c-1"``.
    """
    if given != THIS:
        return given
    return of_thing(desk, things) or client.environment_board() or _only(desk, _open(desk), "is open to you")


def of_thing(desk: Desk, things: dict[str, str | None]) -> str | None:
    """The board that a thing belongs to."""
    for kind, thing_id in things.items():
        if thing_id:
            return str(desk.get(client.at(kind, thing_id)).data["boardId"])
    return None


def _open(desk: Desk) -> list[Json]:
    return [board for board in desk.get("/boards", {"limit": 500}).data["boards"] if board["status"] == "active"]


def _only(desk: Desk, boards: list[Json], what: str) -> str:
    if not boards:
        desk.refuse("no_board", f"No board {what}; name one, or make one with `agentlink create TITLE`.")
    if len(boards) > 1:
        names = ", ".join(board["boardId"] for board in boards[:10])
        desk.refuse("several_boards", f"{len(boards)} boards fit; name one of them: {names}.")
    return str(boards[0]["boardId"])


def shared(desk: Desk, given: str, to: list[str], contract: str | None) -> str:
    """The board for a message: as :func:`board`, else the only open one with all recipients; the pair's is made."""
    if given != THIS:
        return given
    found = of_thing(desk, {"contracts": contract}) or client.environment_board()
    if found:
        return found
    if "@board" in to:
        return _only(desk, _open(desk), "is open to you")
    boards = desk.get("/boards", {"sharedWith": ",".join(to), "limit": 500}).data["boards"]
    return _only(desk, boards, "is shared") if boards else _pair(desk, to)


def _pair(desk: Desk, to: list[str]) -> str:
    me = desk.me()
    if me in to:
        desk.refuse("to_oneself", "A message to oneself reaches nobody; name another peer.")
    wish = {"title": " and ".join([me, *to])[:200], "members": dict.fromkeys(to, "worker")}
    return str(desk.post("/boards", wish, part="-board").data["boardId"])
