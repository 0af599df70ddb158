from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evidence.artifacts import Artifacts, derive
from evidence.redaction import RedactionContext
from evidence.redaction.agintiflow import redact_as_agintiflow
from tests.evidence.conftest import session_events
from tests.evidence.facts import DATA, Event, cleaner, encoded
from tests.fixtures import Fixture

GOLDEN: dict[str, Any] = json.loads((DATA / "artifacts.json").read_text("utf-8"))
HERE = Path("/work-of/someone/sessions/s1")


def derived(*events: Event, project_root: Path | None = Path("/p"), clean: Any = None) -> Artifacts:
    return derive("s1", events, session_dir=HERE, project_root=project_root, command_cwd=project_root, clean=clean)


def of_fixture(aginti: Fixture, session_id: str, clean: Any) -> Artifacts:
    folder = aginti.home / "sessions" / session_id
    root = Path(json.loads((folder / "state.json").read_text("utf-8"))["commandCwd"])
    events = session_events(aginti.home, session_id)
    return derive(session_id, events, session_dir=folder, project_root=root, command_cwd=root, clean=clean)


@pytest.mark.parametrize("session_id", GOLDEN)
def test_every_artifact_is_the_one_that_agintiflow_prints(aginti: Fixture, session_id: str) -> None:
    found = of_fixture(aginti, session_id, redact_as_agintiflow)
    assert [item.as_json() for item in found.items] == GOLDEN[session_id]["items"]
    assert found.selected_id == GOLDEN[session_id]["selectedItemId"]


def test_the_fixture_has_fifty_three_artifacts_in_fourteen_sessions() -> None:
    assert len(GOLDEN) == 14
    assert sum(len(listed["items"]) for listed in GOLDEN.values()) == 53


@pytest.mark.parametrize("session_id", GOLDEN)
def test_our_redactor_changes_no_id_and_no_selection(aginti: Fixture, session_id: str) -> None:
    found = of_fixture(aginti, session_id, cleaner(RedactionContext(key=b"board")))
    assert [item.id for item in found.items] == [item["id"] for item in GOLDEN[session_id]["items"]]
    assert found.selected_id == GOLDEN[session_id]["selectedItemId"]


@pytest.mark.parametrize("vector", encoded("agintiflow-redaction.b64"), ids=lambda vector: str(vector["output"]))
def test_agintiflows_own_redaction_is_reproduced(vector: dict[str, str]) -> None:
    assert redact_as_agintiflow(vector["input"]) == vector["output"]


def test_a_snapshot_outside_the_session_folder_is_no_artifact() -> None:
    outside = {"step": 1, "snapshotPath": "/etc/passwd", "screenshotPath": f"{HERE}/../s2/artifacts/x.png"}
    assert derived(Event("2026-01-01T00:00:00.000Z", "snapshot.captured", outside)).items == []


def test_a_moved_home_still_finds_the_session_folder() -> None:
    old = {"step": 1, "screenshotPath": "/old/home/sessions/s1/artifacts/step-001.png"}
    (item,) = derived(Event("2026-01-01T00:00:00.000Z", "snapshot.captured", old)).items
    assert (item.kind, item.mime, item.content.place, item.content.path) == (
        "image",
        "image/png",
        "session",
        "artifacts/step-001.png",
    )


def test_an_old_path_that_climbs_out_of_the_session_folder_is_no_artifact() -> None:
    old = {"step": 1, "snapshotPath": "/old/home/sessions/s1/../s2/state.json"}
    assert derived(Event("2026-01-01T00:00:00.000Z", "snapshot.captured", old)).items == []


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "a/../../x", "a\0b"])
def test_a_workspace_file_outside_the_project_points_nowhere(path: str) -> None:
    found = derived(Event("2026-01-01T00:00:00.000Z", "file.changed", {"path": path, "diff": ""}))
    assert [item.content.path for item in found.items if item.source == "workspace-file"] == [""]


def test_a_workspace_path_counts_from_the_events_own_folder() -> None:
    changed = {"path": "a.py", "diff": "+x", "commandCwd": "/p/sub"}
    found = derived(Event("2026-01-01T00:00:00.000Z", "file.changed", changed))
    assert [item.content.path for item in found.items if item.source == "workspace-file"] == ["sub/a.py"]


def test_the_last_selection_wins_and_an_unknown_one_falls_back_to_the_canvas() -> None:
    item = Event("2026-01-01T00:00:00.000Z", "canvas.item", {"artifactId": "canvas-1", "content": "x"})
    newer = Event("2026-01-01T00:00:01.000Z", "session.finished", {"result": "done"})
    unknown = Event("2026-01-01T00:00:02.000Z", "canvas.selected", {"artifactId": "canvas-9"})
    assert derived(item, newer, unknown).selected_id == "canvas-1"
    assert [found.selected for found in derived(item, newer, unknown).items] == [False, True]


def test_a_canvas_item_sent_again_is_one_artifact_with_the_later_text() -> None:
    first = Event("2026-01-01T00:00:00.000Z", "canvas.item", {"artifactId": "canvas-1", "content": "old"})
    again = Event("2026-01-01T00:00:05.000Z", "canvas.item", {"artifactId": "canvas-1", "content": "new"})
    assert [item.content.text for item in derived(first, again).items] == ["new"]


@pytest.mark.parametrize("data", [None, [], "text", {"path": 3}, {"path": None, "diff": []}, {"artifactId": {}}])
@pytest.mark.parametrize("kind", ["canvas.item", "snapshot.captured", "file.changed", "session.finished", "x"])
def test_any_type_in_any_field_is_tolerated(kind: str, data: Any) -> None:
    derived(Event("2026-01-01T00:00:00.000Z", kind, data), project_root=None)


def test_an_id_with_hostile_characters_is_replaced_by_a_digest() -> None:
    hostile = Event("2026-01-01T00:00:00.000Z", "canvas.item", {"artifactId": "../../<b>", "content": "x"})
    (item,) = derived(hostile).items
    assert len(item.id) == 43
    assert item.id.replace("-", "").replace("_", "").isalnum()


def test_previews_and_titles_are_cleaned_before_they_are_cut() -> None:
    secret = "x" * 210 + " DB_PASSWORD=" + "Ab1" * 9
    found = derived(
        Event("2026-01-01T00:00:00.000Z", "session.finished", {"result": secret}),
        clean=cleaner(),
    )
    assert "Ab1" not in found.items[0].preview
