"""``make bench``: how fast AgentLink is, as ratios to what the machine can do at best in the same run."""
