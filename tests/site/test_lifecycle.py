"""From `agentlink up` to its end: ports, the second start, signals, kill, private files."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from websockets.sync.client import connect
from websockets.typing import Origin

from agentlink_site import running
from tests.site.servers import Server, environment, program, run

pytestmark = pytest.mark.process


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def files_of(home: Path) -> list[Path]:
    return [home, *home.rglob("*")]


def test_the_ready_line_is_one_json_object_and_the_link_works(home: Path) -> None:
    with Server(home, launcher=False) as server:
        assert set(server.ready) == {"url", "loginUrl", "pid", "home"}
        assert server.ready["pid"] == server.process.pid
        assert server.ready["home"] == str(home)
        assert server.post_code(server.ready["loginUrl"].partition("code=")[2]).status == 303
        assert server.stop() == 0
        assert server.rest == b""


def test_without_json_the_address_and_the_link_are_printed(home: Path) -> None:
    with subprocess.Popen(
        program("up", "--port", "0", "--no-open"), env=environment(home), stdout=subprocess.PIPE, text=True
    ) as up:
        assert up.stdout is not None
        assert "http://127.0.0.1:" in up.stdout.readline()
        assert "ten minutes" in up.stdout.readline()
        assert "/login?code=" in up.stdout.readline()
        up.terminate()
        assert up.wait() == 0


def test_a_second_up_prints_the_first_ones_address_and_a_new_link(home: Path) -> None:
    with Server(home) as server:
        second = run(home, "up", "--json", "--port", "0")
        assert second.returncode == 0
        said = json.loads(second.stdout)
        assert (said["url"], said["pid"]) == (server.ready["url"], server.process.pid)
        assert said["loginUrl"] != server.ready["loginUrl"]
        assert server.post_code(said["loginUrl"].partition("code=")[2]).status == 303
        plain = run(home, "up")
        assert plain.returncode == 0
        assert server.ready["url"] in plain.stdout


def test_of_many_ups_at_once_one_serves(home: Path) -> None:
    ups = [
        subprocess.Popen(program("up", "--json", "--port", "0"), env=environment(home), stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    with ExitStack() as stack:
        for up in ups:
            stack.callback(up.communicate)
            stack.callback(up.kill)
        pids = {json.loads(up.stdout.readline())["pid"] for up in ups if up.stdout}
        assert len(pids) == 1
        others = [up for up in ups if up.pid not in pids]
        assert len(others) == 3
        assert [up.wait(timeout=30) for up in others] == [0, 0, 0]


def test_two_homes_run_side_by_side(home: Path) -> None:
    with Server(home) as one, Server(home.with_name("other")) as two:
        assert one.port != two.port
        assert (one.ask("GET", "/").status, two.ask("GET", "/").status) == (401, 401)


def test_a_taken_port_gets_the_next_free_one(home: Path) -> None:
    with taken_port() as port, Server(home, "--port", str(port)) as server:
        assert port < server.port <= port + 50
        assert json.loads((home / "server.json").read_text())["url"] == server.ready["url"]


def test_the_port_comes_from_the_environment_and_the_option_wins(home: Path) -> None:
    with taken_port() as port:
        pass
    with Server(home, "--no-open", AGENTLINK_PORT=str(port)) as server:
        assert server.port == port
    with Server(home, "--port", "0", AGENTLINK_PORT=str(port)) as server:
        assert server.port != port


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "example.org"])
def test_an_address_of_the_network_is_refused(home: Path, host: str) -> None:
    for refused in (run(home, "up", "--host", host), run(home, "up", AGENTLINK_HOST=host)):
        assert refused.returncode == 2
        assert "this machine only" in refused.stderr
        assert refused.stdout == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_whatever_is_open(home: Path, number: int) -> None:
    with Server(home) as server, ExitStack() as stack:
        silent, half_head, half_body, idle = (stack.enter_context(server.connect()) for _ in range(4))
        half_head.sendall(f"GET / HTTP/1.1\r\nHost: {server.host}\r\n".encode())
        half_body.sendall(f"POST / HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 9\r\n\r\nab".encode())
        idle.sendall(f"GET / HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode())
        assert idle.recv(10) == b"HTTP/1.1 4"
        address = f"ws://{server.host}/ws/home"
        ws = stack.enter_context(connect(address, origin=Origin(server.origin), additional_headers=server.login()))
        assert ws.recv() == "panel"
        assert silent.fileno() > 0
        assert server.stop(number) == 0
        assert "Traceback" not in server.log()
        assert sorted(path.name for path in home.iterdir() if path.name.startswith(("server.", "agentlink.sock"))) == [
            "server.lock"
        ]


def test_after_kill_the_next_up_serves_with_nothing_lost(home: Path) -> None:
    with Server(home) as first:
        cookie = first.login()
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        assert (home / "server.json").exists()
        assert running.read(home) is None
    with Server(home, "--port", str(first.port)) as second:
        assert second.ask("GET", "/test/actor", cookie).status == 200
        assert second.ask_unix("GET", "/test/actor").status == 200
        assert second.stop() == 0


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_no_file_of_ours_can_be_read_by_others(home: Path, umask: int) -> None:
    with Server(home, umask=umask, AGENTLINK_HOME="", AGINTIFLOW_HOME=str(home)) as server:
        server.login()
        assert server.home == home / "agentlink"
        open_ones = [path for path in files_of(home) if path.lstat().st_mode & 0o077]
        assert open_ones == []
        assert {"agentlink.sqlite3", "agentlink.sqlite3-wal", "server.json", "secret.key"} <= {
            path.name for path in files_of(home)
        }


def test_the_store_is_wal_with_full_sync(home: Path) -> None:
    with Server(home):
        with sqlite3.connect(home / "agentlink.sqlite3") as store:
            assert store.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    look = (
        "from agentlink_site.server import prepare; prepare(); from django.db import connection as c\n"
        "with c.cursor() as k: print([k.execute('PRAGMA ' + p).fetchone()[0] for p in ('synchronous', 'foreign_keys')],"
        " c.transaction_mode)"
    )
    seen = subprocess.run(
        [program()[0], "-c", look], env=environment(home), capture_output=True, text=True, check=True, cwd=home.parent
    )
    assert seen.stdout.strip() == "[2, 1] IMMEDIATE"


def test_a_long_home_gets_a_short_socket(home: Path) -> None:
    deep = home.parent / ("d" * 60) / ("e" * 60) / "home"
    with Server(deep) as server:
        path = Path(server.socket_path)
        assert len(os.fsencode(path)) <= 100
        assert path.parent.stat().st_mode & 0o077 == 0
        assert server.ask_unix("GET", "/test/actor").status == 200
        assert server.stop() == 0
        assert not path.exists()
        path.parent.rmdir()


@pytest.mark.parametrize("name", ["agentlink.sqlite3", "secret.key", "server.lock", "server.json", "agentlink.sock"])
def test_a_planted_symlink_in_the_home_is_refused(home: Path, name: str) -> None:
    home.mkdir(mode=0o700)
    target = home.parent / "target"
    target.write_text("x" * 100)
    (home / name).symlink_to(target)
    refused = run(home, "up", "--port", "0")
    assert refused.returncode == 2
    assert "symbolic link" in refused.stderr
    assert target.read_text() == "x" * 100


def test_a_store_of_a_newer_version_is_refused(home: Path) -> None:
    with Server(home):
        pass
    with sqlite3.connect(home / "agentlink.sqlite3") as store:
        store.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('boards', '9999_future', '2099-01-01')"
        )
    refused = run(home, "up", "--port", "0")
    assert refused.returncode == 2
    assert "newer AgentLink" in refused.stderr


def test_a_store_that_cannot_be_opened_ends_the_start_with_an_error(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "agentlink.sqlite3").write_bytes(b"this is no database" * 100)
    failed = run(home, "up", "--json", "--port", "0")
    assert failed.returncode != 0
    assert failed.stdout == ""


def test_workers_run_while_it_serves_and_end_with_it(home: Path) -> None:
    script = (
        "import os\nos.environ['DJANGO_SETTINGS_MODULE'] = 'agentlink_site.settings'\n"
        "import django\ndjango.setup()\nimport threading\n"
        "from boards import workers\nfrom agentlink_site.cli import main\nfrom pathlib import Path\n"
        f"log = Path({str(home.parent / 'worker')!r})\n"
        "def worker(stop):\n    log.write_text('begun'); stop.wait(); log.write_text('ended')\n"
        "def start(stop):\n    thread = threading.Thread(target=worker, args=(stop,))\n    thread.start()\n"
        "    return [thread]\n"
        "workers.start = start\nmain()\n"
    )
    with subprocess.Popen(
        [program()[0], "-c", script, "up", "--json", "--port", "0"], env=environment(home), stdout=subprocess.PIPE
    ) as up:
        assert up.stdout is not None
        assert up.stdout.readline()
        up.terminate()
        assert up.wait() == 0
    assert (home.parent / "worker").read_text() == "ended"


def test_a_server_that_cannot_say_where_it_is_ends_with_an_error(home: Path) -> None:
    script = (
        "from agentlink_site import running\nfrom agentlink_site.cli import main\n"
        "def write(home, facts): raise OSError('the disk is full')\n"
        "running.write = write\nmain()\n"
    )
    command = [program()[0], "-c", script, "up", "--json", "--port", "0"]
    failed = subprocess.run(command, env=environment(home), capture_output=True, text=True, timeout=30)
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert "the disk is full" in failed.stderr
