"""Makes the agents of one episode act one after another in the market's seat order.

Agents run at the same time and answer when their models do. The trace records calls in the order in which they arrive,
so without an order two runs of equal agents would have different head hashes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tradefair.contract import SeatId, TurnView
from tradefair.host.episode.episode import Episode


class SeatOrder:
    """The order of an episode's agents: `seats`, first to last."""

    def __init__(self, episode: Episode, seats: Sequence[SeatId]) -> None:
        self._episode = episode
        self._seats = list(seats)
        self._waiting: dict[SeatId, asyncio.Future[None]] = {}

    def turn_of(self, seat: SeatId) -> SeatTurn:
        """The gate that this seat passes before each of its turns."""
        return SeatTurn(self, seat)

    async def enter(self, seat: SeatId) -> None:
        """Wait until the market awaits no earlier seat."""
        # A seat that has lapsed or acted is no longer awaited, so nothing can wait for it forever.
        earlier = self._seats[: self._seats.index(seat)]
        # Asked of Core each time: a seat may stop being awaited by a lapse as well as by its own call.
        while any(self._episode.core.awaits(before) for before in earlier):
            self._waiting[seat] = asyncio.get_running_loop().create_future()
            try:
                await self._waiting[seat]
            finally:
                del self._waiting[seat]

    async def leave(self) -> None:
        """Wake the agents that may act now: up to the first that the market awaits, not all, who are hundreds."""
        for seat in self._seats:
            waiter = self._waiting.get(seat)
            if waiter is not None and not waiter.done():
                waiter.set_result(None)
            if self._episode.core.awaits(seat):
                return


class SeatTurn:
    """One seat's gate (`frameworks.base.TurnGate`)."""

    def __init__(self, order: SeatOrder, seat: SeatId) -> None:
        self._order = order
        self._seat = seat

    async def enter(self, view: TurnView) -> None:
        """Wait for the earlier seats."""
        await self._order.enter(self._seat)

    async def leave(self) -> None:
        """This seat has done what it will do."""
        await self._order.leave()
