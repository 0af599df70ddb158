"""The board's files as they should be: AgInTiFlow's own fields, and ours beside them.

A line of ours begins with the id and the revision of its event: so it is recognised, whole or torn. No host, no user
and no absolute path is in any of them. What is longer than AgInTiFlow's limit is a preview that says so, with length
and hash; whole it stands in the event's line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, Final

from django.db.models import Q

from boards import log, shapes
from boards.folder.places import BOARD, CONTRACTS, EVENTS, EVIDENCE, MESSAGES, SUMMARIES
from boards.models import Board, Contract, Event, Member, Node, Summary, Task
from boards.people import memberships
from boards.times import iso

CONTENT_LIMIT: Final = 16_000
TITLE_LIMIT: Final = 500
OBJECTIVE_LIMIT: Final = 4_000
INSTRUCTIONS_LIMIT: Final = 8_000
BEGINNING: Final = b'{"eventId":"evt-'
"""How each line of ours begins, and no line of another program."""
STATUS: Final[dict[str, str]] = {"active": "claimed"}
"""A contract's status in AgInTiFlow's words where it has one for it; its others are free."""
WRITER: Final = "agentlink"

Json = dict[str, Any]


def fitting(text: str, limit: int) -> str:
    """The text, or as much of it as fits with a note of its length and hash: never a silent cut."""
    whole = text.encode()
    if len(whole) <= limit:
        return text
    digest = hashlib.sha256(whole).hexdigest()
    note = f"\n[preview: {len(whole):,} bytes in all, sha256 {digest}; whole in events.jsonl]"
    return whole[: limit - len(note.encode())].decode(errors="ignore") + note


class Sessions:
    """Which session a node is; it never changes, so it is read once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, node_id: str) -> str:
        if node_id not in self._known:
            found = Node.objects.filter(node_id=node_id).values_list("session_id", flat=True).first()
            self._known[node_id] = found or ""
        return self._known[node_id]


# --- lines -----------------------------------------------------------------------------------------------------------


def line(name: str, row: Event, sessions: Sessions) -> bytes | None:
    """The event's line in this file; none when it has none there."""
    if name == EVENTS:
        return _line(row, _event(row))
    record = RECORDS[row.type][1](row, json.loads(row.data), sessions) if _belongs(name, row) else None
    return _line(row, record) if record else None


def _belongs(name: str, row: Event) -> bool:
    """What came in through the folder has its line there already."""
    return row.type in RECORDS and RECORDS[row.type][0] == name and not json.loads(row.data).get("trust")


def _line(row: Event, record: Json) -> bytes:
    head = {"eventId": row.event_id, "revision": row.revision}
    return json.dumps({**head, **record}, separators=(",", ":")).encode("ascii")


def _event(row: Event) -> Json:
    body = log.body(row)
    given = {"timestamp": body.pop("at"), "type": body.pop("type"), "data": body.pop("data")}
    del body["eventId"], body["revision"]
    return {**given, **body}


def _message(row: Event, data: Json, sessions: Sessions) -> Json:
    to = data["to"]
    only = to[0] if len(to) == 1 else ""
    return {
        "timestamp": row.at,
        "messageId": data["messageId"],
        "boardId": row.stream,
        "kind": data["messageType"],
        "fromNodeId": data["sender"],
        "fromSessionId": sessions(data["sender"]),
        "toNodeId": only,
        "toSessionId": sessions(only) if only else "",
        "priority": "asap" if data["priority"] == "asap" else "normal",
        "content": fitting(data["content"], CONTENT_LIMIT),
        "to": to,
        "messageType": data["messageType"],
        "stress": data["priority"],
        "contractId": data["contractId"],
        "taskId": data["taskId"],
        "replyTo": data["replyTo"],
        "threadId": data["threadId"],
        "requiresAck": data["requiresAck"],
        "expiresAt": data["expiresAt"],
    }


def _evidence(row: Event, data: Json, sessions: Sessions) -> Json:
    first = next(iter(data["artifacts"]), {"path": "", "sessionId": ""})
    return {
        "timestamp": row.at,
        "evidenceId": data["evidenceId"],
        "boardId": row.stream,
        "kind": data["kind"],
        "fromNodeId": data["nodeId"],
        "sessionId": sessions(data["nodeId"]),
        "contractId": data["contractId"],
        "summary": fitting(data["summary"], CONTENT_LIMIT),
        "path": first["path"],
        "url": data["url"],
        "requirementId": data["requirementId"],
        "standsFor": data.get("standsFor", "proof"),
        "events": data["events"],
        "artifacts": data["artifacts"],
    }


RECORDS: Final[dict[str, tuple[str, Callable[[Event, Json, Sessions], Json]]]] = {
    "agentlink.message.sent": (MESSAGES, _message),
    "agentlink.evidence.attached": (EVIDENCE, _evidence),
}
"""The events that have a line of their own besides the one in events.jsonl."""


