"""Who may do what: a table of the least role a command needs, and the few commands that only AgentLink gives."""

from __future__ import annotations

from typing import Final

from boards import words
from boards.models import Board, Node
from boards.rules.world import Refused, World
from boards.schemas import Command, SendMessage

LEAST_ROLE: Final[dict[str, words.Role]] = {
    "update_board": "supervisor",
    "invite": "supervisor",
    "leave_board": "observer",
    "close_board": "supervisor",
    "propose_contract": "worker",
    "accept_contract": "worker",
    "reject_contract": "worker",
    "edit_contract": "worker",
    "withdraw_contract": "worker",
    "claim_task": "worker",
    "renew_task": "worker",
    "release_task": "worker",
    "hand_over_task": "worker",
    "complete_task": "worker",
    "send_message": "observer",
    "acknowledge_message": "observer",
    "withdraw_message": "observer",
    "attach_evidence": "worker",
    "verify_evidence": "observer",
    "reject_evidence": "observer",
    "open_blocker": "worker",
    "resolve_blocker": "supervisor",
    "summarize_session": "observer",
}
"""Evidence is judged by its receivers too, and those may be observers: see :mod:`boards.rules.evidence`."""

SERVICE_ONLY: Final[frozenset[str]] = frozenset(
    {"create_identity", "discover_peers", "expire_task", "record_step", "record_checks"}
    | {"take_message", "take_evidence", "take_contract"}
)
"""Findings of timers, scanner and delivery worker; nobody may send them in."""

HUMAN_ONLY: Final[frozenset[str]] = frozenset({"adopt_board", "erase_payload"})
"""What only the person decides, in the panel: never from a terminal, a tool or a token."""

ON_BEHALF: Final[frozenset[str]] = frozenset(
    {"accept_contract", "reject_contract", "claim_task", "renew_task", "release_task", "complete_task"}
    | {"hand_over_task"}
)
"""What the local human may do for a session of the same user; the event names both."""

WRITING_TRUST: Final[frozenset[str]] = frozenset({"self", "same-user-local"})


def check(command: Command, world: World) -> None:
    """Raises :class:`Refused` when the actor may not give this command here."""
    if command.kind in SERVICE_ONLY:
        if world.actor.node_id != words.SERVICE_NODE or world.actor.surface not in ("timer", "folder"):
            raise Refused("not_allowed", f"{command.kind} is recorded by AgentLink itself and cannot be sent in.")
        return
    me = world.me()
    if command.kind in HUMAN_ONLY and (me.kind != "human" or world.actor.surface != "panel"):
        raise Refused("panel_only", f"{command.kind} is the person's own act in the panel; nobody else may give it.")
    if me.trust not in WRITING_TRUST:
        raise Refused("trust_too_low", f"{me.name} has trust {me.trust!r}; writing needs 'same-user-local'.")
    least = LEAST_ROLE.get(command.kind)
    if least is not None:
        board = world.board(getattr(command, "board_id", ""), open_only=False)
        _check_role(command, world, board, me, least)


def _check_role(command: Command, world: World, board: Board, me: Node, least: words.Role) -> None:
    role = role_of(world, board.board_id, me)
    if role is None:
        raise Refused("not_a_member", f"{me.name} is no member of the board {board.board_id!r}; ask for an invitation.")
    if words.ROLES.index(role) < words.ROLES.index(least):
        raise Refused("role_too_low", f"{command.kind} needs the role {least!r} here; {me.name} has {role!r}.")
    if role == "observer" and isinstance(command, SendMessage):
        if command.reply_to or command.type in words.OBSERVER_TYPES:
            return
        raise Refused("role_too_low", "An observer may ask for a status and answer what was sent to it, no more.")


def role_of(world: World, board_id: str, node: Node) -> words.Role | None:
    """The node's role on the board; the local human has one everywhere."""
    if node.kind == "human":
        return "human"
    member = world.member(board_id, node.node_id)
    return member.role if member else None  # type: ignore[return-value]


def subject(command: Command, world: World, ref: str | None) -> Node:
    """Whom the command is done for: the actor, or a session of the same user when the human acts for it."""
    me = world.me()
    if ref is None or ref in (me.node_id, me.name):
        return me
    node = world.resolve(ref)
    if not isinstance(node, Node):
        raise Refused("not_a_member", f"{ref!r} is no member of this board; invite it first.")
    if node.node_id == me.node_id:
        return me
    if me.kind != "human" or command.kind not in ON_BEHALF or node.trust not in WRITING_TRUST:
        raise Refused("not_yours", f"{me.name} may not give {command.kind} for {node.name}; only the local human may.")
    return node
