"""Waiting: for a turn, for a commit or the end of a call, and what a client hears while its request is not answered."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from tradefair.contract import SeatId
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.core import Core

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

PROGRESS_S = 2.0
"""Seconds between two progress notifications: below the shortest time after which clients give a request up."""


class Waiting:
    """Those who wait for a turn of one episode. `counted` is how many waits there have been."""

    def __init__(self) -> None:
        self.counted = 0
        # Replaced at each change: whoever holds the old one wakes up, whoever comes later waits for the next.
        self._pulse = asyncio.Event()
        self._told: dict[SeatId, int] = {}  # the last news mark that a wait of the seat has told of (free clock)

    def wake(self) -> None:
        """Something has changed: whoever waits looks again."""
        self._pulse.set()
        self._pulse = asyncio.Event()

    async def change(self, until: float) -> bool:
        """Wait for the next change; False when the loop's clock says `until` first."""
        pulse = self._pulse
        try:
            async with asyncio.timeout_at(until):
                await pulse.wait()
        except TimeoutError:
            return False
        return True

    def has_come(self, core: Core, seat: SeatId) -> bool:
        """Whether the seat has nothing to wait for: it is awaited, the episode is over, or news has come."""
        if core.ended is not None or core.awaits(seat):
            return True
        return core.scenario.clock == "free" and core.market.news_mark(seat) > self._told.get(seat, 0)

    def tell(self, core: Core, seat: SeatId) -> None:
        """The seat is told of all its news now."""
        self._told[seat] = core.market.news_mark(seat)


class Patience:
    """Lets the clients of a server hear every two seconds for how many their request has been under way.

    Nothing is sent where a request carries no progress token. One timer looks after all requests: nearly all of them
    are answered at once.
    """

    def __init__(self) -> None:
        self._began: dict[ServerSession, float] = {}  # the session of a request is that request's own
        self._telling: dict[ServerSession, asyncio.Task[None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, session: ServerSession) -> None:
        """A request is under way."""
        loop = asyncio.get_running_loop()
        self._began[session] = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(PROGRESS_S / 4, self._look)

    def end(self, session: ServerSession) -> None:
        """It is answered, and hears nothing from here on: a client may take progress behind an answer for a fault."""
        del self._began[session]
        if self._telling and (task := self._telling.pop(session, None)) is not None:
            task.cancel()

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(PROGRESS_S / 4, self._look) if self._began else None
        for session, began in self._began.items():
            if session not in self._telling and loop.time() - began >= PROGRESS_S:
                self._telling[session] = asyncio.create_task(_tell(session, began), name="tradefair-progress")


async def _tell(session: ServerSession, began: float) -> None:
    # A client that has gone needs no patience.
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        while True:
            await session.report_progress(round(asyncio.get_running_loop().time() - began, 3), message="still waiting")
            await asyncio.sleep(PROGRESS_S)


class Pending:
    """Something that will be done or lost. Any number may wait for it, and who is cancelled stops no other.

    So each waits for a future of its own: a future that many share would be cancelled with the first of them.
    """

    __slots__ = ("_lost", "_settled", "_waiting")

    def __init__(self) -> None:
        self._settled = False
        self._lost: str | None = None
        self._waiting: list[asyncio.Future[None]] = []

    async def wait(self) -> None:
        """Until it is settled. Raises StorageUnavailable where it was lost."""
        if not self._settled:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
        if self._lost is not None:
            raise StorageUnavailable(self._lost)

    def settle(self, lost: str | None = None) -> None:
        """It is done, or `lost` says why not."""
        self._settled, self._lost = True, lost
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()
