"""The bench runs from end to end and tells ratios; a test never looks at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench import commandline, idle, inbox, pages, scale, sockets, stalled, start
from tests.bench.__main__ import main
from tests.bench.document import write
from tests.bench.figures import Figure, percentile, table
from tests.bench.parts import PARTS
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


# --- the lines of the table, from figures that were planted -----------------------------------------------------------


def kept(found: tuple[list[Figure], list[str]]) -> list[bool]:
    return [one.kept for one in found[0]]


def test_of_a_group_of_pages_the_slowest_is_judged_and_all_are_told() -> None:
    slow: list[list[float]] = [[290.0, 2, 10, 5], [311, 2, 10, 5]]
    quick: list[list[float]] = [[9.0, 1, 10, 3], [11, 1, 10, 3]]
    times: pages.Times = {"regions": {"quick": quick, "slow": slow}}
    (one,), (note,) = pages.judged(times)
    assert (one.ours, one.floor, one.kept) == (300.5, 2, False)
    assert "slow" in one.name
    assert note == "first page, regions (ms/statements): slow 300 ms/5, quick 10 ms/3"
    times["regions"]["slow"] = [[299.0, 2, 10, 5]]
    assert kept(pages.judged(times)) == [True]


def test_an_inbox_is_judged_by_its_floor_and_by_the_clock() -> None:
    assert kept(inbox.judged([10.0], [1.0])) == [True]
    assert kept(inbox.judged([10.1], [1.0])) == [False]
    assert kept(inbox.judged([301.0], [100.0])) == [False]


def test_a_start_is_judged_on_each_home() -> None:
    starts = {"small": [300.0, 400, 500], "big": [900.0, 1700, 5000]}
    assert kept(start.judged(starts, [100.0, 400, 500])) == [True, False]


def test_a_command_on_the_big_board_is_judged_by_the_median_of_the_turns_ratios() -> None:
    turns = {"message": [(1.0, 1.0), (3.0, 2.0), (9.0, 1.0)], "claim": [(1.6, 1.0)]}
    assert kept(scale.judged(turns)) == [True, False]


def test_idle_workers_are_judged_by_their_share_of_a_core_and_the_follower_by_its_floor_too() -> None:
    assert kept(idle.judged(1.0, 3.0, 15.0)) == [True, True]
    assert kept(idle.judged(1.0, 3.1, 15.1)) == [False, False]
    assert kept(idle.judged(2.0, 5.1, 3.0)) == [False, True]


def test_the_last_socket_of_a_thousand_has_its_frame_within_two_and_a_half_floors() -> None:
    assert kept(sockets.judged(1000, [10.0, 25, 90], [9.0, 10, 11])) == [True]
    assert kept(sockets.judged(1000, [10.0, 25.1, 90], [9.0, 10, 11])) == [False]


def test_an_answer_beside_stalled_connections_is_judged_by_the_clock() -> None:
    assert kept(stalled.judged(300, [1.0] * 19 + [500], [1.0])) == [True]
    assert kept(stalled.judged(300, [1.0] * 18 + [101, 500], [1.0])) == [False]


def test_each_way_of_the_command_line_has_its_own_limit() -> None:
    most = commandline.MOST_TIMES
    assert kept(commandline.judged(8, 40, {way: [times] for way, times in most.items()}, [1.0])) == [True, True]
    assert kept(commandline.judged(8, 40, {way: [times + 0.1] for way, times in most.items()}, [1.0])) == [False] * 2


# --- the small form of every part -------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize("part", PARTS)
def test_each_part_runs_and_tells_ratios(part: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--quick", "--only", part],
        env=environment(tmp_path / "home"), cwd=ROOT, capture_output=True, text=True, timeout=110,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line.split("|") for line in done.stdout.splitlines() if line.startswith("| ")]
    assert lines[0][4].strip() == "ratio"
    assert len(lines) >= 2
    assert all(float(line[4]) > 0 for line in lines[1:])
    assert "The machine's noise:" in done.stdout


def test_the_page_is_written_from_a_whole_run_only(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--write", "--only", "idle"])
    assert "whole run" in capsys.readouterr().err
