"""Artifacts of a session, derived from its events on each read; nothing is stored.

Ids, kinds, titles, order and selection are those of AgInTiFlow (`src/artifact-tunnel.js`, 0.20.203), so that a pointer
made here means the same thing there. Previews differ: ours go through the redactor that the caller gives.
"""

from __future__ import annotations

import base64
import hashlib
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Protocol

from evidence.redaction.agintiflow import redact_as_agintiflow

Clean = Callable[[str], str]
ContentPlace = Literal["inline", "session", "project"]

PREVIEW_CHARS = 220
TITLE_CHARS = 200
INLINE_BYTES = 120_000
"""Most inline text that is looked at for one artifact; longer text is cut before it is cleaned, and only here."""

MOST = 2_000
MOST_CHARS = 32_000_000
"""Artifacts of one session, and characters of their inline text, that are held at once; the oldest go first."""

KINDS = frozenset({"image", "markdown", "text", "json", "diff", "pdf", "file"})
_KIND_BY_SUFFIX = {
    ".png": "image", ".jpg": "image", ".jpeg": "image", ".gif": "image", ".webp": "image", ".svg": "image",
    ".md": "markdown", ".markdown": "markdown", ".json": "json", ".diff": "diff", ".patch": "diff", ".pdf": "pdf",
}  # fmt: skip
_MIME_BY_SUFFIX = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".svg": "image/svg+xml", ".json": "application/json", ".pdf": "application/pdf",
}  # fmt: skip
_PLAIN_MIME = "text/plain; charset=utf-8"
_WORKSPACE_NOTE = "Open the current workspace file through guarded read policy."
_STATED_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class SessionEvent(Protocol):
    """One line of a session's log: ISO 8601 timestamp, type, and whatever data the writer gave (a mapping, if it is one
    of the known types)."""

    @property
    def timestamp(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def data(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Content:
    """Where an artifact's content comes from: inline `text` of the event, or a `path` relative to a folder.

    `session` is the session's folder, `project` the project root. An empty path there means that the event names a
    file outside of it, which is never opened.
    """

    place: ContentPlace
    text: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Artifact:
    """One artifact. `event_type` and `created_at` point at the event that proves it; `content` is not cleaned."""

    id: str
    session_id: str
    kind: str
    title: str
    path: str
    preview: str
    source: str
    tab: str
    created_at: str
    selected: bool
    mime: str
    event_type: str
    content: Content

    def as_json(self) -> dict[str, Any]:
        """The public fields under AgInTiFlow's names; never the content's place."""
        return {
            "id": self.id, "sessionId": self.session_id, "kind": self.kind, "title": self.title, "path": self.path,
            "preview": self.preview, "source": self.source, "tab": self.tab, "createdAt": self.created_at,
            "selected": self.selected, "mime": self.mime,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Artifacts:
    """A session's artifacts, newest first, and the id of the one that is shown first (empty when there is none).

    ``older``: how many more there are, each still found by its id.
    """

    items: list[Artifact]
    selected_id: str
    older: int = 0

    def by_id(self, artifact_id: str) -> Artifact | None:
        return next((item for item in self.items if item.id == artifact_id), None)


@dataclass(frozen=True, slots=True)
class _Session:
    """What derivation knows about the session that the events belong to."""

    id: str
    folder: Path
    project_root: Path | None
    command_cwd: Path | None
    clean: Clean


def derive(
    session_id: str,
    events: Iterable[SessionEvent],
    *,
    session_dir: Path,
    project_root: Path | None,
    command_cwd: Path | None,
    clean: Clean | None = None,
    wanted: str = "",
) -> Artifacts:
    """Derive the artifacts of a session from its events. Opens no file; tolerates any type in any field.

    However long the log is, at most ``MOST`` of them are held, and the one whose id is ``wanted``.

    `clean` is applied to titles, paths and previews (the redactor); without it they are shown as they are.
    """
    session = _Session(session_id, session_dir, project_root, command_cwd, clean or _as_it_is)
    found = _Held(wanted)
    chosen = ""
    for event in events:
        data = event.data if isinstance(event.data, Mapping) else {}
        if event.type == "canvas.selected":
            chosen = _text(data, "artifactId") or chosen
        for artifact in _DERIVED.get(event.type, _nothing)(session, event, data):
            found.add(artifact)
    newest_first = sorted(found.items.values(), key=lambda item: item.created_at, reverse=True)
    selected_id = _selected(newest_first, chosen)
    return Artifacts(
        [replace(item, selected=item.id == selected_id) for item in newest_first],
        selected_id,
        found.older,
    )


class _Held:
    """The artifacts of the events so far, as many as may be held; one that comes again takes its old place."""

    def __init__(self, wanted: str) -> None:
        self.items: dict[str, Artifact] = {}
        self.older = 0
        self._wanted, self._chars = wanted, 0

    def add(self, artifact: Artifact) -> None:
        before = self.items.get(artifact.id)
        self._chars += len(artifact.content.text) - (len(before.content.text) if before else 0)
        self.items[artifact.id] = artifact
        while len(self.items) > MOST or (self._chars > MOST_CHARS and len(self.items) > 1):
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        oldest = next(name for name in self.items if name != self._wanted)
        self._chars -= len(self.items.pop(oldest).content.text)
        self.older += 1


def _selected(items: list[Artifact], chosen: str) -> str:
    on_canvas = (item.id for item in items if item.tab == "canvas")
    if any(item.id == chosen for item in items):
        return chosen
    return next(on_canvas, items[0].id if items else "")


def _canvas_item(session: _Session, event: SessionEvent, data: Mapping[str, Any]) -> Iterator[Artifact]:
    stated, path, text = (
        _text(data, "artifactId"),
        _text(data, "path"),
        _text(data, "content"),
    )
    kind = _text(data, "kind")
    yield _artifact(
        session,
        event,
        artifact_id=stated if _STATED_ID.fullmatch(stated) else _digest(session.id, event.timestamp, "canvas", stated),
        kind=kind if kind in KINDS else _kind(path, "text" if text else "file"),
        title=_text(data, "title") or "Canvas item",
        path=path,
        preview=_text(data, "note") or text,
        source="agent-canvas",
        tab="canvas",
        mime=_mime(path),
        content=_canvas_content(session, data),
    )


def _canvas_content(session: _Session, data: Mapping[str, Any]) -> Content:
    """Inline text if there is any, else the session's own copy, else the workspace file, else the note."""
    if text := _text(data, "content"):
        return Content("inline", text=text)
    if inside := _session_relative(session, _text(data, "sessionFilePath")):
        return Content("session", path=inside)
    if path := _text(data, "originalPath") or _text(data, "path"):
        return _project_content(session, data, path)
    return Content("inline", text=_text(data, "note"))


def _snapshot(session: _Session, event: SessionEvent, data: Mapping[str, Any]) -> Iterator[Artifact]:
    step = data.get("step")
    numbered = f" step {step}" if isinstance(step, int) and not isinstance(step, bool) else ""
    for field, kind, name, tab in _SNAPSHOTS:
        inside = _session_relative(session, _text(data, field))
        if not inside:
            continue
        yield _artifact(
            session,
            event,
            artifact_id=_digest(session.id, event.timestamp, f"snapshot-{kind}", inside),
            kind=kind,
            title=f"{name}{numbered}",
            path=inside,
            preview=_text(data, "title") or _text(data, "url"),
            source="snapshot",
            tab=tab,
            mime=_mime(inside),
            content=Content("session", path=inside),
        )


_SNAPSHOTS = (
    ("screenshotPath", "image", "Browser screenshot", "canvas"),
    ("snapshotPath", "json", "Runtime snapshot", "explorer"),
)


def _file_changed(session: _Session, event: SessionEvent, data: Mapping[str, Any]) -> Iterator[Artifact]:
    path, diff = _text(data, "path"), _text(data, "diff")
    if not path:
        return
    yield _artifact(
        session,
        event,
        artifact_id=_digest(session.id, event.timestamp, "file-diff", path, redact_as_agintiflow(diff)),
        kind="diff",
        title=f"Change: {path}",
        path=path,
        preview=diff,
        source="file-change",
        tab="notifications",
        mime="text/x-diff",
        content=Content("inline", text=diff),
    )
    yield _artifact(
        session,
        event,
        artifact_id=_digest(session.id, event.timestamp, "workspace-file", path),
        kind=_kind(path, "file"),
        title=f"Workspace file: {path}",
        path=path,
        preview=_WORKSPACE_NOTE,
        source="workspace-file",
        tab="explorer",
        mime=_mime(path),
        content=_project_content(session, data, path),
    )


def _final_answer(session: _Session, event: SessionEvent, data: Mapping[str, Any]) -> Iterator[Artifact]:
    result = _text(data, "result")
    if not result.strip():
        return
    yield _artifact(
        session,
        event,
        artifact_id=_digest(session.id, event.timestamp, "final-answer", result),
        kind="markdown",
        title="Final answer",
        path="",
        preview=result,
        source="session",
        tab="notifications",
        mime="text/markdown; charset=utf-8",
        content=Content("inline", text=result),
    )


def _nothing(session: _Session, event: SessionEvent, data: Mapping[str, Any]) -> Iterator[Artifact]:
    return iter(())


_DERIVED: dict[str, Callable[[_Session, SessionEvent, Mapping[str, Any]], Iterator[Artifact]]] = {
    "canvas.item": _canvas_item,
    "snapshot.captured": _snapshot,
    "file.changed": _file_changed,
    "session.finished": _final_answer,
}


def _artifact(
    session: _Session,
    event: SessionEvent,
    *,
    artifact_id: str,
    kind: str,
    title: str,
    path: str,
    preview: str,
    source: str,
    tab: str,
    mime: str,
    content: Content,
) -> Artifact:
    return Artifact(
        id=artifact_id,
        session_id=session.id,
        kind=kind,
        title=_one_line(session.clean(_head(title)), TITLE_CHARS),
        path=session.clean(_head(path)),
        preview=_one_line(session.clean(_head(preview)), PREVIEW_CHARS),
        source=source,
        tab=tab,
        created_at=event.timestamp,
        selected=False,
        mime=mime,
        event_type=event.type,
        content=content,
    )


def _digest(*parts: str) -> str:
    joined = "\0".join(parts).encode("utf-8", "replace")
    return base64.urlsafe_b64encode(hashlib.sha256(joined).digest()).rstrip(b"=").decode("ascii")


def _kind(path: str, otherwise: str) -> str:
    return _KIND_BY_SUFFIX.get(PurePosixPath(path).suffix.lower(), otherwise)


def _mime(path: str) -> str:
    return _MIME_BY_SUFFIX.get(PurePosixPath(path).suffix.lower(), _PLAIN_MIME)


def _session_relative(session: _Session, stated: str) -> str:
    """The path inside the session's folder, or "" when it lies elsewhere.

    A home that was moved still names its old place: what follows `sessions/<this session>` counts as inside.
    """
    if not stated or "\0" in stated:
        return ""
    named = PurePosixPath(posixpath.normpath(stated))
    if named.is_relative_to(session.folder):
        return _below(named.relative_to(session.folder))
    parts = named.parts
    for place in range(len(parts) - 2, 0, -1):
        if parts[place] == session.id and parts[place - 1] == "sessions":
            return _below(PurePosixPath(*parts[place + 1 :]))
    return ""


def _below(relative: PurePosixPath) -> str:
    return "" if not relative.parts or ".." in relative.parts else relative.as_posix()


def _project_content(session: _Session, data: Mapping[str, Any], path: str) -> Content:
    folders = (_text(data, "commandCwd"), str(session.command_cwd or ""))
    return Content("project", path=project_relative(path, session.project_root, folders))


def project_relative(path: str, project_root: Path | None, folders: Iterable[str]) -> str:
    """A workspace path as seen from the project root, by name only; "" when it lies outside or there is no project.

    It is taken from the first of `folders` that lies in the project (the event's own, then the session's), else from
    the root itself: a project that was moved still reads right.
    """
    if project_root is None or "\0" in path:
        return ""
    inside = (folder for folder in folders if PurePosixPath(posixpath.normpath(folder)).is_relative_to(project_root))
    whole = PurePosixPath(posixpath.normpath(posixpath.join(next(inside, str(project_root)), path)))
    return _below(whole.relative_to(project_root)) if whole.is_relative_to(project_root) else ""


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _head(text: str) -> str:
    return text[:INLINE_BYTES]


def _one_line(text: str, limit: int) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= limit else f"{joined[:limit]}..."


def _as_it_is(text: str) -> str:
    return text
