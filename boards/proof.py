"""Evidence at the edges: from an artifact, a file or a URL to a bundle with its checks.

Files are looked at outside the writer's lock; what was found is then recorded by a command of its own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from boards.commands import execute, repeated, service
from boards.commands.cleaning import context_for
from boards.models import Evidence, Node, Task
from boards.people import members
from boards.rules import Refused
from boards.schemas import (
    Actor,
    AttachEvidence,
    Check,
    CloseBoard,
    CompleteTask,
    EventPointer,
    FilePointer,
    Receipt,
    RecordChecks,
)
from boards.times import now
from evidence import checks
from evidence.artifacts import Artifact, Artifacts, derive
from evidence.checks.verdicts import parse_time
from evidence.files import FileRefused, Pointer, Roots, locate, open_pointer
from evidence.previews import Preview
from evidence.previews import preview as preview_of
from evidence.redaction import redact
from peers import queries as peers
from peers.adapters import adapter

HASH_LIMIT = checks.MAX_HASHED_BYTES
MASKED: Final = re.compile(r"\[[A-Z]+(:[a-z0-9-]+)?(#[0-9a-f]+)?\]")
"""What the redactor leaves in the place of something private."""
PENDING: Final = timedelta(seconds=15)
"""After this long a bundle that was never checked is taken up; longer than any check takes."""


# --- what a session has to show ------------------------------------------------------------------------------------


def artifacts(session_id: str, wanted: str = "") -> Artifacts:
    """A session's artifacts, newest first, derived from its events; the one that is ``wanted`` however old it is.

    Raises :class:`Refused` for no such session.
    """
    row = peers.session(session_id)
    if row is None or not row.present:
        raise Refused("unknown_session", f"No store on this machine has a session {session_id[:80]!r}.")
    roots = peers.roots(session_id)
    return derive(
        session_id,
        adapter(row.source).events(session_id),
        session_dir=Path(roots.session_dir if roots else "/nonexistent"),
        project_root=_path(roots.project_root if roots else ""),
        command_cwd=_path(roots.command_cwd if roots else ""),
        clean=cleaner(session_id),
        wanted=wanted,
    )


def _path(text: str) -> Path | None:
    return Path(text) if text else None


def artifact(session_id: str, artifact_id: str) -> Artifact:
    """One artifact. Raises :class:`Refused` when the session has no such artifact (any more)."""
    found = artifacts(session_id, artifact_id).by_id(artifact_id)
    if found is None:
        raise Refused("unknown_artifact", f"The session {session_id} has no artifact {artifact_id[:80]!r}.")
    return found


def preview(session_id: str, artifact_id: str) -> Preview:
    """What of an artifact may be shown: bounded, redacted, and never as active content."""
    return preview_of(artifact(session_id, artifact_id), roots_of(session_id), cleaner(session_id))


def cleaner(session_id: str) -> Callable[[str], str]:
    """The redactor for texts of one session."""
    node_id = Node.objects.filter(session_id=session_id).values_list("node_id", flat=True).first()
    context = context_for(node_id or "")
    if node_id is None:
        roots = peers.roots(session_id)
        context = replace(context, project_root=(roots.project_root or None) if roots else None)
    return lambda text: redact(text, context=context).text


def roots_of(session_id: str) -> Roots:
    """The folders that a session's files may lie in; absolute, and never shown."""
    roots = peers.roots(session_id) if session_id else None
    named = {"project": roots.project_root, "session": roots.session_dir} if roots else {}
    return {name: Path(path) for name, path in named.items() if path}


# --- attaching -----------------------------------------------------------------------------------------------------


def attach_artifact(
    actor: Actor,
    *,
    board_id: str,
    contract_id: str,
    requirement_id: str | None,
    session_id: str,
    artifact_id: str,
    summary: str,
    stands_for: str = "proof",
    key: str | None = None,
) -> Receipt:
    """Attaches an artifact of a member's session: its event, and its file when it has one."""
    said = [board_id, contract_id, requirement_id, summary, stands_for, session_id, artifact_id]
    earlier = repeated("attach_evidence", actor, key, said)
    if earlier is not None:
        return earlier
    try:
        _check_member_session(actor, board_id, session_id)
        shown = artifact(session_id, artifact_id)
        files = list(_artifact_file(shown))
    except (Refused, FileRefused) as no:
        return _rejected(no, board_id)
    pointer = EventPointer(session_id=session_id, event_type=shown.event_type, timestamp=shown.created_at)
    facts = {"evidenceKind": shown.kind, "standsFor": stands_for, "events": [pointer], "artifacts": files}
    return _attach(actor, board_id, contract_id, requirement_id, summary or shown.title, key, facts, said)


def _check_member_session(actor: Actor, board_id: str, session_id: str) -> None:
    """A person shows what a member's session made; an agent what its own session made."""
    me = Node.objects.get(node_id=actor.node_id)
    if me.kind != "human" and session_id != me.session_id:
        raise Refused("not_yours", f"{me.name} may attach what its own session made; {session_id[:80]!r} is another.")
    nodes = Node.objects.filter(session_id=session_id).values("node_id")
    if not members(board_id).filter(node_id__in=nodes).exists():
        raise Refused("not_a_member", f"The session {session_id[:80]!r} is no member of {board_id!r}; invite it first.")


