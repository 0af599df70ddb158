"""The home's own two files that AgInTiFlow reads: who this home is, and which nodes it knows."""

from __future__ import annotations

import getpass
import json
import os
import re
import socket
import uuid
from typing import Any, Final

import structlog

from boards.folder import places
from boards.models import Node
from boards.times import iso, now
from peers.adapters.agintiflow.files import opened, sync_folder, temporary, write_all

logger = structlog.get_logger(__name__)
WRITER: Final = "agentlink"

Json = dict[str, Any]


def ensure_identity() -> str:
    """The home's node id. Made once, in AgInTiFlow's own fields; an identity that is there is taken as it is."""
    path = places.home() / "identity.json"
    there = _read("identity.json")
    if there is None and not os.path.lexists(path):
        _create(_identity())
        there = _read("identity.json")
    return str((there or {}).get("nodeId", ""))


def _create(record: Json) -> None:
    """Written aside and linked into place: the first of several processes wins, and nobody reads half of it."""
    path = places.home() / "identity.json"
    draft = temporary(path)
    try:
        with opened(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600) as descriptor:
            write_all(descriptor, _pretty(record))
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)


def _identity() -> Json:
    host, user, at = socket.gethostname(), _user(), iso(now())
    node_id = re.sub(r"[^A-Za-z0-9._:-]+", "-", f"aginti-{host}-{user}-{uuid.uuid4().hex[:8]}").strip("-")
    return {
        "nodeId": node_id if len(node_id) <= 120 else f"aginti-{uuid.uuid4().hex[:8]}",
        "label": f"{host}/{user}" if user else host,
        "host": host,
        "user": user,
        "role": "",
        "mode": "local",
        "network": False,
        "createdAt": at,
        "updatedAt": at,
    }


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no passwd entry for this uid, as in some containers
        return ""


def write_peers() -> bool:
    """peers.json with every node of this home; what somebody else wrote into it stays. Whether it was written."""
    path = places.home() / "peers.json"
    there = _read("peers.json")
    if there is None and os.path.lexists(path):
        logger.warning("peers_file_unreadable", problem="peers.json is no JSON object; it was left as it is.")
        return False
    listed = (there or {}).get("peers")
    others = [one for one in listed if not _ours(one)] if isinstance(listed, list) else []
    nodes = Node.objects.exclude(kind="service").order_by("node_id")
    return places.write_whole(path, _pretty({**(there or {}), "peers": [*others, *map(_peer, nodes)]}))


def _ours(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("writtenBy") == WRITER


def _peer(row: Node) -> Json:
    return {
        "peerId": row.node_id,
        "kind": row.kind,
        "label": row.name,
        "status": "registered",
        "role": row.role,
        "sessionId": row.session_id,
        "source": row.source,
        "trust": row.trust,
        "mode": "local",
        "network": False,
        "writtenBy": WRITER,
    }


def _pretty(record: Json) -> bytes:
    return (json.dumps(record, indent=2, ensure_ascii=True) + "\n").encode("ascii")


def _read(name: str) -> Json | None:
    try:
        value = json.loads(places.read_whole(places.home() / name) or b"null")
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
