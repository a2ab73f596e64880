"""The driver's side of the market clock: wait for the seat's turn, or give turns up until a round is behind it."""

from __future__ import annotations

from tradefair.agents.bridge import Bridge
from tradefair.contract import HarnessFailure, TurnView
from tradefair.frameworks.base import SeatConnection


async def open_bridge(seat: SeatConnection) -> Bridge:
    """The seat's tools over its open client."""
    return await Bridge.open(seat.client, timeout_s=seat.call_timeout_s, key_prefix=seat.key_prefix)


class SeatClock:
    """Waits by `await_turn`, never by polling, and passes the runner's gate before each turn. Close it after play.

    `view` is the latest turn that was waited for.
    """

    def __init__(self, seat: SeatConnection, bridge: Bridge) -> None:
        self._seat = seat
        self._bridge = bridge
        self._inside = False
        self.turns = 0
        self.view: TurnView | None = None

    async def next_turn(self) -> TurnView:
        """The next turn of the seat, or the view that says how the episode ended."""
        await self.close()
        self.view = view = await self._wait()
        if not view.over:
            self.turns += 1
            if self._seat.gate is not None:
                await self._seat.gate.enter(view)
                self._inside = True
        return view

    async def lapse(self, view: TurnView) -> TurnView | None:
        """Lapse the seat in the open phase; its next turn, or None where the connection has no way to lapse.

        Under a free clock nothing lapses: the next turn begins when there are news.

        Raises HarnessFailure when the lapse does not end the turn.
        """
        if not view.awaited and not view.over:
            return await self.next_turn()
        if self._seat.lapse is None:
            return None
        await self._seat.lapse("agent_limit")
        following = await self.next_turn()
        if not following.over and (following.round, following.revision) == (view.round, view.revision):
            raise HarnessFailure(f"round {view.round}, phase {view.phase}: the lapse did not end the turn")
        return following

    async def give_up(self, view: TurnView) -> TurnView | None:
        """Lapse the seat in the open phase and every later one of the round; otherwise as `lapse`."""
        following = await self.lapse(view)
        while following is not None and not following.over and following.round == view.round:
            following = await self.lapse(following)
        return following

    async def close(self) -> None:
        """Leave the gate if inside."""
        if self._inside and self._seat.gate is not None:
            self._inside = False
            await self._seat.gate.leave()

    async def _wait(self) -> TurnView:
        while True:
            wait_s = self._seat.wait_s
            outcome = await self._bridge.call(
                "await_turn", {"timeout_s": wait_s}, timeout_s=wait_s + self._seat.call_timeout_s
            )
            if outcome.is_error:
                raise HarnessFailure(f"await_turn refused: {outcome.text}")
            view = TurnView.model_validate(outcome.structured)
            if not view.still_open:
                return view
