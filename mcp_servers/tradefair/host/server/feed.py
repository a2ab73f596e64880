"""Tells the connections of one seat which of its resources have changed, in both protocol eras.

A feed belongs to one server, and a server to one seat: what is published here was never another seat's business. It
fires when a phase or round has closed, which all seats learn at the same moment; under the free clock also when
something has reached the seat.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import ListenHandler, ResourceUpdated, ServerEvent

from tradefair.contract import SeatId
from tradefair.contract.kernel.core import Core

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

    from tradefair.host.episode.unbegun import Playable

_MAX_STREAMS = 16  # per seat; a client opens one
_MAX_FOLLOWERS = 32  # connections per seat; those that asked longest ago make room
# Seconds for a connection to take its news; a slower one is taken for gone.
_SEND_TIMEOUT_S = 5.0

_log = logging.getLogger("tradefair.host")


@dataclass
class _Follower:
    """A connection of the handshake era (before revision 2026-07-28) and the URIs it follows."""

    session: ServerSession
    uris: set[str] = field(default_factory=set[str])


class Feed:
    """The open listen streams and followers of one server. `changing` are the URIs that a closure can change.

    One feed serves both eras: listeners are streams of the stateless one, followers connections of the handshake era.
    """

    def __init__(self, changing: Sequence[str]) -> None:
        self._changing = tuple(changing)
        self._listeners: dict[object, Callable[[ServerEvent], None]] = {}
        self._followers: dict[str, _Follower] = {}
        self._news: dict[str, None] = {}  # what followers have not been told yet, in order
        self._changed = anyio.Event()
        self.listen = ListenHandler(self, max_subscriptions=_MAX_STREAMS)

    def announce(self, uris: Sequence[str] | None = None) -> None:
        """Tell all listeners that these resources have changed (None: all that a closure can change). Never blocks.

        Followers are told by `run`, in the feed's own task.
        """
        changed = self._changing if uris is None else uris
        # Copies: a listener may end its stream while it is told.
        for listener in list(self._listeners.values()):
            for uri in changed:
                listener(ResourceUpdated(uri))
        if self._followers:
            self._news.update(dict.fromkeys(changed))
            self._changed.set()

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Register a listen stream; the SDK's `SubscriptionBus`."""
        token = object()
        self._listeners[token] = listener

        def unsubscribe() -> None:
            self._listeners.pop(token, None)

        return unsubscribe

    async def publish(self, event: ServerEvent) -> None:
        """Hand an event to every listen stream; the SDK's `SubscriptionBus`.

        Called by the SDK; what this host announces itself goes through `announce`.
        """
        for listener in list(self._listeners.values()):
            listener(event)

    def follow(self, ctx: ServerRequestContext[Any, Any], uri: str) -> None:
        """`resources/subscribe` of the handshake era.

        A connection that asks again moves to the newest end of the list.
        """
        key = _connection(ctx)
        # Taken out and put back at the end: the order of the mapping is the order of asking.
        follower = self._followers.pop(key, None) or _Follower(ctx.session)
        follower.uris.add(uri)
        # The SDK does not say when a connection is gone; the ones that asked longest ago make room.
        while len(self._followers) >= _MAX_FOLLOWERS:
            del self._followers[next(iter(self._followers))]
        self._followers[key] = follower

    def unfollow(self, ctx: ServerRequestContext[Any, Any], uri: str) -> None:
        """`resources/unsubscribe` of the handshake era."""
        follower = self._followers.get(_connection(ctx))
        if follower is not None:
            follower.uris.discard(uri)

    async def run(self) -> None:
        """Carry announcements to followers until cancelled; several at once become one."""
        while True:
            await self._changed.wait()
            # Replaced before anything is sent: a change that comes meanwhile must be announced once more.
            # Several announcements while something is sent become one: followers read the state anyway.
            self._changed = anyio.Event()
            news, self._news = self._news, {}
            for key, follower in list(self._followers.items()):
                if not await self._tell(follower, news):
                    self._followers.pop(key, None)

    async def _tell(self, follower: _Follower, news: Iterable[str]) -> bool:
        """Whether the follower took all it asked for in time.

        False after any failure; its connection is then forgotten.
        """
        try:
            with anyio.fail_after(_SEND_TIMEOUT_S):
                for uri in news:
                    if uri in follower.uris:
                        await follower.session.send_resource_updated(uri)
        # Whatever the SDK raises, the connection takes no news; the seat can still ask.
        except Exception as error:
            _log.info("a follower is gone: %s", type(error).__name__)
            return False
        return True


@asynccontextmanager
async def open_feed(episode: Playable, seat: SeatId, changing: Sequence[str]) -> AsyncGenerator[Feed]:
    """A running feed of an episode; the lifespan of a seat's server, or of an observer's."""
    feed = Feed(changing)
    known = _news(episode.core, seat)

    def announce() -> None:
        nonlocal known
        before, known = known, _news(episode.core, seat)
        # Under the free clock each commit is reported. Announcing them all would let a seat count other seats' calls.
        if episode.core.scenario.clock != "free" or known != before:
            feed.announce()

    forget = episode.on_change(announce)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(feed.run)
            yield feed
            group.cancel_scope.cancel()
    finally:
        # The streams end first, so that they can say so to their clients.
        feed.listen.close()
        forget()


def _news(core: Core, seat: SeatId) -> tuple[object, ...]:
    """What changes with every closure, and with all that reaches a seat."""
    market = core.market
    return market.clock.revision, core.ended, market.news_mark(seat) if seat in market.seats else None


def _connection(ctx: ServerRequestContext[Any, Any]) -> str:
    """What tells the connections of one server apart: the HTTP session, or nothing where there is but one."""
    return "" if ctx.request is None else str(ctx.request.headers.get("mcp-session-id", ""))
