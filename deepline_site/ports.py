"""Free TCP ports on the loopback address.

Ports that are remembered between starts come from below the kernel's range for outgoing
connections, so that an ordinary connection of this machine does not sit on one at the next start.
"""

from __future__ import annotations

import random
import socket

LOOPBACK = "127.0.0.1"
REMEMBERED = range(20_000, 32_000)


def is_free(port: int) -> bool:
    """Tell whether a server could listen on that port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """Return a free port, chosen at random so that several installations rarely meet."""
    for port in random.sample(REMEMBERED, len(REMEMBERED)):
        if is_free(port):
            return port
    raise OSError(f"No port from {REMEMBERED.start} to {REMEMBERED.stop - 1} is free.")


def next_free_port(first: int) -> int:
    """Return the first free port from `first` on."""
    for port in range(first, 65_536):
        if is_free(port):
            return port
    raise OSError(f"No port from {first} on is free.")
