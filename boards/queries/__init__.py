"""Queries: the noun that you get. They read rows, never the log's past, and never change anything."""
