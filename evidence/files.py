"""The one safe way from a path that somebody wrote to the bytes of a file.

A path is first turned into a `Pointer` (allowed root + relative path) by `locate`, which resolves symbolic links and
compares whole components. The file is then opened by `open_inside`, which follows no link at all: each component is
opened from the one before it, so that a swap between the two steps is refused and never followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, get_args

RootName = Literal["project", "session", "home", "artifacts"]
Roots = Mapping[str, Path]
"""Absolute folders by root name. A root that is missing is not available; a root is trusted, what lies in it is not."""

ROOT_NAMES: tuple[str, ...] = get_args(RootName)

PRIVATE_NAMES = frozenset(
    {
        ".env", ".ssh", ".gnupg", ".aws", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials",
        ".docker", ".kube", "storage-state.json", "private-mirrors", "server.json", "agentlink.sqlite3",
    }
)  # fmt: skip
"""Components that hold credentials, cookies or raw history; they are never opened, whatever root they lie in."""

PRIVATE_HOME_NAMES = frozenset({"tokens"})
"""Further components that are private under the root `home` only (a project may well have a folder `tokens`)."""

_DEVICE_NAMES = frozenset(
    {"con", "prn", "aux", "nul"} | {f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)}
)
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FILE = os.O_RDONLY | os.O_CLOEXEC | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


class FileRefused(Exception):
    """A path was not opened. `code` is stable, `sentence` says what was wrong and what would be right."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where a file lies: an allowed root by name and a relative POSIX path inside it."""

    root: str
    path: str


def components(relative: str, *, windows: bool = os.name == "nt") -> list[str]:
    """Split a relative path into plain names.

    Raises FileRefused (`bad_name`, `outside_root`, `private`) for anything that could mean something else than one
    file below the root: empty, absolute, `..`, control characters, names that cannot be stored, and, on Windows,
    drives, streams, device names and trailing dots.
    """
    _refuse_bad_characters(relative)
    if relative.startswith("/") or (windows and (relative[1:2] == ":" or relative.startswith("\\"))):
        raise FileRefused("outside_root", "The path is absolute; give one relative to its root.")
    names = [
        name for name in (relative.replace("\\", "/") if windows else relative).split("/") if name not in ("", ".")
    ]
    if not names:
        raise FileRefused("bad_name", "The path names no file.")
    for name in names:
        _refuse_bad_name(name, windows)
    return names


def _refuse_bad_characters(path: str) -> None:
    if any(ord(char) < 32 or ord(char) == 127 or 0xD800 <= ord(char) <= 0xDFFF for char in path):
        raise FileRefused(
            "bad_name",
            "The path holds control characters or is not Unicode; rename the file.",
        )


def _refuse_bad_name(name: str, windows: bool) -> None:
    if name == "..":
        raise FileRefused("outside_root", "The path contains `..`; give the path without it.")
    if name.casefold() in PRIVATE_NAMES or name.casefold().startswith(".env."):
        raise FileRefused(
            "private",
            f"`{name}` holds credentials or private history and is never read.",
        )
    if windows and (":" in name or name[-1] in ". " or name.split(".")[0].casefold() in _DEVICE_NAMES):
        raise FileRefused(
            "bad_name",
            f"`{name}` is not a plain file name on Windows; rename the file.",
        )


def open_inside(root: Path, relative: str) -> BinaryIO:
    """Open a regular file below `root` for reading, following no symbolic link below it.

    Raises FileRefused: `bad_name`, `outside_root`, `private` (see `components`), `not_found`, `link` (a component is a
    symbolic link or the file has other hard links), `not_regular` (a folder, FIFO, socket or device), `unreadable`.
    Never blocks: a FIFO is refused before and after it is opened.
    """
    names = components(relative)
    folder = _opened(str(root), _FOLDER, None, relative)
    try:
        for name in names[:-1]:
            deeper = _opened(name, _FOLDER | _NO_FOLLOW, folder, relative)
            os.close(folder)
            folder = deeper
        return _open_regular(names[-1], folder, relative)
    finally:
        os.close(folder)


