"""Everything of AgentLink that faces outward: settings, server, security, command line."""

__version__ = "0.1.0"
