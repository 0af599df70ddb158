"""The connections: daphne with limits on what a client may send, how slowly, and how many may wait.

There is no plain cap on connections, because it would lock real users out: when too many wait for their headers the
longest waiter goes, and when too many are open the longest idle one goes (architecture, Processes).
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import daphne.server  # before any Twisted: it installs the reactor that everything below imports
import structlog
from autobahn.websocket.types import ConnectionDeny
from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol
from twisted.internet import defer, reactor as twisted_reactor
from twisted.internet.address import UNIXAddress
from twisted.internet.endpoints import quoteStringArgument
from twisted.logger import globalLogPublisher
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel

from agentlink_site.headers import secured, whole_response

reactor: Any = twisted_reactor

BODY_BYTES = 1024 * 1024
HEADERS_SECONDS = 5
BODY_SECONDS = 15
IDLE_SECONDS = 60
LINGER_SECONDS = 1  # how long a refused client may still send, so that it gets to read the answer
MOST_WAITING = 64
MOST_OPEN = 256
WEBSOCKET_BYTES = 64 * 1024
SEND_BYTES = 8 * 1024  # what the system holds for a page that does not read: some dozen frames, not megabytes
CLOSE_SECONDS = 1.0

LATE_HEADERS = (408, f"The request's headers did not arrive within {HEADERS_SECONDS} seconds.")
LATE_BODY = (408, f"The request's body did not arrive within {BODY_SECONDS} seconds.")
TOO_LARGE = (413, f"A request's body may have at most {BODY_BYTES} bytes.")
MALFORMED = (400, "This is not a well-formed HTTP/1.1 request.")
BAD_TARGET = (400, "The request line must hold a path that starts with one slash.")
LONG_LINE = (431, "A header line of this request is too long.")

WAITING, BODY, BUSY, IDLE = "waiting", "body", "busy", "idle"


class Book:
    """Every open connection of one listener; the waiting and the idle ones with the longest first.

    Websockets are counted apart: who is let through to one has logged in, and pages that watch must not cost others
    their connections.
    """

    def __init__(self) -> None:
        self.open: set[Channel] = set()
        self.sockets: set[Socket] = set()
        self.waiting: dict[Channel, None] = {}
        self.idle: dict[Channel, None] = {}
        self._trimming = False

    def move(self, channel: Channel, state: str) -> None:
        """Note what a connection does now, and drop another one when that makes too many."""
        self.open.add(channel)
        self.waiting.pop(channel, None)
        self.idle.pop(channel, None)
        if state == WAITING:
            self.waiting[channel] = None
        elif state == IDLE:
            self.idle[channel] = None
        if self._too_many() and not self._trimming:
            # A turn later: of connections that came in one go, those whose headers are there already wait for nothing.
            self._trimming = True
            reactor.callLater(0, self._trim)

    def gone(self, channel: Channel) -> None:
        self.open.discard(channel)
        self.waiting.pop(channel, None)
        self.idle.pop(channel, None)

    def _too_many(self) -> bool:
        return len(self.waiting) > MOST_WAITING or (len(self.open) > MOST_OPEN and bool(self.idle))

    def _trim(self) -> None:
        self._trimming = False
        while len(self.waiting) > MOST_WAITING:
            self._drop(next(iter(self.waiting)))
        while len(self.open) > MOST_OPEN and self.idle:
            longest = next(iter(self.idle))
            self.gone(longest)
            longest.transport.loseConnection()  # not aborted: its last answer may still be on its way

    def _drop(self, channel: Channel) -> None:
        self.gone(channel)
        channel.transport.abortConnection()


class Channel(HTTPChannel):
    """One HTTP/1.1 connection with a deadline for each thing it is waited for."""

    factory: Factory
    transport: Any  # Twisted's interfaces are zope's, which say nothing to a type checker
    refused = False
    state = WAITING
    _deadline: Any = None

    def connectionMade(self) -> None:
        super().connectionMade()
        if not _may_connect(self.transport):
            self.transport.abortConnection()
            return
        self._enter(WAITING, HEADERS_SECONDS, LATE_HEADERS)

    def _enter(self, state: str, seconds: float = 0, refusal: tuple[int, str] | None = None) -> None:
        self.state = state
        self._no_deadline()
        if refusal is not None:
            self._deadline = reactor.callLater(seconds, self.refuse, *refusal)
        self.factory.book.move(self, state)

    def _no_deadline(self) -> None:
        if self._deadline is not None and self._deadline.active():
            self._deadline.cancel()
        self._deadline = None

    def _wake(self) -> None:
        if self.state == IDLE:
            self._enter(WAITING, HEADERS_SECONDS, LATE_HEADERS)

    def dataReceived(self, data: bytes) -> None:
        if not self.refused:
            self._wake()
            super().dataReceived(data)

    def lineReceived(self, line: bytes) -> None:
        if not self.refused:
            self._wake()  # a pipelined request does not come through dataReceived
            super().lineReceived(line)

    def rawDataReceived(self, data: bytes) -> None:
        if not self.refused:
            super().rawDataReceived(data)

    def lineLengthExceeded(self, line: bytes) -> None:
        self.refuse(*LONG_LINE)

    def allHeadersReceived(self) -> None:
        if self.length is not None and self.length > BODY_BYTES:
            self.refuse(*TOO_LARGE)
            return
        if self.length != 0:
            self._enter(BODY, BODY_SECONDS, LATE_BODY)
        super().allHeadersReceived()

    def allContentReceived(self) -> None:
        if not self.refused:
            self._enter(BUSY)
            super().allContentReceived()

    def requestDone(self, request: WebRequest) -> None:
        if not self.refused:
            self._enter(IDLE)
        super().requestDone(request)

    def refuse(self, status: int, sentence: str) -> None:
        """Answer and hang up. What still comes is thrown away for a moment: a reset would eat the answer."""
        if self.refused:
            return
        self.refused = True
        self._no_deadline()
        self.setTimeout(None)
        self.factory.book.waiting.pop(self, None)
        self.factory.book.idle.pop(self, None)
        self._networkProducer.unregisterProducer()
        self.transport.write(whole_response(status, sentence))
        self.transport.loseWriteConnection()
        self._deadline = reactor.callLater(LINGER_SECONDS, self.transport.abortConnection)

    def _respondToBadRequestAndDisconnect(self) -> None:
        self.refuse(*MALFORMED)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self._no_deadline()
        self.factory.book.gone(self)
        super().connectionLost(reason)


class Request(WebRequest):
    """One request: its body is counted as it comes, and an upgraded connection stays in the book."""

    channel: Channel | None

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments, parsePOSTFormSubmission=False)  # Django parses forms

    def handleContentChunk(self, data: bytes) -> None:
        if self.channel is None or self.channel.refused:
            return
        if self.content.tell() + len(data) > BODY_BYTES:
            self.channel.refuse(*TOO_LARGE)
            return
        super().handleContentChunk(data)

    def process(self) -> Any:
        channel = self.channel
        assert channel is not None
        if not self.uri.startswith(b"/"):  # autobahn would cut the foreign host off an absolute-form target
            channel.refuse(*BAD_TARGET)
            return None
        outcome = super().process()
        if channel.transport.protocol is not channel:
            channel.factory.book.gone(channel)
            channel.transport.protocol.enter(channel.factory.book)
        return outcome

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        """daphne's own error page has an inline style; ours is a sentence with every header."""
        if self._response_started:
            self.finish()
            return
        content = f"{body}\n".encode()
        headers = secured([(b"content-type", b"text/plain; charset=utf-8")])
        self.handle_reply({"type": "http.response.start", "status": status, "headers": headers})
        self.handle_reply({"type": "http.response.body", "body": content})


