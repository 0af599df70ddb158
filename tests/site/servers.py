"""Real server processes for the tests, and a client that sends exactly the bytes that it is told to."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
WAIT = 30.0
Headers = Mapping[str, str]


@dataclass
class Answer:
    """One HTTP answer; `headers` in lower case, repeated ones joined."""

    status: int
    headers: dict[str, str]
    body: bytes
    cookies: list[str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def environment(home: Path, **more: str) -> dict[str, str]:
    """An environment without anything of this user's own AgentLink in it."""
    others = ("AGENTLINK_", "AGINTIFLOW_", "DJANGO_", "PYTEST_", "COLUMNS", "LINES")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(others)}
    clean |= {"AGENTLINK_HOME": str(home), "AGINTIFLOW_HOME": str(home.parent / "agintiflow"), "HOME": str(home.parent)}
    return clean | {"PYTHONPATH": str(ROOT)} | more


def program(*arguments: str, launcher: bool = False) -> list[str]:
    start = [str(ROOT / "tests/site/launch.py")] if launcher else ["-m", "agentlink_site"]
    return [sys.executable, *start, *arguments]


def run(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    return subprocess.run(
        program(*arguments),
        env=environment(home, **more),
        cwd=home.parent,
        capture_output=True,
        text=True,
        timeout=WAIT,
    )


class Server:
    """`agentlink up --json` on a home; stopped on leaving."""

    start = staticmethod(program)
    """What runs it; another program for those who look inside."""

    def __init__(self, home: Path, *arguments: str, umask: int = 0o022, launcher: bool = True, **more: str) -> None:
        home.parent.mkdir(parents=True, exist_ok=True)
        self.errors = home.parent / f"{home.name}.stderr"
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(
                self.start("up", "--json", *(arguments or ("--port", "0")), launcher=launcher),
                env=environment(home, **more), cwd=home.parent, stdout=subprocess.PIPE, stderr=errors, umask=umask,
            )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"no ready line; stderr: {self.log()}"
        self.ready: dict[str, Any] = json.loads(line)
        self.home = Path(self.ready["home"])
        self.port = int(self.ready["url"].rstrip("/").rpartition(":")[2])
        self.host = f"127.0.0.1:{self.port}"
        self.origin = f"http://{self.host}"

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def log(self) -> str:
        return self.errors.read_text()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit status."""
        self.process.send_signal(number)
        self.rest, _ = self.process.communicate(timeout=WAIT)
        return self.process.returncode

    @property
    def socket_path(self) -> str:
        return str(json.loads((self.home / "server.json").read_text())["socket"])

    def ask(self, method: str, path: str, headers: Headers = {}, body: bytes | None = None) -> Answer:
        """One request by TCP with the right Host unless `headers` has another."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)) as connection:
            connection.request(method, path, body, {"Host": self.host, **headers})
            return _answer(connection.getresponse())

    def ask_unix(self, method: str, path: str, headers: Headers = {}, body: bytes | None = None) -> Answer:
        """One request by the home's unix socket."""
        with closing(http.client.HTTPConnection("localhost", timeout=WAIT)) as connection:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(WAIT)
            connection.sock.connect(self.socket_path)
            connection.request(method, path, body, {"Host": "localhost", **headers})
            return _answer(connection.getresponse())

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)

    def raw(self, data: bytes) -> bytes:
        """Send these bytes and read until the server hangs up."""
        with closing(self.connect()) as connection:
            connection.sendall(data)
            return read_all(connection)

    def new_code(self) -> str:
        link: str = self.ask_unix("POST", "/api/agentlink/login-links").json["loginUrl"]
        return link.partition("code=")[2]

    def post_code(self, code: str, **headers: str) -> Answer:
        """Press the login page's button: its form, with its CSRF cookie."""
        page = self.ask("GET", f"/login?code={self.new_code()}")
        token = re.search(rb'name="csrfmiddlewaretoken" value="([^"]+)"', page.body)
        assert token is not None
        body = f"csrfmiddlewaretoken={token[1].decode()}&code={code}".encode()
        kind = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.origin}
        return self.ask("POST", "/login", kind | {"Cookie": cookie_of(page)} | headers, body)

    def login(self) -> dict[str, str]:
        """Log in and return the Cookie header of the session."""
        answer = self.post_code(self.new_code())
        assert answer.status == 303
        return {"Cookie": cookie_of(answer)}


def cookie_of(answer: Answer) -> str:
    return "; ".join(cookie.partition(";")[0] for cookie in answer.cookies)


def read_all(connection: socket.socket) -> bytes:
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass  # hung up on us; what came before counts
    return b"".join(parts)


def _answer(response: http.client.HTTPResponse) -> Answer:
    pairs = response.getheaders()
    headers: dict[str, str] = {}
    for name, value in pairs:
        headers[name.lower()] = f"{headers[name.lower()]}, {value}" if name.lower() in headers else value
    return Answer(response.status, headers, response.read(), [v for n, v in pairs if n.lower() == "set-cookie"])
