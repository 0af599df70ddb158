"""Safe previews: what may be shown of an artifact without trusting its name, its type or its text.

Text is redacted and always served as plain text; HTML and SVG are shown as their source. An image is only what its
first bytes say it is. Everything else is a file with a size, to be downloaded by its owner, never shown.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO, Literal

from evidence.artifacts import Artifact, Clean
from evidence.files import FileRefused, Pointer, Roots, locate, open_pointer

PreviewKind = Literal["text", "diff", "json", "markdown", "image", "file"]

TEXT_BYTES = 200_000
IMAGE_BYTES = 4_000_000

_PLAIN = "text/plain; charset=utf-8"
_OPAQUE = "application/octet-stream"
_SNIFFED_BYTES = 8_192
_PARTIAL_TAIL_BYTES = 4_096

_TEXT_KINDS: dict[str, PreviewKind] = {
    ".md": "markdown", ".markdown": "markdown", ".json": "json", ".diff": "diff", ".patch": "diff",
}  # fmt: skip
_SHOWN_KINDS: dict[str, PreviewKind] = {
    "diff": "diff",
    "json": "json",
    "markdown": "markdown",
}

_IMAGES: tuple[tuple[str, Callable[[bytes], bool]], ...] = (
    ("image/png", lambda head: head.startswith(b"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", lambda head: head.startswith(b"\xff\xd8\xff")),
    ("image/gif", lambda head: head.startswith((b"GIF87a", b"GIF89a"))),
    ("image/webp", lambda head: head.startswith(b"RIFF") and head[8:12] == b"WEBP"),
)


@dataclass(frozen=True, slots=True)
class Preview:
    """What may be shown. `size` is in bytes of the whole content; `data` is set for images only.

    When `truncated`, `note` is the sentence that says how much is shown. When `problem` is not empty there is nothing
    to show and it is the sentence that says why.
    """

    kind: PreviewKind
    text: str = ""
    data: bytes = b""
    mime: str = _PLAIN
    size: int = 0
    truncated: bool = False
    note: str = ""
    problem: str = ""


def preview(shown: Artifact | Pointer, roots: Roots, clean: Clean) -> Preview:
    """Preview an artifact or a file. Never raises for what it finds; `clean` (the redactor) is applied to all text.

    An artifact needs the root `session` or `project` when its content is a file there.
    """
    if isinstance(shown, Pointer):
        return _of_pointer(shown, None, roots, clean)
    content = shown.content
    kind = _SHOWN_KINDS.get(shown.kind)
    if content.place == "inline":
        raw = content.text.encode("utf-8", "replace")
        return _text(raw, len(raw), kind or "text", clean)
    if not content.path:
        return Preview(
            "file",
            problem="The event names a file outside of its project or session; it is not opened.",
        )
    try:
        return _of_pointer(_resolved(content.place, content.path, roots), kind, roots, clean)
    except FileRefused as refused:
        return Preview("file", problem=clean(refused.sentence))


def _resolved(place: str, path: str, roots: Roots) -> Pointer:
    """A workspace file may be reached through links inside the project; a session's own file may not."""
    if place == "project" and place in roots:
        return locate(path, {place: roots[place]})
    return Pointer(place, path)


def _of_pointer(pointer: Pointer, kind: PreviewKind | None, roots: Roots, clean: Clean) -> Preview:
    try:
        with open_pointer(pointer, roots) as opened:
            return _of_file(opened, kind or _named_kind(pointer.path), clean)
    except FileRefused as refused:
        return Preview("file", problem=clean(refused.sentence))
    except OSError as error:
        return Preview(
            "file",
            problem=f"The file could not be read: {error.strerror or type(error).__name__}.",
        )


def _named_kind(path: str) -> PreviewKind:
    return _TEXT_KINDS.get(PurePosixPath(path).suffix.lower(), "text")


def _of_file(opened: BinaryIO, kind: PreviewKind, clean: Clean) -> Preview:
    size = os.fstat(opened.fileno()).st_size
    head = opened.read(_SNIFFED_BYTES)
    for mime, is_image in _IMAGES:
        if is_image(head):
            return _image(opened, head, size, mime)
    if b"\0" in head:
        return _binary(size)
    raw = head + opened.read(TEXT_BYTES + 1 - len(head))
    return _binary(size) if b"\0" in raw else _text(raw, max(size, len(raw)), kind, clean)


def _binary(size: int) -> Preview:
    return Preview("file", mime=_OPAQUE, size=size, note="This is a binary file; it is not shown.")


def _image(opened: BinaryIO, head: bytes, size: int, mime: str) -> Preview:
    data = head + opened.read(IMAGE_BYTES + 1 - len(head))
    if len(data) > IMAGE_BYTES:
        sentence = f"The image has {max(size, len(data)):,} bytes; images over {IMAGE_BYTES:,} bytes are not shown."
        return Preview("file", mime=mime, size=max(size, len(data)), problem=sentence)
    return Preview("image", data=data, mime=mime, size=len(data))


def _text(raw: bytes, size: int, kind: PreviewKind, clean: Clean) -> Preview:
    if b"\0" in raw:
        return _binary(size)
    if size <= TEXT_BYTES:
        return Preview(kind, text=clean(raw.decode("utf-8", "replace")), size=size)
    kept = _whole_lines(raw[:TEXT_BYTES])
    note = f"The first {len(kept):,} of {size:,} bytes are shown."
    return Preview(
        kind,
        text=clean(kept.decode("utf-8", "replace")),
        size=size,
        truncated=True,
        note=note,
    )


def _whole_lines(raw: bytes) -> bytes:
    """Drop the cut last line: the half of a secret in it might no longer look like one."""
    end = raw.rfind(b"\n")
    return raw[: end + 1] if end >= len(raw) - _PARTIAL_TAIL_BYTES else raw[:-_PARTIAL_TAIL_BYTES]
