from __future__ import annotations

import os
from pathlib import Path

import pytest

from evidence.artifacts import Artifact, Content, derive
from evidence.files import Pointer
from evidence.previews import IMAGE_BYTES, TEXT_BYTES, Preview, preview
from tests.evidence.facts import Event, cleaner

CLEAN = cleaner()
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


def shown(project: Path, name: str, content: bytes) -> Preview:
    (project / name).write_bytes(content)
    return preview(Pointer("project", name), {"project": project}, CLEAN)


def artifact(kind: str, content: Content) -> Artifact:
    return Artifact("id", "s", kind, "t", "p", "", "s", "canvas", "2026-01-01T00:00:00.000Z", False, "m", "e", content)


@pytest.mark.parametrize(
    ("head", "mime"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a;alert(1)//", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
def test_images_are_known_by_their_first_bytes(project: Path, head: bytes, mime: str) -> None:
    found = shown(project, "anything.txt", head)
    assert (found.kind, found.mime, found.data) == ("image", mime, head)


@pytest.mark.parametrize("name", ["x.png", "x.svg", "x.html", "x.gif"])
def test_html_and_svg_are_source_text_whatever_their_name(project: Path, name: str) -> None:
    found = shown(project, name, b"<svg onload=alert(1)><script>alert(1)</script></svg>")
    assert (found.kind, found.mime, found.data) == ("text", "text/plain; charset=utf-8", b"")
    assert "<script>" in found.text


def test_an_inline_image_artifact_that_is_text_is_shown_as_text() -> None:
    found = preview(artifact("image", Content("inline", text="<svg onload=alert(1)>")), {}, CLEAN)
    assert (found.kind, found.mime) == ("text", "text/plain; charset=utf-8")


@pytest.mark.parametrize(
    ("name", "kind"), [("a.md", "markdown"), ("a.json", "json"), ("a.diff", "diff"), ("a", "text")]
)
def test_text_keeps_the_kind_of_its_name(project: Path, name: str, kind: str) -> None:
    assert shown(project, name, b"text").kind == kind


def test_text_is_redacted(project: Path) -> None:
    assert "Ab1Ab1" not in shown(project, "a.env.txt", b"DB_PASSWORD=" + b"Ab1" * 8).text


@pytest.mark.parametrize("content", [b"a\0b", b"a" * 9000 + b"\0", b"%PDF-1.7\0"])
def test_a_file_with_nul_is_binary_and_not_shown(project: Path, content: bytes) -> None:
    found = shown(project, "x.txt", content)
    assert (found.kind, found.text, found.data, found.size) == ("file", "", b"", len(content))


def test_long_text_says_how_much_is_shown_and_loses_its_cut_line(project: Path) -> None:
    found = shown(project, "x.log", b"line of text\n" * 100_000)
    assert found.truncated
    assert found.text.endswith("line of text\n")
    assert found.note == f"The first {len(found.text):,} of 1,300,000 bytes are shown."


def test_half_a_secret_at_the_cut_is_not_shown(project: Path) -> None:
    found = shown(project, "x.txt", b"a" * (TEXT_BYTES - 10) + b" ghp_" + b"A1b2C3d4" * 9)
    assert "ghp_" not in found.text


@pytest.mark.timeout(20)
def test_a_sparse_file_of_ten_gigabytes_is_previewed_by_its_head(project: Path) -> None:
    with (project / "huge.txt").open("wb") as huge:
        huge.write(b"head\n" * 100_000)
        huge.truncate(10 << 30)
    found = preview(Pointer("project", "huge.txt"), {"project": project}, CLEAN)
    assert (found.kind, found.truncated, found.size) == ("text", True, 10 << 30)


def test_an_image_over_the_limit_is_not_shown(project: Path) -> None:
    found = shown(project, "x.png", PNG + b"1" * IMAGE_BYTES)
    assert (found.kind, found.data) == ("file", b"")
    assert "4,000,000" in found.problem


@pytest.mark.timeout(20)
def test_links_fifos_and_missing_files_are_problems_with_a_sentence(project: Path) -> None:
    (project / "link").symlink_to("/etc/passwd")
    os.mkfifo(project / "fifo")
    for name in ("link", "fifo", "missing", "../proj-secret/key.txt", ".env"):
        found = preview(Pointer("project", name), {"project": project}, CLEAN)
        assert (found.kind, found.text, found.data) == ("file", "", b"")
        assert found.problem.endswith(".")


def test_a_workspace_artifact_may_be_reached_through_links_inside_the_project_only(project: Path) -> None:
    (project / "real.txt").write_text("inside")
    (project / "alias.txt").symlink_to("real.txt")
    (project / "escape.txt").symlink_to("../proj-secret/key.txt")
    inside = preview(artifact("file", Content("project", path="alias.txt")), {"project": project}, CLEAN)
    assert inside.text == "inside"
    outside = preview(artifact("file", Content("project", path="escape.txt")), {"project": project}, CLEAN)
    assert (outside.text, bool(outside.problem)) == ("", True)


def test_a_session_file_is_opened_in_the_session_folder_only(project: Path) -> None:
    (project / "artifacts").mkdir()
    (project / "artifacts" / "step.json").write_text("{}")
    step = Content("session", path="artifacts/step.json")
    assert preview(artifact("json", step), {"session": project}, CLEAN).text == "{}"
    assert preview(artifact("json", step), {}, CLEAN).problem


def test_an_event_that_names_a_file_outside_its_project_shows_nothing(project: Path) -> None:
    event = Event("2026-01-01T00:00:00.000Z", "file.changed", {"path": "../proj-secret/key.txt", "diff": "+x"})
    found = derive("s", [event], session_dir=project, project_root=project, command_cwd=project)
    workspace = next(item for item in found.items if item.source == "workspace-file")
    assert preview(workspace, {"project": project}, CLEAN).problem
