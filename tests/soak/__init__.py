"""What only shows at size: many sockets, huge logs, crowded homes.

Small forms run with `make test`, large ones with `make soak`.
"""
