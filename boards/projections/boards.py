"""Boards and their members."""

from __future__ import annotations

from boards import events as e
from boards.events import Recorded
from boards.keys import pair
from boards.models import Board, Member
from boards.projections.base import on
from boards.rows import insert, update


@on(e.BoardCreated)
def board_created(event: Recorded, data: e.BoardCreated) -> None:
    insert(
        Board,
        board_id=data.board_id,
        title=data.title,
        objective=data.objective,
        status="active",
        trust=data.trust,
        link_id=data.link_id,
        created_by=event.actor,
        created_at=event.at,
        updated_at=event.at,
        closed_at=None,
        final_status="",
        report=None,
        project_name=data.project_name,
        project_key=data.project_key,
        adopted_from="",
        revision=event.revision,
        head=event.revision,
    )
    _insert_member(event, event.actor, data.creator_role, "joined")


@on(e.BoardUpdated)
def board_updated(event: Recorded, data: e.BoardUpdated) -> None:
    update(Board, data.board_id, title=data.title, objective=data.objective, revision=event.revision)


@on(e.BoardAdopted)
def board_adopted(event: Recorded, data: e.BoardAdopted) -> None:
    update(Board, data.board_id, adopted_from=data.source, revision=event.revision)


def _insert_member(event: Recorded, node_id: str, role: str, state: str) -> None:
    key = pair(event.board_id, node_id)
    insert(
        Member,
        key=key,
        board_id=event.board_id,
        node_id=node_id,
        role=role,
        state=state,
        invited_by=event.actor,
        revision=event.revision,
    )


@on(e.BoardInvited)
def board_invited(event: Recorded, data: e.BoardInvited) -> None:
    key = pair(event.board_id, data.node_id)
    if Member.objects.filter(key=key).exists():
        update(Member, key, role=data.role, state="invited", invited_by=event.actor, revision=event.revision)
    else:
        _insert_member(event, data.node_id, data.role, "invited")


@on(e.BoardJoined)
def board_joined(event: Recorded, data: e.BoardJoined) -> None:
    update(Member, pair(event.board_id, data.node_id), state="joined", revision=event.revision)


@on(e.BoardLeft)
def board_left(event: Recorded, data: e.BoardLeft) -> None:
    update(Member, pair(event.board_id, data.node_id), state="left", revision=event.revision)


@on(e.BoardClosed)
def board_closed(event: Recorded, data: e.BoardClosed) -> None:
    update(
        Board,
        data.board_id,
        status="closed",
        closed_at=event.at,
        final_status=data.final_status,
        report=data.report,
        revision=event.revision,
    )
