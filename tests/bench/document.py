"""``docs/performance.md``, written by the bench itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.bench.figures import Figure, table

HEAD: Final = """# Performance

`make bench` measures this and exits with 1 when a limit is not kept; `make bench ARGS=--write` writes this page anew,
`make bench ARGS="--only pages idle"` measures some parts only. Each figure stands beside a floor that was measured in
the same run on the same machine, so that the ratio says much about AgentLink and little about the machine.
`make soak` runs the tests that take minutes (a thousand sockets, a log of 1 GB, thousands of sessions); no test looks
at a time, only the bench does.
"""
MEANING: Final = """
## What each line means

- **Commit to frame.** A server runs (`agentlink up`). Another process gives a command; the time runs from its accepted
  receipt to the WebSocket frame that tells the new revision. The server looks for commits of other processes every
  15 ms (10 ms of waiting, 5 ms of rest), so about half of that is waiting by design. Floor: a bare loopback echo of the
  same frame by a minimal asyncio server.
- **Commit to changed text.** The same, to the moment when a `MutationObserver` in Chromium sees the new message in the
  page: the frame, the regions' requests, their rendering, and the morph of the page. Once on a young board, once on
  a board whose list of messages is full (100 are shown). Floor: the frame at the socket.
- **CPU of one command.** `boards.commands.execute` from a fresh command to the receipt: redaction, rules, log, chain of
  digests, projections, receipt, commit with full durability. Floor: one transaction of the same `sqlite3` module with
  the very same statements and values on a twin of the database, the same PRAGMAs, in turns of a few dozen each. CPU
  time of the process, user and system; the ratio is the median over all turns.
- **Longest wait.** Sixteen processes give commands to one home as fast as they can. Floor: as many processes that run
  a command's statements raw, in a queue of the same kind (`flock`). Median over all turns of the ratio of both maxima.
  SQLite's own busy handler is told besides: it serves most writers quickly and lets single ones starve.
- **Frame to the last socket.** A thousand plain sockets watch one board; the time runs from the first write of a frame
  until the last of them has it, median over the rounds. Floor: a bare asyncio server in a process of its own that
  writes one frame, encoded before, to as many connections.
- **A normal answer beside stalled connections.** Three hundred connections stall at once: some with half their headers,
  some with half a body, some say nothing at all; until the server has closed the last of them others ask for
  `/api/agentlink/status`, each over a new connection. Floor: the same requests with nobody else there.
- **Commands at the command line.** Eight agents at once: each claims its task, sends messages and releases the task,
  one `agentlink` process after the other; the time until all are done, through a running server and without one. Floor:
  the same number of bare interpreters (`python -c pass`), as many at once. Every command must succeed.
- **Start-up.** From spawning `agentlink up` to the first healthy answer of `/api/agentlink/status`, on a home with next
  to nothing in it and on the big one. Floor: Django with one view behind daphne in one process of the same shape.

The rest is measured on a big home (`tests/crowd`): 5,000 sessions, 501 boards, one of them with 10,000 messages to one
node, 500 contracts and 1,000 pieces of evidence, all made by commands.

- **First page.** Server time of one request, in a warm process that has nothing of the answer in memory: each sample is
  a fork of a process that has answered the same request for a small board. The home, the big board, each of their
  regions, and everything that the API answers to GET; of each group the slowest page is in the table, the others are
  told behind it. Floor: the same bytes from a view that does nothing else, through the same middleware.
- **Inbox.** `GET /api/agentlink/inbox` of the node that got every message: the newest fifty that are open, urgent ones
  first. Floor: that page and its count in raw SQL on the same file; the bench fails when the two find different pages.
- **One command on the big board.** CPU time of the same command on the big board and on a small one of the same home,
  in turns. A request is a `task_request` and its acknowledgement; a contract is proposed and accepted by its owner.
- **Idle.** CPU time of a process in which nothing happens, in percent of one core: the follower alone, and all workers
  of a server (follower, delivery, files, timer, and the scanner that looks at 5,000 sessions). Floor: a bare
  `PRAGMA data_version` at the follower's rhythm.
"""


def write(path: Path, figures: Sequence[Figure], notes: Sequence[str], noise: Sequence[str], machine: str) -> None:
    """The table, the distributions behind it, the machine's noise, and what each line means."""
    listed = ["## Figures", "", table(figures), "", "Behind them:", "", *(f"- {note}" for note in notes)]
    heard = ["", f"The machine ({machine}) and its noise during the run:", "", *(f"- {line}" for line in noise)]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([HEAD, *listed, *heard, MEANING]))
