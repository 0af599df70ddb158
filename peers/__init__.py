"""Who is there and how to reach them: facts about agent sessions on this machine. No history is kept here."""
