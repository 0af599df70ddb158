"""Home stream: identities, discoveries and nodes."""

from __future__ import annotations

from boards import schemas as c
from boards.events import EventData, IdentityCreated, PeerDiscovered, PeerRegistered, PeerUpdated
from boards.keys import look, name_key, pair
from boards.models import Discovery, Node
from boards.rules.world import Decision, Found, Refused, World


def create_identity(command: c.CreateIdentity, world: World) -> Decision:
    """Once per home; the second time is refused, so that two first starts make one identity."""
    if world.one(Node, node_id=command.node_id) or world.one(Node, kind=command.node_kind):
        raise Refused("identity_exists", "This home has its identity already.", outcome="already_applied")
    event = IdentityCreated(node_id=command.node_id, kind=command.node_kind, name=command.name)
    return Decision([event], entity=("node", command.node_id))


def discover_peers(command: c.DiscoverPeers, world: World) -> Decision:
    """One event per session, ever."""
    new = [
        PeerDiscovered.model_validate(facts)
        for facts in command.sessions
        if world.one(Discovery, key=pair(facts["source"], facts["sessionId"])) is None
    ]
    return Decision([*new])


def register_node(command: c.RegisterNode, world: World) -> Decision:
    """A person registers a node, bound to a session when one is named."""
    _only_human(world, "register a node")
    found = _session(command, world)
    wanted = command.node_id or command.session_id or command.name.lower()
    node_id = world.free_node_id(wanted, f"{found.source}:{found.session_id or command.name}")
    if command.node_id and node_id != command.node_id:
        raise Refused("node_exists", f"The node id {command.node_id!r} is taken; choose another.", outcome="conflict")
    _free_name(world, command.name, None, command.session_id)
    event = PeerRegistered(
        node_id=node_id,
        name=command.name,
        session_id=found.session_id,
        source=found.source,
        role=command.role or found.role,
        capabilities=command.capabilities or list(found.capabilities),
        constraints=command.constraints or list(found.constraints),
        project_name=found.project_name,
        project_key=found.project_key,
    )
    return Decision([event], entity=("node", node_id))


def _session(command: c.RegisterNode, world: World) -> Found:
    if not command.session_id:
        return Found("", command.source, "")
    found = world.find(command.session_id)
    if found is None:
        raise Refused("unknown_session", f"No store on this machine has a session {command.session_id!r}.")
    taken = world.one(Node, source=found.source, session_id=found.session_id)
    if taken is not None:
        sentence = f"The session {found.session_id!r} is bound to the node {taken.node_id!r} already."
        raise Refused("node_exists", sentence, outcome="conflict")
    return found


def update_node(command: c.UpdateNode, world: World) -> Decision:
    """A node describes itself; the human may describe any."""
    node = world.node(command.node_id)
    if world.actor.node_id != node.node_id:
        _only_human(world, f"update {node.name}")
    if command.name is not None:
        _free_name(world, command.name, node)
    event = PeerUpdated(
        node_id=node.node_id,
        name=node.name if command.name is None else command.name,
        role=node.role if command.role is None else command.role,
        capabilities=node.capabilities if command.capabilities is None else command.capabilities,
        constraints=node.constraints if command.constraints is None else command.constraints,
    )
    return Decision([event], entity=("node", node.node_id))


def _only_human(world: World, what: str) -> None:
    me = world.me()
    if me.kind != "human":
        raise Refused("not_yours", f"{me.name} may not {what}; the local human may.")


def _free_name(world: World, name: str, node: Node | None, session_id: str = "") -> None:
    if not name.isascii() or not name.isprintable():
        raise Refused("bad_name", f"The name {name!r} is not plain ASCII; look-alike letters would mislead people.")
    holder = world.one(Node, name_key=name_key(name))
    if holder is not None and (node is None or holder.node_id != node.node_id):
        raise Refused("name_taken", f"The name {name!r} belongs to the node {holder.node_id!r}.", outcome="conflict")
    own = {name_key(node.node_id), name_key(node.session_id)} if node else {name_key(session_id)}
    everybody = world.fetch(Node)
    wanted = look(name)
    twin = next((row for row in everybody if look(row.name) == wanted and row not in (node, holder)), None)
    if twin is not None:
        sentence = f"{name!r} looks like {twin.name!r}, the name of the node {twin.node_id!r}; choose another name."
        raise Refused("name_taken", sentence, outcome="conflict")
    ids = {name_key(row.node_id) for row in everybody} | {name_key(session_id) for session_id in world.known()}
    if name_key(name) in ids - own:
        sentence = f"{name!r} is the id of another node or session; its mail must not go to you. Choose another name."
        raise Refused("name_taken", sentence, outcome="conflict")


def enlist(world: World, found: Found) -> tuple[str, list[EventData]]:
    """Registers a discovered session on its first use; its node id and the event that says so."""
    node_id = world.free_node_id(found.session_id, f"{found.source}:{found.session_id}")
    event = PeerRegistered(
        node_id=node_id,
        name=world.free_name(node_id),
        session_id=found.session_id,
        source=found.source,
        role=found.role,
        capabilities=list(found.capabilities),
        constraints=list(found.constraints),
        project_name=found.project_name,
        project_key=found.project_key,
    )
    return node_id, [event]
