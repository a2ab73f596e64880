"""Loaded by every Python process that the hubs' tests start: connections to other machines are refused, as offline."""

import sys
from typing import Any

_HERE = ("127.", "::1", "localhost", "0.0.0.0")


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: sockets to loopback and files only."""
    if event == "socket.connect":
        address = arguments[1]
        named = address[0] if isinstance(address, tuple) else ""  # a path, of a socket that is a file
    elif event == "socket.getaddrinfo":
        named = arguments[0] or ""
    else:
        return
    named = named.decode() if isinstance(named, bytes) else str(named)
    if named and not named.startswith(_HERE):
        raise OSError(101, f"offline: {named} is another machine")


sys.addaudithook(_refuse)
