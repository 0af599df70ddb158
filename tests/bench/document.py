"""``docs/performance.md``, written by the bench itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.bench.figures import Figure, table

HEAD: Final = """# Performance

`make bench` measures this and exits with 1 when a limit is not kept; `make bench ARGS=--write` writes this page anew.
Each figure stands beside a floor that was measured in the same run on the same machine, so that the ratio says much
about AgentLink and little about the machine.
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
"""


def write(path: Path, figures: Sequence[Figure], notes: Sequence[str], noise: Sequence[str], machine: str) -> None:
    """The table, the distributions behind it, the machine's noise, and what each line means."""
    listed = ["## Figures", "", table(figures), "", "Behind them:", "", *(f"- {note}" for note in notes)]
    heard = ["", f"The machine ({machine}) and its noise during the run:", "", *(f"- {line}" for line in noise)]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([HEAD, *listed, *heard, MEANING]))