def _artifact_file(shown: Artifact) -> Iterator[FilePointer]:
    if shown.content.place != "inline" and shown.content.path:
        yield _stated(Pointer(shown.content.place, shown.content.path), shown.session_id)


def _stated(pointer: Pointer, session_id: str) -> FilePointer:
    """The pointer with the size and hash that the file has now; a file that is too large goes by size alone."""
    try:
        opened = open_pointer(pointer, roots_of(session_id))
    except FileRefused:
        # Attaching proves nothing: a file that is gone is attached as it was named, and the check says that it is gone.
        return FilePointer(root=pointer.root, path=pointer.path, session_id=session_id)
    with opened:
        size, digest = 0, hashlib.sha256()
        while block := opened.read(1 << 20):
            size += len(block)
            digest.update(block)
            if size > HASH_LIMIT:
                size = opened.seek(0, 2)
                return FilePointer(root=pointer.root, path=pointer.path, session_id=session_id, size_bytes=size)
    return FilePointer(
        root=pointer.root,
        path=pointer.path,
        session_id=session_id,
        size_bytes=size,
        sha256=digest.hexdigest(),
    )


def named_file(path: str, session_id: str) -> FilePointer | None:
    """A file that somebody names, with the size and hash that it has now; none outside the session's own folders."""
    try:
        return _stated(locate(path, roots_of(session_id)), session_id) if path and roots_of(session_id) else None
    except (FileRefused, ValueError, OSError):
        return None


def attach_file(
    actor: Actor,
    *,
    board_id: str,
    contract_id: str,
    requirement_id: str | None,
    path: str,
    summary: str,
    stands_for: str = "proof",
    key: str | None = None,
) -> Receipt:
    """Attaches a file by path; it must lie inside the project or the session folder of a member."""
    said = [board_id, contract_id, requirement_id, summary, stands_for, path]
    earlier = repeated("attach_evidence", actor, key, said)
    if earlier is not None:
        return earlier
    try:
        pointer, session_id = _locate(actor, board_id, path)
        stated = _stated(pointer, session_id)
    except (Refused, FileRefused) as no:
        return _rejected(no, board_id)
    facts = {"evidenceKind": "file", "standsFor": stands_for, "artifacts": [stated]}
    return _attach(actor, board_id, contract_id, requirement_id, summary, key, facts, said)


def _locate(actor: Actor, board_id: str, path: str) -> tuple[Pointer, str]:
    """The root that holds the path: for a person any member's, for an agent its own."""
    nodes = Node.objects.filter(node_id__in=members(board_id).values("node_id")).exclude(session_id="")
    if not Node.objects.filter(node_id=actor.node_id, kind="human").exists():
        nodes = nodes.filter(node_id=actor.node_id)
    refusal: FileRefused | None = None
    for node in nodes.order_by("node_id"):
        try:
            return _existing(locate(path, roots_of(node.session_id)), node.session_id, path)
        except FileRefused as no:
            refusal = refusal if refusal and refusal.code != "outside_root" else no
    if refusal is not None and refusal.code != "outside_root":
        raise refusal
    sentence = "The file lies outside the projects of this board's members; attach one that lies inside."
    raise Refused("path_not_allowed", sentence)


def _existing(pointer: Pointer, session_id: str, path: str) -> tuple[Pointer, str]:
    """A relative path means the first member's project that has such a file."""
    if not path.startswith("/"):
        open_pointer(pointer, roots_of(session_id)).close()
    return pointer, session_id


def attach_url(
    actor: Actor,
    *,
    board_id: str,
    contract_id: str,
    requirement_id: str | None,
    url: str,
    summary: str,
    stands_for: str = "proof",
    key: str | None = None,
) -> Receipt:
    """Attaches a URL; only a loopback one can be checked."""
    facts = {"evidenceKind": "url", "standsFor": stands_for, "url": url}
    return _attach(actor, board_id, contract_id, requirement_id, summary, key, facts)


def attach_text(
    actor: Actor,
    *,
    board_id: str,
    contract_id: str,
    requirement_id: str | None,
    summary: str,
    stands_for: str = "proof",
    key: str | None = None,
) -> Receipt:
    """Attaches prose alone: it stays unverified until somebody vouches for it by name."""
    facts = {"evidenceKind": "statement", "standsFor": stands_for}
    return _attach(actor, board_id, contract_id, requirement_id, summary, key, facts)


def _attach(
    actor: Actor,
    board_id: str,
    contract_id: str,
    requirement_id: str | None,
    summary: str,
    key: str | None,
    facts: dict[str, Any],
    said: Any = None,
) -> Receipt:
    wish = {
        "boardId": board_id,
        "contractId": contract_id,
        "requirementId": requirement_id or None,
        "summary": summary,
        **facts,
    }
    receipt = execute(AttachEvidence.model_validate(wish), actor, key=key, said=said)
    if receipt.outcome == "applied" and receipt.entity:
        recheck(board_id, receipt.entity["id"])
    return receipt


