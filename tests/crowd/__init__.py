"""A big home, made by commands only: thousands of sessions, hundreds of boards, one board with very much on it.

``python -m tests.crowd DIR [--full] [--messages N …]`` makes it in a folder that does not exist yet. In tests::

    from tests import crowd

    big = crowd.copied(crowd.FULL, tmp_path / "big")   # a home of its own; made once per state of the sources
    with Server(big.home) as server: ...               # `environment(big.home)` fits too: AgInTiFlow's home is beside

    made = crowd.history(crowd.SMALL)                  # the same history in Django's database as it stands (pytest)
    crowd.sessions(folder, 100)                        # AgInTiFlow's files only, no Django needed

A :class:`Crowd` tells what is there: ``big.board_id`` has ``Size.messages`` messages to the node ``big.lead`` (and
those that contracts and evidence bring along), ``big.small_id`` is the newest of the small boards. Every node but the
human is a mailbox without a session, except on the small boards, where each third has a session as a member; what
those were sent is delivered. The log is what commands make of it, so its chains verify. Its clock runs from some days
ago to now; the leases at its end last for 24 hours. A copy has other inodes than the home it was copied from: the
first scan of a server on it reads every session again (``Crowd.scanned_anew`` does it at once, in its own process).

Built homes wait in the system's folder for temporary files, keyed by size and by the sources that decide what is
stored; those that nobody took for two hours are removed by whoever builds the next one.
"""

from tests.crowd.history import history
from tests.crowd.homes import build, copied, opened
from tests.crowd.sessions import sessions
from tests.crowd.size import FULL, SMALL, Crowd, Size

__all__ = ["FULL", "SMALL", "Crowd", "Size", "build", "copied", "history", "opened", "sessions"]