# --- whole files -----------------------------------------------------------------------------------------------------


def names(board_id: str) -> list[str]:
    """Every whole file that the board has, below its folder."""
    contracts = Contract.objects.filter(board_id=board_id).values_list("contract_id", flat=True)
    nodes = Summary.objects.filter(board_id=board_id).values_list("node_id", flat=True)
    files = [BOARD, *(contract_file(one) for one in contracts), *(f"{SUMMARIES}/{one}.md" for one in nodes)]
    return sorted(files)


def contract_file(contract_id: str) -> str:
    """Where a contract stands below its board's folder."""
    return f"{CONTRACTS}/{contract_id}.json"


def whole(board_id: str, name: str, sessions: Sessions) -> bytes:
    """The content of one whole file."""
    folder, _, file = name.rpartition("/")
    if folder == CONTRACTS:
        return _pretty(_contract(Contract.objects.get(contract_id=file.removesuffix(".json")), sessions))
    if folder == SUMMARIES:
        return _summary(Summary.objects.get(board_id=board_id, node_id=file.removesuffix(".md"))).encode()
    return _pretty(_board(Board.objects.get(board_id=board_id), sessions))


def _pretty(record: Json) -> bytes:
    return (json.dumps(record, indent=2, ensure_ascii=True) + "\n").encode("ascii")


def _board(row: Board, sessions: Sessions) -> Json:
    parts = memberships().filter(board_id=row.board_id).order_by("node_id")
    return {
        "boardId": row.board_id,
        "title": fitting(row.title, TITLE_LIMIT),
        "objective": fitting(row.objective, OBJECTIVE_LIMIT),
        "projectRoot": "",
        "createdBy": row.created_by,
        "ownerSessionId": sessions(row.created_by),
        "mode": "local",
        "network": False,
        "createdAt": iso(row.created_at),
        "updatedAt": iso(row.updated_at),
        "writtenBy": WRITER,
        "project": row.project_name,
        "status": row.status,
        "finalStatus": row.final_status or None,
        "linkId": row.link_id,
        "trust": row.trust,
        "revision": row.head,
        "members": dict(parts.values_list("node_id", "role")),
        "nodes": [_node(node) for node in _nodes(row.board_id)],
    }


def _nodes(board_id: str) -> list[Node]:
    """Whoever takes or took part: what a restored board has to know about them."""
    ids = Member.objects.filter(board_id=board_id).values("node_id")
    return list(Node.objects.filter(Q(node_id__in=ids) | ~Q(kind="agent")).order_by("node_id"))


def _node(row: Node) -> Json:
    return {
        "nodeId": row.node_id,
        "name": row.name,
        "kind": row.kind,
        "sessionId": row.session_id,
        "source": row.source,
        "role": row.role,
    }


def _contract(row: Contract, sessions: Sessions) -> Json:
    tasks = list(Task.objects.filter(contract_id=row.contract_id).order_by("task_id"))
    holders = sorted({task.holder for task in tasks if task.holder}) or sorted(row.owners)
    owner = holders[0] if len(holders) == 1 else ""
    body = shapes.body(row)
    ours = ("owners", "allowedActions", "stopConditions", "requiredEvidence", "mutating", "acceptedBy", "outcome")
    return {
        "contractId": row.contract_id,
        "boardId": row.board_id,
        "title": fitting(row.objective.partition("\n")[0], TITLE_LIMIT),
        "ownerSessionId": sessions(owner) if owner else "",
        "ownerNodeId": owner,
        "instructions": fitting(_instructions(row), INSTRUCTIONS_LIMIT),
        "status": STATUS.get(row.status, row.status),
        "createdAt": iso(row.created_at),
        "updatedAt": iso(row.updated_at),
        "writtenBy": WRITER,
        "revision": row.revision,
        "textRevision": row.text_revision,
        "objective": row.objective,
        **{name: body[name] for name in ours},
        "statedOwner": row.stated_sender,
        "tasks": [_task(task) for task in tasks],
    }


def _task(row: Task) -> Json:
    until = iso(row.lease_until) if row.lease_until else None
    return {
        "taskId": row.task_id,
        "title": row.title,
        "status": row.status,
        "holder": row.holder or None,
        "leaseUntil": until,
    }


def _instructions(row: Contract) -> str:
    lines = [row.objective]
    lines += [f"allowed: {item['text']}" for item in row.allowed_actions]
    lines += [f"stop when: {item['text']}" for item in row.stop_conditions]
    lines += [f"proof {item['id']}: {item['text']}" for item in row.required_evidence]
    return "\n".join(lines)


def _summary(row: Summary) -> str:
    """Plain text: what a session wrote is indented, so that no line of it is Markdown."""
    lines = "\n".join(f"    {text}" for text in row.text.splitlines())
    return f"# Summary of {row.node_id}\n\n{iso(row.created_at)}, on the board {row.board_id}\n\n{lines}\n"
