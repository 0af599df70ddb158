"""Another user of this machine gets nothing: no file, no answer, no socket, and no token by pretending to be us."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentlink_site import running
from agentlink_site.security import PUBLIC_PATHS
from tests.site.servers import Server, run
from tests.threats.test_network import BASE, every_get, give, token_of

NOBODY = 65534
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user; the checks run as root"),
]
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "/usr/bin/python3", "-c"]

VISITOR = """
import http.client, json, os, socket, sys
asked = json.load(sys.stdin)
seen = {"files": [], "answers": {}, "sockets": []}
for top in asked["folders"]:
    for folder, names, files in os.walk(top):
        seen["files"] += [os.path.join(folder, name) for name in [*names, *files]]
for path in asked["files"]:
    try:
        open(path, "rb").read(1)
        seen["files"].append(path)
    except OSError:
        pass
for path in asked["sockets"]:
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        seen["sockets"].append(path)
    except OSError:
        pass
for method, path in asked["requests"]:
    connection = http.client.HTTPConnection("127.0.0.1", asked["port"], timeout=20)
    connection.request(method, path)
    answer = connection.getresponse()
    seen["answers"][f"{method} {path}"] = answer.status
    answer.read()
json.dump(seen, sys.stdout)
"""


@pytest.fixture
def open_home() -> Iterator[Path]:
    """A home in a folder that everybody may enter, as /home/somebody often is."""
    with tempfile.TemporaryDirectory(prefix="al-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder) / "home"


def visit(**asked: object) -> dict[str, object]:
    done = subprocess.run([*AS_NOBODY, VISITOR], input=json.dumps(asked), capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    seen: dict[str, object] = json.loads(done.stdout)
    return seen


def test_no_file_no_answer_and_no_socket_for_another_user(open_home: Path) -> None:
    with Server(open_home, launcher=False) as server:
        token_of(server, "alice")
        board = give(server, "create_board", title="Private plans", members={"alice": "worker"})["boardId"]
        message = give(server, "send_message", boardId=board, to=["alice"], content="x")["messageId"]
        server.login()
        known = dict.fromkeys(("contract_id", "blocker_id", "evidence_id", "session_id", "task_id"), "x")
        known |= {"board_id": board, "message_id": message, "node_id": "alice"}
        paths = [*every_get(server, known), "/static/js/live.js", "/static/django_htmx/htmax-4.min.js", "/mcp", "/a2a"]
        paths += ["/.well-known/agent-card.json", "/ws/home", f"/ws/boards/{board}", "/none"]
        closed = sorted({path for path in paths if path not in PUBLIC_PATHS})
        requests = [("GET", path) for path in closed]
        requests += [("HEAD", f"{BASE}/boards"), ("OPTIONS", f"{BASE}/boards")]
        files = [str(path) for path in open_home.rglob("*")]
        assert {"agentlink.sqlite3", "server.json", "alice"} <= {Path(file).name for file in files}
        doors = {"sockets": [server.socket_path], "requests": requests, "port": server.port}
        seen = visit(folders=[str(open_home)], files=files, **doors)
        assert (seen["files"], seen["sockets"]) == ([], [])
        assert seen["answers"] == {f"{method} {path}": 401 for method, path in requests}


def test_the_visitor_sees_what_is_open(open_home: Path) -> None:
    """The checker is checked."""
    open_home.mkdir()
    (open_home / "open").write_text("x")
    open_home.chmod(0o755)
    (open_home / "open").chmod(0o644)
    with Server(open_home.with_name("other"), launcher=False) as server:
        doors = {"sockets": [], "requests": [], "port": server.port}
        seen = visit(folders=[str(open_home)], files=[str(open_home / "open")], **doors)
    assert seen["files"] == [str(open_home / "open")] * 2


def test_a_socket_that_is_open_to_all_still_asks_who_comes(open_home: Path) -> None:
    """Should its mode ever be wrong: the kernel says who it is, and the server hangs up."""
    with Server(open_home, launcher=False) as server:
        path = Path(server.socket_path)
        open_home.chmod(0o755)
        path.chmod(0o777)
        script = (
            f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r})\n"
            "try:\n"
            f"    s.sendall(b'GET {BASE}/boards HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n'); print(s.recv(10))\n"
            "except OSError as error: print('closed')\n"
        )
        said = subprocess.run([*AS_NOBODY, script], capture_output=True, text=True, check=True, cwd="/").stdout.strip()
        assert said in ("b''", "closed")
        assert server.ask_unix("GET", f"{BASE}/boards").status == 200


SQUATTER = """
import os, socket, sys
path, mode = sys.argv[1], sys.argv[2]
s = socket.socket(socket.AF_UNIX if mode == "unix" else socket.AF_INET)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(path if mode == "unix" else ("127.0.0.1", int(path)))
s.listen()
print("ready", flush=True)
while True:
    got, _ = s.accept()
    got.settimeout(3)
    said = got.recv(4096)
    if said:
        print(repr(said), flush=True)
        got.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{}")
    got.close()
"""


@contextmanager
def squatter(where: str, mode: str) -> Iterator[list[str]]:
    """Another user who listens where our server should; what it was told."""
    heard: list[str] = []
    with subprocess.Popen([*AS_NOBODY, SQUATTER, where, mode], stdout=subprocess.PIPE, text=True, cwd="/") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        reader = threading.Thread(target=lambda: heard.extend(process.stdout or ()))
        reader.start()
        try:
            yield heard
        finally:
            process.kill()
            reader.join()


def test_who_takes_the_port_of_a_dead_server_is_told_nothing(open_home: Path) -> None:
    with Server(open_home, launcher=False) as server:
        token_of(server, "alice")
        board = give(server, "create_board", title="b", members={"alice": "worker"})["boardId"]
        server.process.kill()
        server.process.wait()
        with squatter(str(server.port), "tcp") as heard:
            assert run(open_home, "board", board, "--as", "alice").returncode == 0, "answered in this process"
            assert run(open_home, "send", board, "alice", "hello", "--type", "status_request").returncode == 0
            assert run(open_home, "open").returncode == 2, "there is no server to open"
        assert heard == []


def test_who_listens_in_the_place_of_our_socket_is_told_nothing(open_home: Path) -> None:
    """A forged server.json, a held lock and a foreign socket: the kernel says that its owner is not us."""
    with Server(open_home, launcher=False) as server:
        token_of(server, "alice")
    public = Path(tempfile.mkdtemp(prefix="al-public-"))
    try:
        public.chmod(0o777)
        with squatter(str(public / "s"), "unix") as heard:
            lock = running.hold(open_home)
            assert lock is not None
            facts = (os.getpid(), "2030-01-01T00:00:00.000Z", server.ready["url"], str(public / "s"))
            running.write(open_home, running.Running(*facts))
            for words in (("status", "--as", "alice"), ("boards",), ("open",)):
                refused = run(open_home, *words)
                assert refused.returncode in (1, 2)
                assert "another user" in refused.stderr
            os.close(lock)
        assert heard == []
    finally:
        shutil.rmtree(public)