class Factory(HTTPFactory):
    """Makes the connections of one listener, and keeps its book."""

    protocol = Channel

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self.timeOut = IDLE_SECONDS
        self.book = Book()

    def buildProtocol(self, addr: Any) -> Any:
        channel = super().buildProtocol(addr)
        channel.requestFactory = Request
        return channel


class Socket(WebSocketProtocol):
    """A websocket. Its end is seen only here: the HTTP channel is no longer asked.

    The doorbell writes its frames straight to it (``boards.live.Line``): one that was encoded once for everybody, and
    the next only when the system has taken the one before. A client that does not read holds one frame here, not all.
    """

    book: Book | None = None
    ready = False
    when_ready: Callable[[], None] | None = None
    _registered = False

    def enter(self, book: Book) -> None:
        self.book = book
        book.sockets.add(self)

    def onOpen(self) -> None:
        super().onOpen()
        self.transport.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        self.transport.unregisterProducer()  # the HTTP channel, which ended with the upgrade
        self.transport.registerProducer(self, False)  # asked for more whenever the system has taken everything

    def write(self, frame: bytes) -> None:
        """Sends an encoded frame; only while ``ready``. At once: a turn of the reactor costs several times as much."""
        taken = self.transport.writeSomeData(frame)
        if taken != len(frame):
            self.sendData(frame[taken:] if isinstance(taken, int) else frame)  # finds out what is the matter

    def sendData(self, data: bytes, sync: bool = False, chopsize: int | None = None) -> None:
        self.ready = False
        super().sendData(data, sync, chopsize)

    def resumeProducing(self) -> None:
        if not self._registered:  # registering asks at once; the handshake's answer has not left yet
            self._registered = True
            return
        if self.transport.disconnecting:
            self.transport.unregisterProducer()  # or the transport would wait for more before it closes
            return
        self.ready = self.state == self.STATE_OPEN
        if self.ready and self.when_ready is not None:
            self.when_ready()

    def stopProducing(self) -> None:
        self.ready = False

    def connectionLost(self, reason: Failure) -> None:
        self.ready = False
        if self.book is not None:
            self.book.sockets.discard(self)
        super().connectionLost(reason)

    def sendHttpErrorResponse(self, code: int, reason: str, responseHeaders: Any = None) -> None:  # noqa: N803
        self.sendData(whole_response(code, f"The websocket was refused: {reason}."))

    def serverReject(self) -> None:
        """As daphne's, but a client that is gone by now is no error."""
        handshake = self.__dict__.pop("handshake_deferred", None)
        if handshake is not None:
            handshake.errback(ConnectionDeny(code=403, reason="Access denied"))
            self.server.protocol_disconnected(self)


