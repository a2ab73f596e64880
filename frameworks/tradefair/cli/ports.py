"""The sockets that servers listen on: one error and one remedy, whichever server wants the port."""

from __future__ import annotations

import errno
import ipaddress
import socket

from tradefair.contract import ScenarioError

_BACKLOG = 2_048  # connections that wait to be accepted: a thousand clients may come at once


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def listen(address: str, port: int, *, option: str = "--port") -> socket.socket:
    """A listening socket; `port` 0 takes a free one. ScenarioError, which names `option`, where it cannot be had."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        listening = socket.create_server((address, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ScenarioError(f"port {port} of {address} is taken; {option} 0 takes a free one") from None
        # Cut: Python names the address a second time, in brackets.
        reason = (error.strerror or type(error).__name__).partition(" (")[0]
        raise ScenarioError(f"cannot listen on {address}, port {port}: {reason}") from None
    # asyncio leaves Nagle's algorithm on for sockets made like this one (proto 0): each answer would wait 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
