"""The floor of a fan-out: a bare asyncio server that writes one frame, encoded before, to every open connection.

``python -m tests.soak.floor HEX``: says its port; each line on its input makes one round, and it answers with when the
round began, in nanoseconds of the monotonic clock.
"""

from __future__ import annotations

import asyncio
import sys
import time


class Peer(asyncio.Protocol):
    """One connection; it only listens."""

    open: set[asyncio.Transport] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.open.add(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.open.discard(self.transport)


async def main(frame: bytes) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Peer, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    while await loop.run_in_executor(None, sys.stdin.readline):
        began = time.monotonic_ns()
        for transport in list(Peer.open):
            transport.write(frame)
        print(began, flush=True)


asyncio.run(main(bytes.fromhex(sys.argv[1])))
