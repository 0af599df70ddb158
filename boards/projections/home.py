"""Nodes and discoveries."""

from __future__ import annotations

from boards import events as e
from boards.events import Recorded
from boards.keys import name_key, pair
from boards.models import Discovery, Node
from boards.projections.base import on
from boards.rows import insert, update


@on(e.IdentityCreated)
def identity_created(event: Recorded, data: e.IdentityCreated) -> None:
    _insert_node(event, e.PeerRegistered(node_id=data.node_id, name=data.name, kind=data.kind, trust="self"))


@on(e.PeerDiscovered)
def peer_discovered(event: Recorded, data: e.PeerDiscovered) -> None:
    key = pair(data.source, data.session_id)
    insert(Discovery, key=key, source=data.source, session_id=data.session_id, title=data.title, at=event.at)


@on(e.PeerRegistered)
def peer_registered(event: Recorded, data: e.PeerRegistered) -> None:
    _insert_node(event, data)


def _insert_node(event: Recorded, data: e.PeerRegistered) -> None:
    insert(
        Node,
        node_id=data.node_id,
        name=data.name,
        name_key=name_key(data.name),
        kind=data.kind,
        session_id=data.session_id,
        source=data.source,
        role=data.role,
        capabilities=data.capabilities,
        constraints=data.constraints,
        trust=data.trust,
        project_name=data.project_name,
        project_key=data.project_key,
        created_at=event.at,
        revision=event.revision,
    )


@on(e.PeerUpdated)
def peer_updated(event: Recorded, data: e.PeerUpdated) -> None:
    update(
        Node,
        data.node_id,
        name=data.name,
        name_key=name_key(data.name),
        role=data.role,
        capabilities=data.capabilities,
        constraints=data.constraints,
        revision=event.revision,
    )
