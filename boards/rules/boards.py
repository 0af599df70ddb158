"""Boards and their members."""

from __future__ import annotations

from boards import schemas as c
from boards import words
from boards.events import BoardClosed, BoardCreated, BoardInvited, BoardJoined, BoardLeft, BoardUpdated, EventData
from boards.models import Board, Member, Node, Task
from boards.rules import gate
from boards.rules.nodes import enlist
from boards.rules.world import Decision, Found, Refused, World
from boards.times import iso


def create_board(command: c.CreateBoard, world: World) -> Decision:
    """The creator supervises it; everybody named is invited in the same command."""
    me = world.me()
    if command.board_id and world.one(Board, board_id=command.board_id):
        sentence = f"A board {command.board_id!r} exists already; leave the id out or choose another."
        raise Refused("board_exists", sentence, outcome="conflict")
    board_id = command.board_id or world.free_id(Board, "board_id", command.title, "board")
    people = {ref: world.resolve(ref) for ref in command.members}
    head = BoardCreated(
        board_id=board_id,
        title=command.title,
        objective=command.objective,
        link_id=board_id,
        trust="same-user-local",
        creator_role="human" if me.kind == "human" else "supervisor",
        **_project(list(people.values())),
    )
    events: list[EventData] = [head]
    seen = {me.node_id}
    for ref, who in people.items():
        node_id, registered = (who.node_id, []) if isinstance(who, Node) else enlist(world, who)
        if node_id not in seen:
            seen.add(node_id)
            events += [*registered, BoardInvited(node_id=node_id, role=_role(command.members[ref]))]
    return Decision(events, board_id, ("board", board_id))


def _project(people: list[Node | Found]) -> dict[str, str]:
    """The project that all members share, if they share one."""
    projects = {(who.project_name, who.project_key) for who in people}
    name, key = projects.pop() if len(projects) == 1 else ("", "")
    return {"project_name": name, "project_key": key}


def _role(role: words.Role) -> str:
    """``human`` is not given away by an invitation."""
    return "supervisor" if role == "human" else role


def update_board(command: c.UpdateBoard, world: World) -> Decision:
    """Title, objective, or both."""
    board = world.board(command.board_id)
    event = BoardUpdated(
        board_id=board.board_id,
        title=board.title if command.title is None else command.title,
        objective=board.objective if command.objective is None else command.objective,
    )
    return Decision([event], board.board_id, ("board", board.board_id))


def invite(command: c.Invite, world: World) -> Decision:
    """Gives a role; inviting a member again with the same role changes nothing."""
    board = world.board(command.board_id)
    node_id, events = invitation(world, board.board_id, world.resolve(command.node), command.role)
    if not events:
        sentence = f"{node_id} is a member with the role {command.role!r} already."
        raise Refused("already_member", sentence, outcome="already_applied")
    return Decision(events, board.board_id, ("member", node_id))


def invitation(world: World, board_id: str, who: Node | Found, role: str) -> tuple[str, list[EventData]]:
    """The events that make somebody a member; none when they are one with this role."""
    if isinstance(who, Found):
        world.check_room(Member, board_id)
        node_id, events = enlist(world, who)
        return node_id, [*events, BoardInvited(node_id=node_id, role=role)]
    if who.kind == "service":
        raise Refused("not_a_peer", "The node 'agentlink' acts for timers and is no member of any board.")
    member = world.member(board_id, who.node_id)
    if member is not None and (member.role == role or member.role == "human"):
        return who.node_id, []
    if member is None:
        world.check_room(Member, board_id)
    return who.node_id, [BoardInvited(node_id=who.node_id, role=role)]


def join_board(command: c.JoinBoard, world: World) -> Decision:
    """The invited say that they are there; the human may join any board."""
    board, me = world.board(command.board_id), world.me()
    member = world.member(board.board_id, me.node_id)
    if member is not None and member.state == "joined":
        raise Refused("already_member", f"{me.name} has joined {board.board_id!r} already.", outcome="already_applied")
    if member is None and me.kind != "human":
        sentence = f"{me.name} was not invited to {board.board_id!r}; its human or a supervisor can invite it."
        raise Refused("not_a_member", sentence)
    first: list[EventData] = [] if member else [BoardInvited(node_id=me.node_id, role="human")]
    return Decision([*first, BoardJoined(node_id=me.node_id)], board.board_id, ("member", me.node_id))


def leave_board(command: c.LeaveBoard, world: World) -> Decision:
    """Nobody leaves with a claim in hand."""
    board, me = world.board(command.board_id), world.me()
    if world.member(board.board_id, me.node_id) is None:
        raise Refused("not_a_member", f"{me.name} is no member of {board.board_id!r}.", outcome="already_applied")
    held = [task.task_id for task in world.fetch(Task, board_id=board.board_id, holder=me.node_id, status="claimed")]
    if held:
        raise Refused("holds_tasks", f"{me.name} holds {', '.join(held)}; release or complete before leaving.")
    return Decision([BoardLeft(node_id=me.node_id)], board.board_id, ("member", me.node_id))


def close_board(command: c.CloseBoard, world: World) -> Decision:
    """Through the gate only; the report says what was proved, by whom, and what was blocked."""
    board = world.board(command.board_id)
    verdict = gate.board_gate(world, board.board_id)
    if not verdict.ready:
        raise Refused("gate_not_ready", gate.sentence(verdict), current=verdict.body())
    report = {
        **gate.report(world, board.board_id),
        "generatedAt": iso(world.at),
        "closedBy": world.actor.node_id,
        "note": command.note,
    }
    event = BoardClosed(board_id=board.board_id, final_status=verdict.final_status, report=report, note=command.note)
    return Decision([event], board.board_id, ("board", board.board_id))
