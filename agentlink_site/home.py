"""The home folder and the private files in it: ours alone, never through a symlink, never readable by others."""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import stat
from pathlib import Path

from agentlink_site.config import Config, ConfigError

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def ensure_home(config: Config) -> Path:
    """Make the home (0700) or refuse it: a home of another user or a symlink in its place is never used.

    AgInTiFlow's own folder is made 0700 when missing and left alone when it exists.
    Also sets the process's umask to 077, before the first file is written. Raises ConfigError.
    """
    os.umask(0o077)
    if config.home.is_relative_to(config.agintiflow_home):
        _make(config.agintiflow_home)
    home = own_folder(config.home)
    _tighten(home)
    return home


def own_folder(path: Path) -> Path:
    """`path` as a folder of this user with mode 0700; raises ConfigError when something else is there."""
    _make(path)
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        raise ConfigError(f"{path} is a symbolic link; AgentLink needs a real folder there.")
    if not stat.S_ISDIR(info.st_mode):
        raise ConfigError(f"{path} is not a folder; AgentLink needs a folder there.")
    if info.st_uid != os.geteuid():
        raise ConfigError(f"{path} belongs to another user (uid {info.st_uid}); use a folder of your own.")
    if info.st_mode & 0o077:
        path.chmod(0o700)
    return path


def _make(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        if not path.is_symlink() and not path.exists():  # vanished in between
            raise
    except OSError as error:
        raise ConfigError(f"{path} cannot be made: {error.strerror}.") from None


def _tighten(home: Path) -> None:
    """Refuse planted symlinks and close what an older umask or a restored copy left open."""
    with os.scandir(home) as entries:
        for entry in entries:
            if entry.is_symlink():
                raise ConfigError(f"{entry.path} is a symbolic link; AgentLink keeps only real files in its home.")
            _close_to_others(entry)


def _close_to_others(entry: os.DirEntry[str]) -> None:
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
        if mode & 0o077:
            os.chmod(entry.path, stat.S_IMODE(mode) & 0o700)
    except FileNotFoundError:
        pass  # a temporary file of another process that is done


def write_private(path: Path, data: bytes) -> None:
    """Replace `path` by `data` in one step, mode 0600, on disk when this returns."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    _write_new(draft, data)
    try:
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _write_new(path: Path, data: bytes) -> None:
    with open(os.open(path, NEW_FILE, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def read_private(path: Path, limit: int = 65536) -> bytes:
    """The bytes of our own regular file at `path`; raises FileNotFoundError, or ConfigError for anything else there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}); it must be a file of your own.") from None
    with open(descriptor, "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid():
            raise ConfigError(f"{path} must be a regular file of your own.")
        return file.read(limit)


def take_lock(path: Path, *, wait: bool) -> int | None:
    """Lock `path` for this process until the descriptor is closed or the process ends.

    Returns None when another holds it and `wait` is false. flock, because a pid in a file may be reused.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def secret_key(home: Path) -> str:
    """The instance's secret, made once; whoever comes second reads the first one's."""
    path = home / "secret.key"
    try:
        text = read_private(path).decode("ascii", "replace").strip()
    except FileNotFoundError:
        _make_secret(path)
        text = read_private(path).decode("ascii", "replace").strip()
    if len(text) < 64:
        raise ConfigError(f"{path} is damaged; delete it and start again (everyone has to log in once more).")
    return text


def _make_secret(path: Path) -> None:
    """Written aside and linked into place, so that nobody ever reads half a secret."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    _write_new(draft, secrets.token_hex(32).encode() + b"\n")
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # another process was first; its secret counts
    finally:
        draft.unlink()


def instance_id(secret: str) -> str:
    """A public name for this home (12 hex digits) that tells nothing about the secret."""
    return hashlib.sha256(b"agentlink instance\0" + secret.encode()).hexdigest()[:12]
