from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from evidence.files import FileRefused, Pointer, components, locate, open_inside, open_pointer


def refused(root: Path, relative: str) -> str:
    with pytest.raises(FileRefused) as caught:
        open_inside(root, relative)
    assert caught.value.sentence.endswith((".", "!"))
    return caught.value.code


def test_a_regular_file_inside_is_opened(project: Path) -> None:
    (project / "a").mkdir()
    (project / "a" / "b.txt").write_bytes(b"inside")
    with open_inside(project, "a/./b.txt") as opened:
        assert opened.read() == b"inside"


@pytest.mark.parametrize(
    ("relative", "code"),
    [
        ("../proj-secret/key.txt", "outside_root"),
        ("a/../../proj-secret/key.txt", "outside_root"),
        ("/etc/passwd", "outside_root"),
        ("", "bad_name"),
        (".", "bad_name"),
        ("a\0b", "bad_name"),
        ("a\nb", "bad_name"),
        ("a\udc80b", "bad_name"),
        ("%2e%2e%2fproj-secret", "not_found"),
        ("nothing/here", "not_found"),
        ("plain.txt/deeper", "not_found"),
        (".env", "private"),
        (".env.local", "private"),
        ("session/storage-state.json", "private"),
        (".SSH/id", "private"),
        ("folder", "not_regular"),
    ],
)
def test_what_is_not_one_file_below_the_root_is_refused(project: Path, relative: str, code: str) -> None:
    (project / "plain.txt").write_text("x")
    (project / "folder").mkdir()
    assert refused(project, relative) == code


def test_links_to_files_and_through_folders_are_refused(project: Path) -> None:
    (project / "passwd").symlink_to("/etc/passwd")
    (project / "etc").symlink_to("/etc")
    (project / "loop").symlink_to("loop")
    assert refused(project, "passwd") == "link"
    assert refused(project, "etc/passwd") == "link"
    assert refused(project, "loop") == "link"
    assert refused(project, "loop/x") == "link"


def test_a_hard_link_is_refused(project: Path) -> None:
    os.link(project.parent / "proj-secret" / "key.txt", project / "key.txt")
    assert refused(project, "key.txt") == "link"


@pytest.mark.timeout(20)
def test_a_fifo_is_refused_without_waiting_for_a_writer(project: Path) -> None:
    os.mkfifo(project / "fifo")
    assert refused(project, "fifo") == "not_regular"


@pytest.mark.timeout(20)
def test_a_device_is_refused() -> None:
    assert refused(Path("/dev"), "zero") == "not_regular"


@pytest.mark.timeout(60)
def test_a_file_swapped_for_a_link_is_never_followed(project: Path) -> None:
    """A thread swaps the file, and the folder above it, for links to the outside while it is opened again and again."""
    (project / "d").mkdir()
    (project / "d" / "f").write_text("inside")
    (project / "d2").mkdir()
    (project / "d2" / "key.txt").write_text("inside")
    stop = threading.Event()

    def swap() -> None:
        real, link = project / "d" / "real", project / "d" / "link"
        link.symlink_to(project.parent / "proj-secret" / "key.txt")
        (project / "outside").symlink_to(project.parent / "proj-secret")
        while not stop.is_set():
            for there, away, back in (
                (project / "d" / "f", real, link),
                (project / "d2", project / "kept", project / "outside"),
            ):
                there.rename(away)
                back.rename(there)
                there.rename(back)
                away.rename(there)

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen = set()
    try:
        for _ in range(3000):
            for relative in ("d/f", "d2/key.txt"):
                try:
                    with open_inside(project, relative) as opened:
                        seen.add(opened.read())
                except FileRefused as refusal:
                    seen.add(refusal.code.encode())
    finally:
        stop.set()
        swapper.join()
    assert b"inside" in seen
    assert seen <= {b"inside", b"link", b"not_found"}


@pytest.mark.parametrize(
    "name", ["C:..\\x", "C:\\x", "\\\\?\\C:\\x", "file:stream", "CON", "con.txt", "a/nul", "dot.", "space "]
)
def test_on_windows_names_that_mean_something_else_are_refused(name: str) -> None:
    with pytest.raises(FileRefused):
        components(name, windows=True)


def test_locate_turns_given_paths_into_pointers(project: Path, tmp_path: Path) -> None:
    roots = {"project": project, "home": tmp_path}
    (project / "sub").mkdir()
    assert locate("sub/x.txt", roots) == Pointer("project", "sub/x.txt")
    assert locate("x.txt", roots, cwd=project / "sub") == Pointer("project", "sub/x.txt")
    assert locate(str(project / "a" / ".." / "y"), roots) == Pointer("project", "y")
    assert locate(str(tmp_path / "sessions" / "z"), roots) == Pointer("home", "sessions/z")


def test_locate_resolves_links_and_compares_whole_components(project: Path) -> None:
    (project / "real").mkdir()
    (project / "alias").symlink_to("real")
    (project / "escape").symlink_to(project.parent / "proj-secret")
    assert locate("alias/f", {"project": project}) == Pointer("project", "real/f")
    for outside in ("escape/key.txt", "../proj-secret/key.txt", str(project.parent / "proj-secret" / "key.txt")):
        with pytest.raises(FileRefused) as caught:
            locate(outside, {"project": project})
        assert caught.value.code == "outside_root"


@pytest.mark.parametrize("given", ["", " ", "a\0b", "tokens/alice", ".env", "agentlink.sqlite3"])
def test_locate_refuses_nameless_and_private_paths(tmp_path: Path, given: str) -> None:
    with pytest.raises(FileRefused):
        locate(given, {"home": tmp_path}, cwd=tmp_path)


def test_a_pointer_to_an_unknown_or_missing_root_is_refused(project: Path) -> None:
    for pointer in (Pointer("etc", "passwd"), Pointer("session", "state.json")):
        with pytest.raises(FileRefused) as caught:
            open_pointer(pointer, {"project": project})
        assert caught.value.code == "no_root"


def test_tokens_are_private_under_home_only(tmp_path: Path) -> None:
    (tmp_path / "tokens").mkdir()
    (tmp_path / "tokens" / "design.css").write_text("x")
    open_pointer(Pointer("project", "tokens/design.css"), {"project": tmp_path}).close()
    with pytest.raises(FileRefused) as caught:
        open_pointer(Pointer("home", "tokens/design.css"), {"home": tmp_path})
    assert caught.value.code == "private"