def _rejected(no: Refused | FileRefused, board_id: str) -> Receipt:
    return Receipt("rejected", "attach_evidence", no.code, no.sentence, board_id=board_id)


# --- checking ------------------------------------------------------------------------------------------------------


def recheck(board_id: str, evidence_id: str, *, only_changes: bool = False) -> Receipt:
    """Runs every check of a bundle now and records what was found."""
    bundle = Evidence.objects.filter(board_id=board_id, evidence_id=evidence_id).first()
    if bundle is None:
        sentence = f"The board {board_id!r} has no evidence {evidence_id[:80]!r}."
        return Receipt("rejected", "record_checks", "unknown_evidence", sentence, board_id=board_id)
    lines = _run(bundle)
    found = [Check(name=line.name, verdict=line.verdict, detail=line.detail) for line in lines]
    verdict = checks.bundle_verdict(lines)
    command = RecordChecks(
        board_id=board_id, evidence_id=evidence_id, checks=found, verdict=verdict, only_changes=only_changes
    )
    return execute(command, service())


def recheck_before_finish(command: CompleteTask | CloseBoard) -> None:
    """Reads the proof again before anything is called finished: a file may have changed, or be older than the claim."""
    bundles = Evidence.objects.filter(board_id=command.board_id, verdict="verified")
    if isinstance(command, CompleteTask):
        tasks = Task.objects.filter(task_id=command.task_id, board_id=command.board_id)
        bundles = bundles.filter(contract_id__in=tasks.values("contract_id"))
    for bundle in bundles:
        if bundle.events or bundle.artifacts or bundle.url:
            recheck(bundle.board_id, bundle.evidence_id, only_changes=True)


def check_pending() -> int:
    """Checks what was attached but never checked, because its process died in between; returns how many."""
    late = now() - PENDING
    rows = Evidence.objects.filter(judged_at=None, verdict="unverified", created_at__lt=late)
    return sum(recheck(row.board_id, row.evidence_id).outcome == "applied" for row in rows)


def _run(bundle: Evidence) -> list[checks.Check]:
    """The checks, session by session, because each session has its own folders."""
    sessions = {item["sessionId"] for item in [*bundle.events, *bundle.artifacts]} or {""}
    claimed, moment = _claimed_at(bundle), now()
    lines: list[checks.Check] = []
    for number, session_id in enumerate(sorted(sessions)):
        facts = _facts(bundle, session_id, with_url=number == 0)
        logs = {session_id: list(_events(session_id, facts))} if facts.events else {}
        lines += checks.run(facts, roots_of(session_id), logs, claimed, moment, own_ports=_own_ports())
    if MASKED.search(bundle.url):
        sentence = "The URL names something private, which was hidden before it was stored; it is not asked."
        lines.append(checks.Check("url", "unavailable", sentence))
    return lines


def _facts(bundle: Evidence, session_id: str, *, with_url: bool) -> checks.BundleFacts:
    events = [item for item in bundle.events if item["sessionId"] == session_id]
    files = [item for item in bundle.artifacts if item["sessionId"] == session_id]
    return checks.BundleFacts(
        events=tuple(checks.EventFact(e["sessionId"], e["eventType"], e["timestamp"]) for e in events),
        artifacts=tuple(checks.ArtifactFact(f["root"], f["path"], f["sizeBytes"], f["sha256"]) for f in files),
        url=(bundle.url or None) if with_url and not MASKED.search(bundle.url) else None,
        failure_expected=bundle.stands_for == "blocker",
    )


def _events(session_id: str, facts: checks.BundleFacts) -> Iterator[Any]:
    """Only the events that the bundle speaks of: a log may be larger than memory."""
    row = peers.session(session_id)
    wanted = {(fact.event_type, parse_time(fact.timestamp)) for fact in facts.events}
    types = {kind for kind, _ in wanted}
    if row is not None:
        for event in adapter(row.source).events(session_id):
            if event.type in types and (event.type, parse_time(event.timestamp)) in wanted:
                yield event


def _claimed_at(bundle: Evidence) -> datetime | None:
    """The claim that the bundle is for: the author's own, else the contract's first."""
    tasks = Task.objects.filter(contract_id=bundle.contract_id, board_id=bundle.board_id, claimed_at__isnull=False)
    own = [task.claimed_at for task in tasks if task.holder == bundle.node_id and task.claimed_at]
    every = [task.claimed_at for task in tasks if task.claimed_at]
    return min(own or every, default=None)


def _own_ports() -> set[int]:
    """The port of the running panel: its answer proves nothing about anybody's work."""
    try:
        url = json.loads((Path(settings.AGENTLINK_HOME) / "server.json").read_text())["url"]
        return {int(url.rpartition(":")[2].strip("/"))}
    except (OSError, ValueError, KeyError):
        return set()
