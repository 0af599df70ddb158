"""The rules of the domain: pure decisions. ``decide(command, world)`` returns events, or raises :class:`Refused`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from boards.rules import boards, contracts, erasing, evidence, foreign, messages, nodes, rights, tasks
from boards.rules.world import Decision, Found, Refused, World
from boards.schemas import Command

__all__ = ["DECIDE", "Decision", "Found", "Refused", "World", "decide"]

DECIDE: Final[dict[str, Callable[[Any, World], Decision]]] = {
    function.__name__: function
    for function in (
        nodes.create_identity,
        nodes.discover_peers,
        nodes.register_node,
        nodes.update_node,
        boards.create_board,
        boards.update_board,
        boards.invite,
        boards.join_board,
        boards.leave_board,
        boards.close_board,
        contracts.propose_contract,
        contracts.accept_contract,
        contracts.reject_contract,
        contracts.edit_contract,
        contracts.withdraw_contract,
        tasks.claim_task,
        tasks.renew_task,
        tasks.release_task,
        tasks.hand_over_task,
        tasks.complete_task,
        tasks.expire_task,
        messages.send_message,
        messages.acknowledge_message,
        messages.withdraw_message,
        messages.record_step,
        evidence.attach_evidence,
        evidence.record_checks,
        evidence.verify_evidence,
        evidence.reject_evidence,
        evidence.open_blocker,
        evidence.resolve_blocker,
        evidence.summarize_session,
        erasing.erase_payload,
        foreign.adopt_board,
        foreign.take_message,
        foreign.take_evidence,
        foreign.take_contract,
    )
}
"""Every command's decision, by the command's name."""


def decide(command: Command, world: World) -> Decision:
    """Checks the rights, then decides."""
    rights.check(command, world)
    return DECIDE[command.kind](command, world)