class SocketFactory(WebSocketFactory):
    """Makes the websockets; one that breaks the rules is told why by a close frame."""

    protocol = Socket

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.setProtocolOptions(failByDrop=False)


daphne.server.HTTPFactory = Factory
daphne.server.WebSocketFactory = SocketFactory


class Server(daphne.server.Server):
    """daphne that says which requests came by the unix socket, and that stops whatever state they are in."""

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        over: Any = protocol.channel if isinstance(protocol, Request) else protocol
        transport = over.transport
        scope["agentlink.unix"] = isinstance(transport.getHost(), UNIXAddress)
        scope["agentlink.line"] = protocol  # a websocket's, for the doorbell
        return super().create_application(protocol, scope)

    def protocol_disconnected(self, protocol: Any) -> None:
        if protocol in self.connections:
            super().protocol_disconnected(protocol)

    def kill_all_applications(self) -> defer.Deferred[Any]:
        """daphne's own fails on a request that is only half read, and waits for ever on one that does not end."""
        running = [entry.get("application_instance") for entry in self.connections.values()]
        tasks = [task for task in running if task is not None and not task.done()]
        for task in tasks:
            task.cancel()
        if not tasks:
            return defer.succeed(None)
        return defer.Deferred.fromFuture(asyncio.ensure_future(asyncio.wait(tasks, timeout=CLOSE_SECONDS)))


def _log_failures(event: dict[str, Any]) -> None:
    """daphne sends Twisted's log nowhere; an exception in a callback still has to be seen, once."""
    failure = event.get("log_failure")
    if isinstance(failure, Failure):
        trouble = (failure.type, failure.value, failure.getTracebackObject())
        structlog.get_logger(__name__).error("an exception in the event loop", exc_info=trouble)


globalLogPublisher.addObserver(cast(Any, _log_failures))


def _may_connect(transport: Any) -> bool:
    """On the unix socket only this user (and root): the kernel says who it is. Its mode says the same."""
    if not isinstance(transport.getHost(), UNIXAddress) or not hasattr(socket, "SO_PEERCRED"):
        return True
    raw = transport.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", raw)[1] in (os.geteuid(), 0)


def build(application: Any, unix_path: Path, action_logger: Any, ready: Callable[[], None]) -> Server:
    """The server, not yet running. `ready` is called once it accepts connections and stops on signals."""
    quoted: Any = quoteStringArgument
    server = Server(
        application,
        endpoints=[f"unix:{quoted(str(unix_path))}:mode=600:lockfile=0"],
        action_logger=action_logger,
        server_name="",
        websocket_timeout=-1,
        websocket_connect_timeout=HEADERS_SECONDS,
        websocket_handshake_timeout=HEADERS_SECONDS,
        websocket_max_message_size=WEBSOCKET_BYTES,
        websocket_max_frame_size=WEBSOCKET_BYTES,
        application_close_timeout=2,
    )
    # One turn later than "running", because signal handlers are installed in that turn.
    reactor.callWhenRunning(reactor.callLater, 0, ready)
    return server


def adopt(server: Server, listening: socket.socket) -> None:
    """Serve the TCP socket that was bound before anything was loaded."""
    reactor.adoptStreamPort(listening.fileno(), listening.family, Factory(server))
    listening.close()  # the reactor has its own descriptor
