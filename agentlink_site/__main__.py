"""`python -m agentlink_site` is `agentlink`."""

from agentlink_site.cli import main

main()
