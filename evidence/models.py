"""No table of its own: artifacts are derived on each read, and verdicts are events of the board."""
