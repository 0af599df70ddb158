"""What a decision may look at: the present, who acts, and rows by plain filters. No clock, no random, no I/O."""

from __future__ import annotations

import difflib
import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar

from django.db import models

from boards import words
from boards.events import EventData, MessageSent
from boards.keys import name_key, pair
from boards.models import Board, Contract, Evidence, Member, Message, Node, Task
from boards.schemas import Actor

M = TypeVar("M", bound=models.Model)


class Refused(Exception):
    """The rules say no: a stable code and a sentence that says what was wrong and what would be right."""

    def __init__(
        self,
        code: str,
        sentence: str,
        *,
        outcome: Literal["rejected", "conflict", "already_applied"] = "rejected",
        current: dict[str, Any] | None = None,
        nearest: list[str] | None = None,
    ) -> None:
        super().__init__(sentence)
        self.code, self.sentence, self.outcome = code, sentence, outcome
        self.current, self.nearest = current, nearest or []


class Fetch(Protocol):
    """Rows of a model by filters (equality, ``__in`` and ``__gt`` only)."""

    def __call__(self, model: type[M], **filters: Any) -> list[M]: ...


@dataclass(frozen=True, slots=True)
class Found:
    """A discovered session that is no node yet."""

    session_id: str
    source: str
    title: str
    role: str = ""
    capabilities: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    project_name: str = ""
    project_key: str = ""


@dataclass(slots=True)
class Decision:
    """What an accepted command does: its events in order, and what its receipt says beside them."""

    events: list[EventData] = field(default_factory=list)
    board_id: str = words.HOME_STREAM
    entity: tuple[str, str] | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class World:
    """One moment of the store, as a decision sees it."""

    at: datetime
    actor: Actor
    fetch: Fetch
    new_id: Callable[[str], str]
    find: Callable[[str], Found | None]
    known: Callable[[], Iterable[str]]
    count: Callable[..., int] | None = None
    """Counts rows without reading them, where that can be done."""

    def how_many(self, model: type[models.Model], **filters: Any) -> int:
        """The number of rows that fit."""
        return self.count(model, **filters) if self.count else len(self.fetch(model, **filters))

    def check_room(self, model: type[models.Model], board_id: str) -> None:
        """Refuses what would make a board larger than a board may be."""
        what, most = words.BOARD_ROOM[model.__name__]
        there = self.how_many(model, board_id=board_id)
        if there >= most:
            raise Refused("board_full", f"The board {board_id!r} has {there:,} {what}; the limit is {most:,}.")

    def one(self, model: type[M], **filters: Any) -> M | None:
        """The only row that fits, if there is one."""
        rows = self.fetch(model, **filters)
        return rows[0] if rows else None

    def node(self, node_id: str) -> Node:
        """A node that must exist."""
        node = self.one(Node, node_id=node_id)
        if node is None:
            raise Refused("unknown_node", f"There is no node {node_id!r} here. 'agentlink peers' lists them.")
        return node

    def me(self) -> Node:
        """Who acts."""
        return self.node(self.actor.node_id)

    def board(self, board_id: str, *, open_only: bool = True) -> Board:
        """A board that must exist, and be open for a write."""
        board = self.one(Board, board_id=board_id)
        if board is None:
            raise unknown("board", board_id, self._readable())
        if open_only and board.status == "closed":
            raise Refused("board_closed", f"The board {board_id!r} is closed and read-only; make another for new work.")
        return board

    def _readable(self) -> list[str]:
        """The boards that may be named to the actor: its own, or all to the human."""
        if self.me().kind == "human":
            return [row.board_id for row in self.fetch(Board)]
        return [row.board_id for row in self.fetch(Member, node_id=self.actor.node_id) if row.state != "left"]

    def contract(self, board_id: str, contract_id: str) -> Contract:
        """A contract of this board."""
        found = self.one(Contract, contract_id=contract_id, board_id=board_id)
        if found is None:
            raise unknown("contract", contract_id, [row.contract_id for row in self.fetch(Contract, board_id=board_id)])
        return found

    def task(self, board_id: str, task_id: str) -> Task:
        """A task of this board."""
        found = self.one(Task, task_id=task_id, board_id=board_id)
        if found is None:
            raise unknown("task", task_id, [row.task_id for row in self.fetch(Task, board_id=board_id)])
        return found

    def message(self, board_id: str, message_id: str) -> Message:
        """A message of this board."""
        found = self.one(Message, message_id=message_id, board_id=board_id)
        if found is None:
            raise Refused("unknown_message", f"The board {board_id!r} has no message {message_id!r}.")
        return found

    def bundle(self, board_id: str, evidence_id: str) -> Evidence:
        """An evidence bundle of this board."""
        found = self.one(Evidence, evidence_id=evidence_id, board_id=board_id)
        if found is None:
            raise unknown("evidence", evidence_id, [row.evidence_id for row in self.fetch(Evidence, board_id=board_id)])
        return found

    def member(self, board_id: str, node_id: str) -> Member | None:
        """The membership of a node, unless it has left."""
        member = self.one(Member, key=pair(board_id, node_id))
        return member if member and member.state != "left" else None

    def listens(self, board_id: str, node_id: str) -> bool:
        """Whether a node still takes part: a member that has not left, or the human."""
        node = self.one(Node, node_id=node_id)
        return node is not None and (node.kind == "human" or self.member(board_id, node_id) is not None)

    def check_burst(self, sender: str) -> list[Message]:
        """The sender's messages of the last moments; refused when they are too many."""
        written = self.fetch(Message, sender=sender, created_at__gt=self.at - words.BURST_WINDOW)
        recent = [row for row in written if not row.trust]  # what others wrote in its name does not count
        if len(recent) >= words.BURST_LIMIT:
            seconds = words.BURST_WINDOW.total_seconds()
            sentence = (
                f"{len(recent)} messages within {seconds:.0f} s; the limit is {words.BURST_LIMIT}. Wait a little."
            )
            raise Refused("too_many_messages", sentence)
        return recent

    def resolve(self, ref: str) -> Node | Found:
        """Who is meant: by nodeId, by sessionId, by name without regard to case, or a session found in a store."""
        node = self.one(Node, node_id=ref) or (self.one(Node, session_id=ref) if ref else None)
        if node is not None:
            return node
        found = self.find(ref)  # before the names: nobody can take a session's mail by calling itself like it
        if found is not None:
            return self.one(Node, source=found.source, session_id=found.session_id) or found
        node = self.one(Node, name_key=name_key(ref))
        if node is None:
            raise unknown("peer", ref, [*(row.name for row in self.fetch(Node)), *self.known()])
        return node

    def free_node_id(self, wanted: str, salt: str) -> str:
        """The wanted id when it is valid and free, else a slug with six hex digits of a hash."""
        if words.ID.match(wanted) and ".." not in wanted and self.one(Node, node_id=wanted) is None:
            return wanted
        digest = hashlib.sha256(salt.encode("utf-8", "surrogatepass")).hexdigest()
        made = (f"{slug(wanted, 'session')[:40]}-{digest[:length]}" for length in range(6, 24))
        return next(name for name in made if self.one(Node, node_id=name) is None)

    def free_name(self, node_id: str) -> str:
        """The node id as a name; with a number when somebody is called so already."""
        name, number = node_id, 1
        while self.one(Node, name_key=name_key(name)) is not None:
            number += 1
            name = f"{node_id}-{number}"
        return name

    def free_id(self, model: type[models.Model], column: str, title: str, fallback: str) -> str:
        """A slug of the title; ``-2``, ``-3`` and so on when it is taken."""
        base = slug(title, fallback)
        candidate, number = base, 1
        while self.one(model, **{column: candidate}) is not None:
            number += 1
            candidate = f"{base}-{number}"
        return candidate


