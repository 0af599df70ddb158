"""The home: boards, collaborators, and the sessions found on this machine."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Case, When

from boards.models import Board, Contract, Evidence, Node, Task
from boards.people import memberships
from boards.queries.pages.needs import home_needs
from boards.queries.pages.paging import Shown, longest, shown
from boards.queries.pages.snapshot import Face, Faces
from boards.queries.reach import reach_by
from peers import queries as peers
from peers.adapters.base import Reach
from peers.models import Session

DOTS: Final[dict[str, str]] = {
    "running": "run",
    "idle": "idle",
    "waiting": "idle",
    "stale": "stale",
    "stopped": "stop",
    "failed": "fail",
    "unknown": "stop",
}
"""Class of the dot of each status; the word stands beside it, so that colour never tells alone."""
LISTED: Final = 100
"""Sessions that a form lists; it says how many there are besides, and takes their ids."""
PER_PAGE: Final = 50
"""Boards, people or other sessions on one page of a list."""
REACHED: Final[dict[str, tuple[str, str]]] = {
    "running": ("gets messages between steps", "ok"),
    "stale": ("may be gone", "warn"),
    "unknown": ("not known yet", ""),
}
WAITS: Final = ("waits until resumed", "")
"""In a few words what is waited for."""
SOURCES: Final[dict[str, str]] = {"agintiflow": "AgInTiFlow"}


@dataclass(frozen=True, slots=True)
class BoardLine:
    """A board in a list."""

    board: Board
    dot: str
    members: list[Face]
    open_contracts: int
    done_contracts: int
    verified: int
    needs: int

    @property
    def meta(self) -> str:
        """One line under the title."""
        if self.board.status == "closed":
            return f"closed · {self.verified} evidence verified"
        peers_, contracts = len(self.members), self.open_contracts
        return f"{peers_} peer{'' if peers_ == 1 else 's'} · {contracts} contract{'' if contracts == 1 else 's'} open"


def boards_list(at: datetime, page: int = 1) -> Shown[BoardLine]:
    """The boards: open ones first, each by its latest change."""
    found = Board.objects.order_by(Case(When(status="closed", then=1), default=0), "-updated_at", "board_id")
    part = shown(found.defer("report"), found.count(), page, PER_PAGE)
    ids = [board.board_id for board in part.rows]
    faces = Faces()
    members: dict[str, list[Face]] = defaultdict(list)
    for row in memberships().filter(board_id__in=ids).order_by("node_id"):
        members[row.board_id].append(faces(row.node_id))
    states = Counter(Contract.objects.filter(board_id__in=ids).values_list("board_id", "status"))
    proved = Evidence.objects.filter(board_id__in=ids, verdict="verified")
    verified = Counter(proved.values_list("board_id", flat=True))
    claimed = set(Task.objects.filter(board_id__in=ids, status="claimed").values_list("board_id", flat=True))
    wanting = Counter(need.board_id for need in home_needs(at))
    return part.of(
        lambda board: BoardLine(
            board,
            "stop" if board.status == "closed" else ("run" if board.board_id in claimed else "idle"),
            members[board.board_id],
            sum(states[board.board_id, state] for state in ("proposed", "accepted", "active", "blocked")),
            states[board.board_id, "done"],
            verified[board.board_id],
            wanting[board.board_id],
        )
    )


# --- collaborators ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """A session as a person sees it."""

    session_id: str
    title: str
    project: str
    source: str
    dot: str
    status: str
    reason: str
    seen: datetime | None
    reach: str
    reach_tone: str
    reach_sentence: str


@dataclass(frozen=True, slots=True)
class Collaborator:
    """A node with what its session does, or a session that is no node yet."""

    face: Face | None
    found: Found | None
    role: str


@dataclass(frozen=True, slots=True)
class Collaborators:
    """Who works together, and who else is on this machine: a page of both, and the longer list of the two.

    ``count``: how many sessions there are that are no collaborators.
    """

    nodes: list[Collaborator]
    others: list[Found]
    count: int
    turned: Shown[Any]
    sessions: int
    projects: int
    read_at: datetime | None
    problems: list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class Listed:
    """The sessions of this machine that were active last, and how many more there are."""

    rows: list[Session]
    more: int

    @property
    def total(self) -> int:
        """All sessions of this machine."""
        return len(self.rows) + self.more


def found_sessions() -> Listed:
    """The sessions of this machine, by latest activity, at most :data:`LISTED`."""
    page = peers.sessions(per_page=LISTED)
    return Listed(page.items, page.total - len(page.items))


def collaborators(page: int = 1) -> Collaborators:
    """People and registered sessions first; every other session after them."""
    faces = Faces()
    known = (node for node in faces.nodes.values() if node.kind != "service")
    nodes = sorted(known, key=lambda node: (node.kind != "human", node.name_key))
    bound = [f"{node.source}:{node.session_id}" for node in nodes if node.session_id]
    others = peers.present_without(bound)
    count = others.count()
    page = min(page, max(1, -(-max(len(nodes), count) // PER_PAGE)))
    people, found_ = shown(nodes, len(nodes), page, PER_PAGE), shown(others, count, page, PER_PAGE)
    fresh = peers.freshness()
    return Collaborators(
        _lines(faces, people.rows if people.page == page else []),
        [found(row) for row in found_.rows] if found_.page == page else [],
        count,
        longest((people, found_)),
        peers.present_count(),
        peers.project_count(),
        fresh.scanned_at,
        fresh.problems,
    )


def _lines(faces: Faces, nodes: list[Node]) -> list[Collaborator]:
    sessions = peers.sessions_of((node.source, node.session_id) for node in nodes)
    return [_collaborator(faces, node, sessions.get((node.source, node.session_id))) for node in nodes]


def _collaborator(faces: Faces, node: Node, row: Session | None) -> Collaborator:
    return Collaborator(faces(node.node_id), found(row) if row else None, node.role)


def reached(reach: Reach, status: str) -> tuple[str, str]:
    """How a message gets there, in a few words with their tone; the sentence stands beside them on hover."""
    if reach.kind == "none":
        return "cannot be reached", "bad"
    of_a_session = status == "running" or reach.resume_command  # one that runs need not be resumed
    return REACHED.get(status, WAITS) if of_a_session else (reach.sentence, "")


def found(row: Session) -> Found:
    """One session's line: title, project, how alive, how it is reached."""
    reach = reach_by(None, row)
    words, tone = reached(reach, row.status)
    return Found(
        session_id=row.session_id,
        title=row.title or row.goal or row.session_id,
        project=row.project_name,
        source=SOURCES.get(row.source, row.source),
        dot=DOTS.get(row.status, "stop") if row.present else "stop",
        status=row.status if row.present else "gone",
        reason=row.reason,
        seen=row.last_activity_at,
        reach=words,
        reach_tone=tone,
        reach_sentence=reach.sentence,
    )
