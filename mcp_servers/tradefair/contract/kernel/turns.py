"""What a seat may do now: the actions that the clock and their declarations leave it, and the refusal of the others.

Whose turn it is, the clock says (`Market.awaited`); which action belongs to the moment, the action (`Tool.open`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import cast

from tradefair.contract.errors import IllegalAction
from tradefair.contract.market import Clock, Leaves, Market
from tradefair.contract.scenario import SeatId
from tradefair.contract.tool import Tool


def open_actions(actions: Iterable[Tool], market: Market, seat: SeatId, *, free: bool = False) -> list[str]:
    """Names of those `actions` that the seat may take now, in their order.

    None while the clock waits for others only, and after the rules' end. A free clock waits for nobody: every seat may
    act that has not left.
    """
    present = not _has_left(market, seat) if free else seat in market.awaited()
    if not present or market.terminated is not None:
        return []
    return [tool.name for tool in actions if tool.open is None or tool.open(market, seat)]


def _has_left(market: Market, seat: SeatId) -> bool:
    return _can_leave(type(market)) and cast("Leaves", market).has_left(seat)


@cache
def _can_leave(kind: type[Market]) -> bool:
    # Once per class: a protocol's instance check costs as much as a third of the view that every turn shows.
    return issubclass(kind, Leaves)


def closed(name: str, clock: Clock, open_now: Sequence[str]) -> IllegalAction:
    """The refusal of an action that does not belong to the moment; `open_now` are those that do."""
    hint = f"open to you now: {', '.join(open_now)}" if open_now else "no action is open to you now: call await_turn"
    return IllegalAction("wrong_phase", f"{name} is not open in phase {clock.phase} of round {clock.round}", hint=hint)
