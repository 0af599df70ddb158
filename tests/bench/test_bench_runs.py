"""The bench runs from end to end and tells ratios; a test never looks at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.document import write
from tests.bench.figures import Figure, percentile, table
from tests.bench.statements import Template
from tests.site.servers import ROOT, environment


def figure(ours: float, most_ratio: float | None = None, most: float | None = None) -> Figure:
    return Figure("a command", "ms", ours, 2.0, most_ratio, most)


@pytest.mark.parametrize(
    ("one", "kept"),
    [(figure(7.0, most_ratio=3.5), True), (figure(7.1, most_ratio=3.5), False),
     (figure(100.0, most=100.0), True), (figure(100.1, most=100.0), False), (figure(9.0), True)],
)  # fmt: skip
def test_a_limit_is_kept_up_to_its_very_value(one: Figure, kept: bool) -> None:
    assert one.kept is kept
    assert ("FAILED" in table([one])) is not kept


def test_the_95th_percentile_leaves_out_one_of_twenty() -> None:
    assert percentile([*range(1, 20), 1000], 0.95) == 19
    assert percentile([1, 1000], 0.95) == 1000


def test_a_template_cannot_be_made_where_position_and_revision_look_alike() -> None:
    with pytest.raises(ValueError, match="too short"):
        Template.of([], position=7, revision=7)


def test_the_page_tells_every_figure_and_the_noise(tmp_path: Path) -> None:
    write(tmp_path / "docs" / "performance.md", [figure(7.0, most_ratio=3.5)], ["a note"], ["quiet"], "a machine")
    page = (tmp_path / "docs" / "performance.md").read_text()
    assert "| a command | 7 ms" in page
    assert {"- a note", "- quiet"} <= set(page.splitlines())


@pytest.mark.process
def test_the_bench_runs_and_tells_ratios(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--quick"],
        env=environment(tmp_path / "home"), cwd=ROOT, capture_output=True, text=True, timeout=110,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line.split("|") for line in done.stdout.splitlines() if line.startswith("| ")]
    assert lines[0][4].strip() == "ratio"
    assert len(lines) >= 5
    assert all(float(line[4]) > 0 for line in lines[1:])
    assert "The machine's noise:" in done.stdout
