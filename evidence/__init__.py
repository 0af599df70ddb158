"""What was proved: artifacts derived from session events, checks of plain facts, safe previews and redaction."""