def _open_regular(name: str, folder: int, shown: str) -> BinaryIO:
    try:
        _refuse_odd(os.stat(name, dir_fd=folder, follow_symlinks=False), shown)
    except OSError as error:
        raise _refusal(error, shown) from error
    descriptor = _opened(name, _FILE, folder, shown)
    try:
        _refuse_odd(os.fstat(descriptor), shown)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _opened(name: str, flags: int, folder: int | None, shown: str) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if isinstance(error, NotADirectoryError) and folder is not None and _is_link(name, folder):
            raise _link_refused(shown) from error
        raise _refusal(error, shown) from error


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _refuse_odd(found: os.stat_result, shown: str) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise _link_refused(shown)
    if not stat.S_ISREG(found.st_mode):
        raise FileRefused("not_regular", f"`{shown}` is not a regular file; name a file.")
    if found.st_nlink > 1:
        raise FileRefused(
            "link",
            f"`{shown}` has other names (hard links), so it may lie elsewhere; attach a copy.",
        )


def _link_refused(shown: str) -> FileRefused:
    return FileRefused(
        "link",
        f"`{shown}` leads through a symbolic link; name the file that it points to.",
    )


_REFUSALS: tuple[tuple[type[OSError], str, str], ...] = (
    (FileNotFoundError, "not_found", "There is no file `{}`."),
    (
        NotADirectoryError,
        "not_found",
        "There is no file `{}`: a part of its path is not a folder.",
    ),
    (PermissionError, "unreadable", "`{}` may not be read by this user."),
)


def _refusal(error: OSError, shown: str) -> FileRefused:
    if error.errno in (40, 62):  # ELOOP on Linux, macOS: O_NOFOLLOW met a link
        return _link_refused(shown)
    for kind, code, sentence in _REFUSALS:
        if isinstance(error, kind):
            return FileRefused(code, sentence.format(shown))
    return FileRefused(
        "unreadable",
        f"`{shown}` cannot be read: {error.strerror or type(error).__name__}.",
    )


def open_pointer(pointer: Pointer, roots: Roots) -> BinaryIO:
    """Open what a pointer names. Raises FileRefused: `no_root` for a root that is not given, else as `open_inside`."""
    if pointer.root not in ROOT_NAMES:
        raise FileRefused(
            "no_root",
            f"There is no root `{pointer.root}`; it is one of {', '.join(ROOT_NAMES)}.",
        )
    if pointer.root not in roots:
        raise FileRefused("no_root", f"The {pointer.root} folder is not known on this machine.")
    if pointer.root == "home":
        _refuse_private_home(pointer.path)
    return open_inside(roots[pointer.root], pointer.path)


def _refuse_private_home(path: str) -> None:
    for name in components(path):
        if name.casefold() in PRIVATE_HOME_NAMES:
            raise FileRefused("private", f"`{name}` holds credentials and is never read.")


def locate(given: str, roots: Roots, *, cwd: Path | None = None) -> Pointer:
    """Turn an absolute or relative path that a person or an agent gave into a pointer.

    Symbolic links are resolved, then whole components are compared, so `proj-secret` is not inside `proj`. Where roots
    nest, the innermost wins. A relative path is taken from `cwd`, else from the project root. The file need not exist.
    Raises FileRefused `outside_root` when the file lies in no allowed root, or as `components`.
    """
    _refuse_bad_characters(given)
    if not given.strip():
        raise FileRefused("bad_name", "The path is empty; name a file.")
    start = cwd or roots.get("project")
    if start is None and not Path(given).is_absolute():
        raise FileRefused("outside_root", "A relative path needs a project; give an absolute path.")
    real = Path(os.path.realpath(os.path.join(start or "/", given)))
    inner = sorted(
        ((Path(os.path.realpath(root)), name) for name, root in roots.items()),
        key=_depth,
        reverse=True,
    )
    for root, name in inner:
        if real.is_relative_to(root):
            return _pointer(name, real.relative_to(root))
    raise FileRefused(
        "outside_root",
        f"The path lies outside {_named(roots)}; only files inside can be attached.",
    )


def _pointer(name: str, relative: Path) -> Pointer:
    names = components(relative.as_posix())
    if name == "home":
        _refuse_private_home(relative.as_posix())
    return Pointer(name, "/".join(names))


def _depth(item: tuple[Path, str]) -> int:
    return len(item[0].parts)


def _named(roots: Roots) -> str:
    names = [f"the {name} folder" for name in ROOT_NAMES if name in roots]
    return " and ".join(names) if names else "every allowed folder"
