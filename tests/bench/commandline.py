"""Eight agents at their command lines, with a server and without: the whole time for all their commands.

The floor is the same number of interpreters that start and do nothing, as many at once.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.bench.desk import report
from tests.bench.figures import Figure
from tests.crowd import Crowd
from tests.site.servers import Server, environment, program

AGENTS: Final = 8
MOST_TIMES: Final = {"through the server": 20.0, "without a server": 100.0}
"""Of a bare interpreter: kept from growing until there is a lean client. Typer and the settings are most of it;
without a server each command also imports Django, looks at the sessions, and delivers by itself."""
PATIENCE: Final = 60.0
Command = list[str]


def measure(home: Crowd, *, agents: int, rounds: int, sends: int) -> tuple[list[Figure], list[str]]:
    """Each agent claims its task, sends so many messages, and releases the task. Medians over the rounds."""
    work = dict(list({home.owner(task): task for task in home.open_tasks}.items())[:agents])
    ways: dict[str, list[float]] = {way: [] for way in MOST_TIMES}
    floors = []
    for _ in range(rounds):
        floors.append(_together([[_nothing] * (sends + 2) for _ in work]))
        with Server(home.home, launcher=False):
            ways["through the server"].append(_together(_work(home, work, sends)))
        ways["without a server"].append(_together(_work(home, work, sends)))
    return judged(len(work), len(work) * (sends + 2), ways, floors)


def judged(
    agents: int, commands: int, ways: dict[str, list[float]], floors: list[float]
) -> tuple[list[Figure], list[str]]:
    """A line of the table for each way."""
    floor = statistics.median(floors)
    figures = [
        Figure(f"{commands} commands of {agents} agents at the command line, {way}", "s",
               statistics.median(took), floor, most_ratio=MOST_TIMES[way])
        for way, took in ways.items()
    ]  # fmt: skip
    told = [f"one command at the command line, {way}: {statistics.median(took) / commands * 1000:.0f} ms of that"
            for way, took in {"a bare interpreter": floors, **ways}.items()]  # fmt: skip
    return figures, told


def _work(home: Crowd, agents: dict[str, str], sends: int) -> list[list[Callable[[], None]]]:
    return [_one(home, agent, task, sends) for agent, task in agents.items()]


def _one(home: Crowd, agent: str, task: str, sends: int) -> list[Callable[[], None]]:
    def give(*words: str) -> Callable[[], None]:
        return lambda: _run(program(*words, "--as", agent), home)

    messages = [give("send", home.board_id, home.lead, report(), "--type", "task_update") for _ in range(sends)]
    return [give("claim", home.board_id, task), *messages, give("release", home.board_id, task)]


def _run(command: Command, home: Crowd) -> None:
    done = subprocess.run(
        command, env=environment(home.home), cwd=home.folder, capture_output=True, text=True, timeout=PATIENCE
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[3:])} ended with {done.returncode}: {done.stderr or done.stdout}")


def _nothing() -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True, timeout=PATIENCE)


def _together(work: list[list[Callable[[], None]]]) -> float:
    """Seconds until all are done; each list is one agent, whose commands follow one another."""
    begun = time.monotonic()
    with ThreadPoolExecutor(len(work)) as pool:
        for done in [pool.submit(lambda commands: [give() for give in commands], commands) for commands in work]:
            done.result()
    return time.monotonic() - begun
