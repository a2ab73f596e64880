"""What a seat may do now: the actions that the clock and their declarations leave it, and the refusal of the others.

Whose turn it is, the clock says (`Market.awaited`); which action belongs to the moment, the action (`Tool.open`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tradefair.contract.errors import IllegalAction
from tradefair.contract.market import Clock, Leaves, Market
from tradefair.contract.seats import SeatId
from tradefair.contract.tool import Tool


def open_actions(actions: Iterable[Tool], market: Market, seat: SeatId, *, free: bool = False) -> list[str]:
    """Names of those `actions` that the seat may take now, in their order.

    None while the clock waits for others only, and after the rules' end. A free clock waits for nobody: every seat may
    act that has not left.
    """
    absent = isinstance(market, Leaves) and market.has_left(seat) if free else seat not in market.awaited()
    if absent or market.terminated is not None:
        return []
    return [tool.name for tool in actions if tool.open is None or tool.open(market, seat)]


def closed(name: str, clock: Clock, open_now: Sequence[str]) -> IllegalAction:
    """The refusal of an action that does not belong to the moment; `open_now` are those that do."""
    hint = f"open to you now: {', '.join(open_now)}" if open_now else "no action is open to you now: call await_turn"
    return IllegalAction("wrong_phase", f"{name} is not open in phase {clock.phase} of round {clock.round}", hint=hint)
