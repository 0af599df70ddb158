"""Boards: the only domain with history. Commands in, events in the log, projections out."""
