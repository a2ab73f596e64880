"""The places of a port: which connections stay when there are more of them than files.

A connection is *known* once it has shown a valid token. Until then whoever opens connections can only drive out others
that have shown none, and the oldest first: a request takes milliseconds, so an honest one is answered before its turn.
"""

from __future__ import annotations

import asyncio
import ipaddress
import sys
from collections import Counter, OrderedDict
from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple

from tradefair.cli.ports import is_loopback
from tradefair.host.server.bounds import PER_ADDRESS

MAX_PLACES = 16_384
HEAD_S = 5.0
PATIENCE_S = 60.0
_MIN_PLACES = 16
# Files; enough for 1,000 seats, their connections and their traces.
_MANY_FILES = 65_536


class Bounds(NamedTuple):
    """What the connections of a port may take.

    `places` connections at a time, fewer where that is more than half of the files that the process may open;
    `per_address` of them from one address, save loopback and the addresses in `proxies`. A request's head has to
    arrive within `head_s` seconds, or `patience_s` behind an answer to a valid token; its body, and the taking of its
    answer, within `patience_s` each.
    """

    places: int = MAX_PLACES
    per_address: int = PER_ADDRESS
    proxies: Iterable[str] = ()
    head_s: float = HEAD_S
    patience_s: float = PATIENCE_S


class Places:
    """The connections of one port, by their transports. What finds no place is cut off without an answer."""

    def __init__(self, bounds: Bounds) -> None:
        # Half of the files, because logs need the others.
        self.most = max(_MIN_PLACES, min(bounds.places, _half_of_the_files()))
        self._per_address = bounds.per_address
        self._proxies = frozenset(map(_network, bounds.proxies))
        # With the network of each: None where its connections are not counted. Oldest first.
        self._unknown: OrderedDict[asyncio.Transport, str | None] = OrderedDict()
        self._known: dict[asyncio.Transport, str | None] = {}
        self._counts: Counter[str] = Counter()

    def enter(self, transport: asyncio.Transport) -> None:
        """Give a new connection a place, or cut one off: itself, or the oldest that is not known."""
        network = self._counted(transport)
        if network is not None and self._counts[network] >= self._per_address:
            # `abort` here and below, without an answer: answering would take what is scarce.
            transport.abort()
            return
        if network is not None:
            self._counts[network] += 1
        self._unknown[transport] = network
        unknown = len(self._unknown)
        # A quarter is kept for known connections, so that those are not all made to begin anew at once.
        if unknown > self.most * 3 // 4 or unknown + len(self._known) > self.most:
            oldest = next(iter(self._unknown))
            self.leave(oldest)
            oldest.abort()

    def know(self, transport: asyncio.Transport) -> None:
        """Note that the connection has shown a valid token: it is never cut off for others."""
        if transport in self._unknown:
            self._known[transport] = self._unknown.pop(transport)

    def is_known(self, transport: asyncio.Transport) -> bool:
        """Whether the connection has shown a valid token."""
        return transport in self._known

    def leave(self, transport: asyncio.Transport) -> None:
        """Free the place of a connection that has ended; idempotent."""
        network = (self._known if transport in self._known else self._unknown).pop(transport, None)
        if network is not None:
            self._counts[network] -= 1
            # Kept at zero, the addresses of a year would be a leak.
            if not self._counts[network]:
                del self._counts[network]

    def _counted(self, transport: asyncio.Transport) -> str | None:
        peer = transport.get_extra_info("peername")
        if not peer or is_loopback(peer[0]):
            return None
        network = _network(peer[0])
        return None if network in self._proxies else network


def _network(address: str) -> str:
    """What counts as one address: of IPv6 the first 64 bits, because whoever has one address there has all of those.

    Raises ValueError for what is no address.
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or ipaddress.IPv6Address(int(found) >> 64 << 64))


def allow_many_files() -> None:
    """Raise this process's limit of open files as far as the system allows, 65,536 at most.

    A thousand seats are a thousand connections, and every trace is several files.
    """
    resource = _limits()
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Not beyond what the system allows this user.
    wanted = _MANY_FILES if hard == resource.RLIM_INFINITY else min(hard, _MANY_FILES)
    while soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            # macOS names no hard limit and refuses what is above its kernel's.
            wanted //= 2
        else:
            return


def _half_of_the_files() -> int:
    resource = _limits()
    if resource is None:
        return sys.maxsize
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if files == resource.RLIM_INFINITY else files // 2


def _limits() -> Any:
    """The module `resource`; None on Windows, which has no such limits."""
    try:
        return import_module("resource")
    except ImportError:
        return None
