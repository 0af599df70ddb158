"""Archives are never unpacked: a bomb is a file with a size and a hash, looked at in bounded time and memory."""

from __future__ import annotations

import hashlib
import io
import os
import resource
import tarfile
import time
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evidence.checks import check_file
from evidence.files import Pointer
from evidence.previews import preview

MIB = 1024 * 1024
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def deflated(path: Path) -> None:
    """A thousandth of what it unpacks to, with itself inside of itself."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bomb:
        bomb.writestr("zeros", b"\0" * 100 * MIB)
        bomb.writestr("inner.zip", b"PK\x03\x04" * 1000)


def crowded(path: Path) -> None:
    """Very many entries that are nothing."""
    with zipfile.ZipFile(path, "w") as crowd:
        for number in range(20_000):
            crowd.writestr(f"{number}", b"")


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"PK\x03\x04")
        file.truncate(10 << 30)


def climbing(path: Path) -> None:
    """Names and links that lead out of any folder that it would be unpacked in."""
    with tarfile.open(path, "w:gz") as tar:
        for name, kind, to in (("../../etc/cron.d/x", tarfile.REGTYPE, ""), ("/etc/passwd", tarfile.REGTYPE, ""),
                               ("link", tarfile.SYMTYPE, "/etc/passwd"), ("hard", tarfile.LNKTYPE, "/etc/passwd"),
                               ("device", tarfile.CHRTYPE, "")):  # fmt: skip
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, to
            tar.addfile(entry, io.BytesIO() if kind == tarfile.REGTYPE else None)


BOMBS: dict[str, Callable[[Path], None]] = {
    "bomb.zip": deflated, "crowd.zip": crowded, "sparse.zip": sparse, "climbing.tar.gz": climbing,
    "bomb.docx": deflated,
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_an_archive_is_a_file_with_a_hash_and_nothing_in_it_is_looked_at(tmp_path: Path, name: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    path = project / name
    BOMBS[name](path)
    before, files = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, sorted(tmp_path.rglob("*"))
    size = path.stat().st_size
    digest = hashlib.sha256(path.read_bytes()).hexdigest() if size < MIB * 64 else "0" * 64
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    roots = {"project": project}
    checks = check_file(Pointer("project", name), roots, size_bytes=size, sha256=digest, claimed_at=None, now=NOW)
    shown = preview(Pointer("project", name), roots, lambda text: text)
    assert time.process_time() - began < 5, "processor time, which a busy machine does not stretch"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024
    assert {check.name: check.verdict for check in checks}["size"] == "verified"
    assert (shown.kind, shown.text, shown.data) == ("file", "", b"")
    assert sorted(tmp_path.rglob("*")) == files, "nothing was unpacked"


def test_no_part_of_the_program_can_unpack_anything() -> None:
    root = Path(__file__).resolve().parents[2]
    words = ("zipfile", "tarfile", "shutil.unpack", "gzip", "zlib.decompress", "bz2", "lzma")
    found = {
        path.relative_to(root).as_posix()
        for app in ("agentlink_site", "boards", "peers", "evidence")
        for path in (root / app).rglob("*.py")
        if any(word in path.read_text() for word in words)
    }
    assert found == set()


def test_a_file_of_ten_gigabytes_takes_no_room_when_it_is_looked_at(tmp_path: Path) -> None:
    sparse(tmp_path / "sparse")
    free = os.statvfs(tmp_path)
    preview(Pointer("project", "sparse"), {"project": tmp_path}, lambda text: text)
    after = os.statvfs(tmp_path)
    assert (free.f_bavail - after.f_bavail) * free.f_frsize < 50 * MIB
