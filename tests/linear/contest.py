"""Many processes contend for few tasks of one real home, while others of them are killed, stopped and restarted.

``python -m tests.linear.contest FOLDER --claims 2000 --own 6 --calling 2 --server`` leaves in the folder one history
for each client and the log, and prints what was done to them as one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.linear import clients, clock
from tests.linear.calls import Call, read
from tests.linear.counts import KINDS, Line, write_log

ROOT: Final = Path(__file__).resolve().parents[2]
LOG, ERRORS = "log.jsonl", "server.stderr"
PER_CONTRACT: Final = 100
"""Tasks of one contract: as many as it may list."""
STOPPED: Final = (0.6, 0.9)
"""Real seconds that a client is stopped: longer than the shortest lease."""
READY: Final = b'"pid"'


@dataclass(frozen=True)
class Plan:
    """Who contends, how often in all, and what is done to them. ``every``: real seconds between two blows."""

    claims: int
    own: int = 8
    """Clients that give commands in their own process."""
    calling: int = 0
    """Clients that ask as the command line does."""
    server: bool = False
    every: float = 0.35
    seed: int = 1
    contracts: int = 1
    rests: int = 2
    """How often a client that holds a task lets its lease end, by weight (all else together is about 100)."""


@dataclass
class Result:
    """What was done, and what the store says of itself afterwards."""

    seconds: float = 0.0
    kills: int = 0
    stops: int = 0
    server_kills: int = 0
    repeats: int = 0
    events: int = 0
    log_faults: list[str] = field(default_factory=list)
    replay_differs: bool = False


@dataclass
class Table:
    """The board and its tasks."""

    board_id: str
    tasks: list[str]
    nodes: list[str]


def lay(plan: Plan) -> Table:
    """A board whose workers may claim every task; its proof is there, so that a holder may complete one."""
    from tests import people

    who = people.people()
    nodes = [f"w{number}" for number in range(plan.own + plan.calling)]
    for node in nodes:
        people.done("register_node", who.human, name=node)
    members = {"alice": "worker", **dict.fromkeys(nodes, "worker")}
    board_id = people.board(who, title="contest", members=members)
    tasks = []
    for number in range(plan.contracts):
        wish = {"objective": f"lot {number}", "owners": {}, "tasks": [f"t{i}" for i in range(PER_CONTRACT)]}
        contract_id = people.contract(who, board_id, **wish)
        people.evidence(who, board_id, contract_id)
        tasks += [f"{contract_id}.{i}" for i in range(1, PER_CONTRACT + 1)]
    return Table(board_id, tasks, nodes)


class Contest:
    """The clients, and who kills them."""

    def __init__(self, folder: Path, home: Path, plan: Plan, table: Table) -> None:
        self.folder, self.home, self.plan, self.table = folder, home, plan, table
        self.random = Random(plan.seed)
        self.clock = clock.shared()
        self.running: dict[str, int] = {}
        self.wakes: dict[str, float] = {}
        self.done = Result()
        self.generation = 0
        self.claims = RawArray("q", len(table.nodes))
        """How many each client has given so far; every process sees them all."""
        self.server: subprocess.Popen[bytes] | None = None

    def run(self) -> Result:
        """Until the clients together have given all claims."""
        from django.db import connection

        from agentlink_site import client

        client.call("GET", "/status")  # what every client would do first is done once, before they are forked
        if self.plan.server:
            self._serve(wait=True)
        connection.close()  # a SQLite connection must not be carried across a fork
        began = time.monotonic()
        for node in self.table.nodes:
            self._start(node, [])
        self._watch()
        self.done.seconds = time.monotonic() - began
        if self.server is not None:
            self.server.terminate()
            self.server.communicate(timeout=30)
        return self._read_store()

    def _watch(self) -> None:
        next_blow = time.monotonic() + self.plan.every
        while self.running:
            time.sleep(0.01)
            self._reap()
            now = time.monotonic()
            for node in [node for node, wakes in self.wakes.items() if wakes <= now]:
                os.kill(self.running[node], signal.SIGCONT)
                del self.wakes[node]
            if self.running and now >= next_blow:
                next_blow = now + self.plan.every * self.random.uniform(0.5, 1.5)
                self._blow(now)

    def _reap(self) -> None:
        """Whoever is through has ended by itself, with status 0."""
        for node, pid in list(self.running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                if os.waitstatus_to_exitcode(status) != 0:
                    raise RuntimeError(f"the client {node} failed; see its own words above")
                del self.running[node]
                self.wakes.pop(node, None)

    def _blow(self, now: float) -> None:
        node = self.random.choice(sorted(self.running))
        blow = self.random.random()
        if self.server is not None and blow < 0.05:
            self._kill_server()
        elif blow < 0.35 and len(self.wakes) < 2 and node not in self.wakes:
            os.kill(self.running[node], signal.SIGSTOP)
            self.wakes[node] = now + self.random.uniform(*STOPPED)
            self.done.stops += 1
        else:
            self._kill(node)

    def _kill(self, node: str) -> None:
        """Its next run begins, most of the time, by repeating what nobody answered."""
        os.kill(self.running[node], signal.SIGKILL)
        os.waitpid(self.running[node], 0)
        self.wakes.pop(node, None)
        self.done.kills += 1
        last = read(clients.history(self.folder, node))[-1:]
        lost = [call for call in last if call.answer is None and not call.reused and self.random.random() < 0.7]
        self.done.repeats += len(lost)
        self._start(node, lost)

    # --- processes

    def _start(self, node: str, first: list[Call]) -> None:
        self.generation += 1
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                self._contend(node, first)
                status = 0
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                os._exit(status)
        self.running[node] = pid

    def _contend(self, node: str, first: list[Call]) -> None:
        from peers import trust

        assert trust.read(node), "every client has a token of its own"
        number = self.table.nodes.index(node)
        ask = (clients.in_process if number < self.plan.own else clients.through_client)(self.table.board_id)
        path = clients.history(self.folder, node)
        before = read(path) if path.exists() else []
        others = [other for other in self.table.nodes if other != node]
        random = Random(self.plan.seed * 1000 + self.generation)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        _end_line(file, path)
        tasks, rests = list(self.table.tasks), self.plan.rests
        desk = clients.Desk(node, self.table.board_id, tasks, others, random, ask, self.clock, file, len(before), rests)
        for call in first:
            desk.give(call)
        while sum(self.claims) < self.plan.claims and desk.tasks:
            self.claims[number] += desk.step()

    def _serve(self, *, wait: bool) -> None:
        environment = os.environ | {"AGENTLINK_HOME": str(self.home), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "tests.linear.serve", "up", "--json", "--port", "0", "--no-open"]
        with (self.folder / ERRORS).open("ab") as errors:
            self.server = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors)
        assert self.server.stdout is not None
        if wait and READY not in self.server.stdout.readline():
            raise RuntimeError((self.folder / ERRORS).read_text())

    def _kill_server(self) -> None:
        assert self.server is not None
        self.server.kill()
        self.server.communicate()
        self.done.server_kills += 1
        self._serve(wait=False)

    # --- afterwards

    def _read_store(self) -> Result:
        from django.db import transaction

        from boards import log
        from boards.models import Event

        rows = Event.objects.filter(stream=self.table.board_id).order_by("position")
        lines = [_line(log.body(row)) for row in rows.iterator()]
        write_log(self.folder / LOG, lines)
        self.done.events = len(lines)
        self.done.log_faults = log.verify()
        with transaction.atomic():
            before = log.state(self.table.board_id)
            log.rebuild(self.table.board_id)
            self.done.replay_differs = log.state(self.table.board_id) != before
            transaction.set_rollback(True)
        return self.done


def _end_line(file: int, path: Path) -> None:
    """What was killed while it wrote a line leaves half of one."""
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        os.truncate(file, content.rfind(b"\n") + 1)


def _line(event: dict[str, Any]) -> Line:
    from boards.times import parse

    data, do = event["data"], KINDS.get(event["type"], "")
    at = clock.milliseconds(parse(event["at"]))
    if event["type"] == "agentlink.task.expired":
        until = clock.milliseconds(parse(data["leaseUntil"]))
        return Line(event["eventId"], event["revision"], at, task=data["taskId"], until=until)
    told = (data["taskId"], data["nodeId"], data["fencing"]) if do else ()
    return Line(event["eventId"], event["revision"], at, do, *told)


def contend(folder: Path, home: Path, plan: Plan) -> Result:
    """One contest on a home whose store is there; Django must be set up and the shared clock installed."""
    return Contest(folder, home, plan, lay(plan)).run()


def main() -> None:
    """On a new home in the folder."""
    options = argparse.ArgumentParser()
    options.add_argument("folder", type=Path)
    for name, value in asdict(Plan(claims=1000)).items():
        kind: dict[str, Any] = {"action": "store_true"} if value is False else {"type": type(value), "default": value}
        options.add_argument(f"--{name}", **kind)
    given = vars(options.parse_args())
    folder: Path = given.pop("folder")
    home = folder / "home"
    os.environ |= {"AGENTLINK_HOME": str(home), "AGINTIFLOW_HOME": str(folder / "agintiflow"), "HOME": str(folder)}
    os.environ["DJANGO_SETTINGS_MODULE"] = "agentlink_site.settings"
    clock.install()
    import django

    django.setup()
    from agentlink_site.migrations import migrate

    migrate()
    print(json.dumps(asdict(contend(folder, home, Plan(**given)))), flush=True)


if __name__ == "__main__":
    main()