def slug(text: str, fallback: str) -> str:
    """An ASCII slug of at most 48 characters; ``fallback`` when nothing is left."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text)[: words.SLUG_LENGTH].strip("-") or fallback


def unknown(kind: str, given: str, known: Iterable[str]) -> Refused:
    """``unknown_peer`` and so on, with the nearest names."""
    names = sorted(set(known))
    by_fold = {name.casefold(): name for name in names}
    nearest = [by_fold[near] for near in difflib.get_close_matches(given.casefold(), by_fold, n=3, cutoff=0.5)]
    hint = f"Did you mean {', '.join(repr(name) for name in nearest)}?" if nearest else _listing(kind)
    return Refused(f"unknown_{kind}", f"There is no {kind} {given[:80]!r}. {hint}", nearest=nearest)


def _listing(kind: str) -> str:
    verb = {"peer": "'agentlink peers' lists the peers.", "board": "'agentlink boards' lists the boards."}
    return verb.get(kind, "The board shows what there is.")


def say(
    world: World,
    board_id: str,
    message_type: words.MessageType,
    to: Iterable[str],
    content: str,
    *,
    contract_id: str | None = None,
    task_id: str | None = None,
) -> list[EventData]:
    """The message by which a command says what it did; none when nobody else is concerned.

    Who has left hears nothing more. An agent's burst ends here too, or attaching would be a way around the limit.
    """
    others = sorted({node for node in to if node and node not in (world.actor.node_id, words.SERVICE_NODE)})
    recipients = [node for node in others if world.listens(board_id, node)]
    if not recipients:
        return []
    if world.me().kind != "human":
        world.check_burst(world.actor.node_id)
    message_id = world.new_id("msg-")
    sent = MessageSent(
        message_id=message_id,
        sender=world.actor.node_id,
        to=recipients,
        message_type=message_type,
        priority="normal",
        content=content,
        contract_id=contract_id,
        task_id=task_id,
        thread_id=message_id,
        requires_ack=message_type in words.REQUIRES_ACK,
        chain_origin=world.actor.node_id,
    )
    return [sent]
