"""Does a loopback URL answer? One GET that cannot be led anywhere else."""

from __future__ import annotations

import http.client
import ipaddress
import re
import socket
import threading
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from evidence.checks.verdicts import Check

TIMEOUT_SECONDS = 3.0
"""For the whole exchange, not per read: a server that trickles is cut off too."""

BODY_BYTES = 65_536
_NAME = re.compile(r"([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}", re.IGNORECASE)
LOWEST_PORT = 1024
"""Below lie system services (SSH, mail, databases of the host) that a peer must not be able to knock at."""


@dataclass(frozen=True, slots=True)
class _Target:
    addresses: tuple[str, ...]
    port: int
    path: str


class _ElsewhereError(Exception):
    """The URL points at another machine: it is neither proof nor a lie, and nothing connects to it."""


class _UrlError(Exception):
    """The URL is not one that may be asked; the message is a sentence."""


def check_url(url: str, *, own_ports: Collection[int] = (), timeout: float = TIMEOUT_SECONDS) -> Check:
    """Ask a loopback URL once. Verified by any 2xx answer within `timeout` seconds; no redirect is followed.

    Names are never resolved: the host is `localhost`, an address of 127.0.0.0/8 in its plain form, or `[::1]`. The
    port is required, at least 1024 and none of `own_ports` (our own panel proves nothing). A URL of another machine is
    `unverified`, one that may not be asked is `rejected`, both without any connection; a server that is not there is
    `unavailable`.
    """
    try:
        target = _target(url, own_ports)
    except _ElsewhereError:
        sentence = "The URL points at another machine, which is not asked; somebody has to vouch for it by name."
        return Check("url", "unverified", sentence)
    except _UrlError as refused:
        return Check("url", "rejected", str(refused))
    for address in target.addresses:
        try:
            return _judged(target.port, _status(address, target, timeout))
        except ConnectionRefusedError:
            continue
        except (OSError, http.client.HTTPException, ValueError):
            sentence = f"The server on port {target.port} gave no whole HTTP answer within {timeout:g} seconds."
            return Check("url", "unavailable", sentence)
    return Check(
        "url",
        "unavailable",
        f"Nothing answers on port {target.port}; is the server running?",
    )


def _judged(port: int, status: int) -> Check:
    if 200 <= status < 300:
        return Check("url", "verified", f"The server on port {port} answered {status}.")
    if 300 <= status < 400:
        return Check(
            "url",
            "rejected",
            f"The server on port {port} answered {status}, a redirect; it is not followed.",
        )
    return Check(
        "url",
        "rejected",
        f"The server on port {port} answered {status}; a 2xx answer is needed.",
    )


def _target(url: str, own_ports: Collection[int]) -> _Target:
    parts = _parts(url)
    addresses = _addresses(parts.hostname or "")
    try:
        port = parts.port
    except ValueError:
        port = None
    if port is None or port < LOWEST_PORT:
        raise _UrlError(f"The URL must name its port, {LOWEST_PORT} or above.")
    if port in own_ports:
        raise _UrlError("The URL points at AgentLink itself; its answer proves nothing.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _Target(addresses, port, path)


def _parts(url: str) -> SplitResult:
    if not url.isascii() or any(char <= " " or char in "\\\x7f" for char in url):
        raise _UrlError("The URL holds spaces, backslashes or characters outside ASCII; write them percent-encoded.")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _UrlError("The URL cannot be read; it looks like http://127.0.0.1:8000/path.") from None
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise _UrlError("Only http:// URLs on this machine are checked.")
    if "@" in parts.netloc:
        raise _UrlError("The URL holds user information; give it without.")
    if _is_elsewhere(parts.hostname or ""):
        raise _ElsewhereError
    if parts.scheme != "http":
        raise _UrlError("Only http:// URLs on this machine are checked.")
    return parts


def _is_elsewhere(host: str) -> bool:
    """A plain address of another machine; odd spellings of this one are not."""
    if _NAME.fullmatch(host):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = isinstance(address, ipaddress.IPv6Address) and (address.ipv4_mapped or address.scope_id)
    return not (address.is_loopback or address.is_unspecified or mapped)


def _addresses(host: str) -> tuple[str, ...]:
    if host == "localhost":
        return ("127.0.0.1", "::1")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        raise _UrlError("The URL's host must be localhost, 127.0.0.1 or [::1].") from None
    if address == ipaddress.IPv6Address("::1") or address in ipaddress.IPv4Network("127.0.0.0/8"):
        return (str(address),)
    raise _UrlError("The URL does not point at this machine; only loopback addresses are checked.")


def _status(address: str, target: _Target, timeout: float) -> int:
    connection = http.client.HTTPConnection(address, target.port, timeout=timeout)
    connection.connect()
    # http.client's timeout counts per read; the timer ends the exchange as a whole.
    over = threading.Event()
    cut_off = threading.Timer(timeout, _end, (over, connection.sock))
    cut_off.daemon = True
    cut_off.start()
    try:
        connection.request("GET", target.path, headers={"Accept": "*/*", "User-Agent": "AgentLink evidence check"})
        response = connection.getresponse()
        if response.status < 300:
            response.read(BODY_BYTES)
        if over.is_set():
            raise TimeoutError
        return response.status
    finally:
        cut_off.cancel()
        connection.close()


def _end(over: threading.Event, sock: socket.socket) -> None:
    over.set()
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:  # already closed by the other side
        return
