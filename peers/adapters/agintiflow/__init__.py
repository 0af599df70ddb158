"""AgInTiFlow's sessions: files under its home, read tolerantly, written only by the inbox protocol.

Facts read off version 0.20.203. Its formats carry no version, so unknown keys, types and torn lines are expected.
"""

from peers.adapters.agintiflow.adapter import AgInTiFlow

__all__ = ["AgInTiFlow"]
