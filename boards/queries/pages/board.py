"""A board's head, its views, and what its composer and its contract form offer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from boards.models import Blocker, Board, Contract, Evidence, Member
from boards.queries.pages.actions import Action, Option, Place, line, select, words
from boards.queries.pages.home import found_sessions, reached
from boards.queries.pages.paging import Shown, shown
from boards.queries.pages.snapshot import Face, Snapshot
from boards.queries.reach import reach_by
from boards.words import MessageType, Priority
from peers import queries as peers
from peers.models import Session

VIEWS: Final = ("contracts", "evidence", "blockers", "ownership")
"""The views of a board; each is a region, and the first is shown when none is asked for."""
TYPES: Final[tuple[str, ...]] = MessageType.__args__  # type: ignore[attr-defined]
PRIORITIES: Final[tuple[str, ...]] = Priority.__args__  # type: ignore[attr-defined]
ROLES: Final = (("worker", "worker"), ("supervisor", "supervisor"), ("observer", "observer"))
CHOICES: Final = 200
"""Contracts that the composer lists."""
EVERYONE: Final = "@board"


@dataclass(frozen=True, slots=True)
class MemberLine:
    """A member, how alive its session is, and how a message reaches it."""

    row: Member
    face: Face
    status: str
    session: Any
    reach: str


@dataclass(frozen=True, slots=True)
class BoardHead:
    """Title, chips, people, and what can be done with the whole board."""

    board: Board
    members: list[MemberLine]
    actions: list[Action]
    invite: Action | None
    leave: Action | None

    @property
    def ended(self) -> str:
        """How the board ended, in words."""
        return self.board.final_status.replace("_", ", ")


def board_head(shot: Snapshot) -> BoardHead:
    """The head of a board's page."""
    nodes = [shot.faces.nodes[row.node_id] for row in shot.members if row.node_id in shot.faces.nodes]
    sessions = peers.sessions_of((node.source, node.session_id) for node in nodes)
    ordered = sorted(shot.members, key=lambda row: (row.role != "human", row.node_id))
    members = [_member(shot, row, sessions) for row in ordered]
    place = Place(shot.board, "head", shot.board.board_id, shot.board.revision)
    if not shot.open:
        return BoardHead(shot.board, members, [], None, None)
    return BoardHead(shot.board, members, _board_actions(place, members), _invite(shot, place), _leave(shot, place))


def _member(shot: Snapshot, row: Member, sessions: dict[tuple[str, str], Session]) -> MemberLine:
    node = shot.faces.nodes.get(row.node_id)
    session = sessions.get((node.source, node.session_id)) if node else None
    status = session.status if session else ("running" if row.node_id == shot.me else "unknown")
    reach = reached(reach_by(node, session), status)[0] if node else ""
    return MemberLine(row, shot.faces(row.node_id), status, session, reach)


def _board_actions(place: Place, members: list[MemberLine]) -> list[Action]:
    agents = [(line.face.node_id, line.face.name) for line in members if line.face.kind == "agent"]
    note = words("note", "Note for the report", required=False)
    close = place.action("close_board", "Close board", {}, note, tone="quiet")
    if not agents:
        return [close]
    everyone = [("", "every session"), *agents]
    return [
        place.action("request_status", "Request status", {}, select("node", "Of", everyone)),
        place.action("summarize", "Summarize for peers", {}, select("node", "Which session", agents)),
        close,
    ]


def _invite(shot: Snapshot, place: Place) -> Action:
    """Sessions found on this machine that are no members; any other session or node can be typed."""
    inside = {shot.faces.nodes[row.node_id].session_id for row in shot.members if row.node_id in shot.faces.nodes}
    listed = found_sessions()
    found = [(row.session_id, f"{row.title or row.session_id} ({row.project_name})") for row in listed.rows]
    label = (
        f"Session found here ({listed.more} more can be named by their ids)" if listed.more else "Session found here"
    )
    chosen = select("session", label, [("", "choose"), *(pair for pair in found if pair[0] not in inside)])
    typed = line("node", "or a node's name or a session's id", required=False)
    return place.action("invite", "Invite", {}, chosen, typed, select("role", "Role", ROLES))


def _leave(shot: Snapshot, place: Place) -> Action | None:
    if any(row.node_id == shot.me for row in shot.members):
        return place.action("leave_board", "Leave board", {}, tone="quiet")
    return place.action("join_board", "Join board", {}, tone="quiet")


# --- views -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tab:
    """A view's link."""

    name: str
    label: str
    count: int | None
    current: bool


def tabs(shot: Snapshot, current: str) -> list[Tab]:
    """The views with their counts."""
    board_id = shot.board.board_id
    counts = {
        "evidence": Evidence.objects.filter(board_id=board_id).count(),
        "blockers": Blocker.objects.filter(board_id=board_id, status="open").count(),
    }
    return [Tab(name, name.capitalize(), counts.get(name), name == current) for name in VIEWS]


# --- composing -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Composer:
    """What can be chosen when a message is written."""

    open: bool
    members: list[Option]
    others: list[Option]
    more: int
    contracts: list[Option]
    more_contracts: int


def composer(shot: Snapshot, to: str = "", contract_id: str = "") -> Composer:
    """Members first, then sessions found on this machine; contracts that are not settled."""
    faces = [shot.faces(row.node_id) for row in shot.members if row.node_id != shot.me]
    members = [Option(face.node_id, face.name, face.node_id == to) for face in faces]
    if len(members) > 1:
        members.append(Option(EVERYONE, "everybody on this board", to == EVERYONE))
    inside = {shot.faces.nodes[row.node_id].session_id for row in shot.members if row.node_id in shot.faces.nodes}
    listed = found_sessions()
    others = [
        Option(row.session_id, f"{row.title or row.session_id} · {row.project_name}", row.session_id == to)
        for row in listed.rows
        if row.session_id not in inside
    ]
    contracts = _contracts(shot)
    options = [Option(one, one, one == contract_id) for one in contracts.rows]
    return Composer(shot.open, members, others, listed.more, options, contracts.more)


def _contracts(shot: Snapshot) -> Shown[str]:
    """Newest first: with very many the oldest are left to those who write by command."""
    found = Contract.objects.filter(board_id=shot.board.board_id).exclude(status__in=("rejected", "withdrawn", "done"))
    newest = found.order_by("-created_at", "-contract_id").values_list("contract_id", flat=True)
    return shown(newest, found.count(), 1, CHOICES)
