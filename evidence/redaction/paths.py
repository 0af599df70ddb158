"""Tier 5: private paths. Inside the project root they become relative; elsewhere under a home, a mount, a Windows
drive or a network share they become `[PATH]`. System paths stay."""

from __future__ import annotations

import functools
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidence.redaction.engine import RedactionContext, Scope, pattern, substitute

PRIVATE_FOLDERS = (
    "home", "Users", "root", "run/user", "var/folders", "private/var/folders", "mnt", "media", "Volumes",
    "export/home", "usr/home", "var/home", "data/home", "data/Users", "srv/home", "nfs/home", "net/home", "afs",
    "c/Users",
    "d/Users", "e/Users", "c/users", "System/Volumes/Data/Users", "System/Volumes/Data/home", "host/home", "host_mnt",
    "cygdrive", "scratch", "gpfs", "lustre", "nfs", "cluster/home", "private/home", "hdd/home", "ssd/home", "vol/home",
    "private/tmp/claude-501",
)  # fmt: skip
"""Folders below the file system's root whose contents belong to somebody."""

SYSTEM_FOLDERS_WINDOWS = (
    "windows",
    "program",
    "program files",
    "program files (x86)",
    "progra~1",
    "progra~2",
    "programdata",
)

_LEAD = r"(^|[^A-Za-z0-9_./\\~\])%-]|(?:^|[\s\"'`=(])-[A-Za-z]|file://(?:localhost)?)"
_TAIL = r"[^\s\"'`<>|:;,)\]}]*"
_COMPONENT = r"[^\s\"'`<>|:;,)\]}/\\$%{]"
_ENCODED = pattern(r"(?:file%3A%2F%2F)?%2F(?:home|Users)%2F[A-Za-z0-9_.~%-]+", case=False)
_SHARE = pattern(
    rf"(^|[\s\"'`(=])((?:\\\\\\\\|\\\\)(?:[A-Za-z0-9][A-Za-z0-9_.$@-]+|[?.])(?:\\\\|\\){_COMPONENT}+(?:[\\/]{_TAIL})?)"
)
_SLASH_SHARE = pattern(r"(^|[\s\"'`(=])(//[A-Za-z0-9-]+/[A-Za-z0-9_$-]+/[A-Za-z0-9_$-][A-Za-z0-9_$./-]*)")
_DASHED = pattern(
    r"(^|[/\\\s\"'`(=:])(-(?:home|Users|root|mnt|media|Volumes)-[A-Za-z0-9_.-]+|[A-Za-z]--Users-[A-Za-z0-9_.-]+)"
)
"""A project's folder as one component, as some agents name their own."""
_REMOTE = pattern(r"([a-z]+-remote://[^\s/\"'`<>]+)(/(?:home|Users|root)/[^\s\"'`<>|;,)\]}]+)")
_OTHERS_HOME = pattern(r"(^|[\s\"'`(=:])(~[a-z_][a-z0-9_-]*/[^\s\"'`<>|:;,)\]}]+)")

_OTHER_PATHS = ((b"\\\\", _SHARE), (b"//", _SLASH_SHARE), (b"-remote:", _REMOTE), (b"~", _OTHERS_HOME))


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder as components to compare; Windows folds case."""

    parts: tuple[str, ...]
    windows: bool

    def holds(self, parts: tuple[str, ...], windows: bool) -> bool:
        return self.windows == windows and _folded(parts[: len(self.parts)], windows) == _folded(self.parts, windows)


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rule for one context: what may start a private path, and the two folders that the context names."""

    candidate: Any
    root: _Place | None
    home: _Place | None


def hide_paths(text: bytes, scope: Scope) -> bytes:
    """Make project paths relative and hide other private ones."""
    if b"/" in text or b"\\" in text:
        rules = _rules(*_named_folders(scope.context))
        text = substitute(rules.candidate, text, scope, lambda match: _shown(match, rules, scope))
        for hint, rule in _OTHER_PATHS:
            if hint in text:
                text = substitute(rule, text, scope, lambda match: match.group(1) + scope.hide_path())
    if b"-home-" in text or b"-Users-" in text or b"-root-" in text or b"-mnt-" in text or b"-Volumes-" in text:
        text = substitute(_DASHED, text, scope, lambda match: match.group(1) + scope.hide_path())
    return substitute(_ENCODED, text, scope, lambda match: scope.hide_path()) if b"%2" in text else text


def _named_folders(context: RedactionContext) -> tuple[str, str]:
    return _plain(context.project_root), _plain(context.home)


def _plain(folder: Path | str | None) -> str:
    plain = str(folder or "").rstrip("/\\")
    return plain if len(_parts(plain)) > (2 if _is_windows(plain) else 0) - 1 else ""


@functools.lru_cache(maxsize=64)
def _rules(root: str, home: str) -> _Rules:
    named = [_any_slash(folder) for folder in (root, home) if folder]
    private = [
        rf"/(?:{'|'.join(PRIVATE_FOLDERS)})/{_COMPONENT}",
        r"[A-Za-z]:[\\/]+[^\s\"'`<>|:;,)\]}/\\$%{]",
    ]
    source = rf"{_LEAD}((?:{'|'.join([*named, *private])}){_TAIL})"
    return _Rules(
        pattern(source, case=not any(map(_is_windows, (root, home)))),
        _place(root),
        _place(home),
    )


def _any_slash(folder: str) -> str:
    """A folder as RE2, with any run of either slash between its components."""
    escaped = [re.escape(part).replace("\\/", "/") for part in re.split(r"[\\/]+", folder)]
    return r"[\\/]+".join(escaped)


def _place(folder: str) -> _Place | None:
    return _Place(_parts(folder), _is_windows(folder)) if folder else None


def _is_windows(path: str) -> bool:
    return len(path) > 2 and path[1] == ":" and path[2] in "\\/"


def _parts(path: str) -> tuple[str, ...]:
    """Components after `.` and `..` are resolved by name; a Windows drive is the first component."""
    plain = re.sub(r"[\\/]+", "/", path) if _is_windows(path) else path
    return tuple(part for part in posixpath.normpath(plain).split("/") if part not in ("", "."))


def _folded(parts: tuple[str, ...], windows: bool) -> tuple[str, ...]:
    return tuple(part.casefold() for part in parts) if windows else parts


def _shown(match: Any, rules: _Rules, scope: Scope) -> bytes | None:
    lead, path = match.group(1), match.group(2).decode("utf-8", "replace")
    kept = "" if lead.startswith(b"file:") else lead.decode("utf-8", "replace")
    ending = path[len(path.rstrip(".")) :] if path.rstrip(".") and not path.endswith("..") else ""
    path = path[: len(path) - len(ending)]
    windows, parts = _is_windows(path), _parts(path)
    if rules.root and rules.root.holds(parts, windows):
        scope.note("path.project")
        return (kept + ("/".join(parts[len(rules.root.parts) :]) or ".") + ending).encode()
    if _is_private(parts, windows, rules):
        return kept.encode() + scope.hide_path() + ending.encode()
    return None


def _is_private(parts: tuple[str, ...], windows: bool, rules: _Rules) -> bool:
    if windows:
        return len(parts) > 1 and parts[1].casefold() not in SYSTEM_FOLDERS_WINDOWS
    if rules.home and rules.home.holds(parts, windows):
        return True
    below = "/".join(parts) + "/"
    return any(below.startswith(f"{folder}/") for folder in PRIVATE_FOLDERS)
