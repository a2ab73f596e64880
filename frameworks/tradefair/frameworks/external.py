"""`external` and `person`: a client from outside plays the seat, or a person at the board in a browser.

Either comes over HTTP; we only learn that the episode has ended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tradefair.contract import Brief
from tradefair.contract.kernel.players import Limits
from tradefair.frameworks.base import SeatConnection, SeatReport
from tradefair.frameworks.models.endpoint import ModelEndpoint


class ExternalAgent:
    """Waits for `ended`, the runner's own view of the episode: an agent's seat is not ours to look through.

    The stranger's client talks to the market directly; nothing of what it does passes through this process.
    """

    def __init__(self, ended: Callable[[], Awaitable[str | None]], name: str = "external") -> None:
        self.name = name
        # A function and not the connection: asking over the seat would put calls into its trace that its agent never
        # made.
        self._ended = ended

    async def play(
        self, seat: SeatConnection | None, model: ModelEndpoint | None, brief: Brief, limits: Limits
    ) -> SeatReport:
        """Return when the episode is over, with its end reason; touches no tool."""
        return SeatReport(self.name, end_reason=await self._ended())
