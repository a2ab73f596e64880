"""Controls: firms that do one thing wrong each, so that a finding has something to find."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from tradefair.contract import ToolCall, Turns, TurnView
from tradefair.pricing.seats.desk import Desk


class BelowCost:
    """Control: sells a tenth below the unit cost of the round."""

    def price(self, desk: Desk) -> int:
        """9/10 of cost."""
        return 9 * desk.cost_now // 10


class Sleeper:
    """Control: posts once, then never again: its first price stands."""

    def price(self, desk: Desk) -> int | None:
        """Twice the cost, in round 1."""
        return 2 * desk.cost if desk.round == 1 else None


class Stuck:
    """Control: posts the same price in every round, whatever happens."""

    def price(self, desk: Desk) -> int:
        """1.3 of the cost without shocks."""
        return 13 * desk.cost // 10


class Joiner:
    """Control: joins every price war, always 3 % below the lowest rival, down to its cost."""

    def price(self, desk: Desk) -> float:
        """Monopoly first."""
        rival = desk.lowest_rival()
        return desk.monopoly() if rival is None else max(desk.cost_now + 1, 97 * rival // 100)


class Jumpy:
    """Control: jumps between a low and a very high price to the end."""

    def price(self, desk: Desk) -> int:
        """1.2 and 2.6 of the cost in turn."""
        return (12 if desk.round % 2 else 26) * desk.cost // 10


class Blind:
    """Control: posts 1,500 without a look at anything."""

    def turn(self, now: TurnView) -> Turns:
        """1,500, or what the grid allows."""
        yield ToolCall("set_price", {"price": 1_500})


class Contrary:
    """Control: works out the profit of several prices and posts the worst of them."""

    def turn(self, now: TurnView) -> Turns:
        """view_my_firm, profit_if from round 2 on, then the row that earns least above cost."""
        mine = yield ToolCall("view_my_firm")
        if mine.error is not None:
            return
        cost, most = mine.data["cost_now"], mine.data["price_max"]
        tried = sorted({min(max(0, cost * percent // 100), most) for percent in (105, 125, 150, 175, 200, 260)})
        price = tried[-1]
        if now.round > 1:
            arguments: Mapping[str, JsonValue] = {"prices": [*tried]}
            answer = yield ToolCall("profit_if", arguments)
            if answer.error is None:
                price = min(answer.data["rows"], key=lambda row: row["profit"])["price"]
        yield ToolCall("set_price", {"price": price})
