"""Controls: traders that do one thing wrong each, so that a finding has something to find."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from tradefair.contract import ToolCall, Turns, TurnView
from tradefair.order_book.seats.desk import Act, Desk


class LossMaker:
    """Control: bids a fifth through its value."""

    def act(self, desk: Desk) -> Act:
        """1.2·v."""
        return Act() if desk.value is None else Act(min(desk.price_max, desk.value * 6 // 5 + 1))


class Churner:
    """Control: takes its order back in every step and posts one a tick worse."""

    def act(self, desk: Desk) -> Act:
        """0.8·v, a tick less in turn."""
        stale = tuple(order.order for order in desk.resting)
        return (
            Act(cancel=stale) if desk.value is None else Act(max(1, desk.value * 4 // 5 - desk.step % 2), cancel=stale)
        )


class Sleeper:
    """Control: quotes once a period, far away, and sleeps."""

    _period = 0

    def act(self, desk: Desk) -> Act:
        """A quarter of v; of shares FV, once."""
        if self._period == desk.period:
            return Act()
        self._period = desk.period
        if desk.asset:
            price = max(1, int(desk.worth))
            return Act(price, "sell") if desk.shares else Act()
        return Act() if desk.value is None else Act(max(1, desk.value // 4))


class BubbleBuyer:
    """Control: buys shares at any price, up to four times what they are worth."""

    def act(self, desk: Desk) -> Act:
        """The best ask, else twice FV."""
        price = desk.best_ask if desk.best_ask is not None else max(1, int(2 * desk.worth))
        return Act(price, "buy") if price <= min(desk.cash, 4 * desk.worth + 1) else Act()


class Ring:
    """Control: a seller that asks 20 above the competitive prices until nine tenths of the period have passed.

    Then it asks the highest competitive price: a ring that sold at its cost in the end would give back what it took.
    """

    def act(self, desk: Desk) -> Act:
        """In its own mirrored terms, never below its cost."""
        high = desk.competitive[1]
        if desk.value is None or high is None:
            return Act()
        asked = desk.price_max + 1 - (high + 20 if desk.passed < 0.9 else high)
        return Act(max(1, min(desk.value, asked)))


class Blind:
    """Control: quotes seven tenths of its value without a look at the book."""

    def turn(self, now: TurnView) -> Turns:
        """view_my_account, submit_order."""
        mine = yield ToolCall("view_my_account")
        value = None if mine.error is not None else mine.data["next_unit_value"]
        if value is None:
            yield ToolCall("pass_turn")
            return
        buys = mine.data["role"] == "buyer"
        price = max(1, value * 7 // 10) if buys else value * 13 // 10
        answer = yield ToolCall("submit_order", {"side": "buy" if buys else "sell", "price": price})
        if answer.error is not None:
            yield ToolCall("pass_turn")


class Contrary:
    """Control: asks for the chances of several prices within its value and orders at the least likely one."""

    def turn(self, now: TurnView) -> Turns:
        """view_my_account, view_book, estimate_fill, submit_order."""
        mine = yield ToolCall("view_my_account")
        value = None if mine.error is not None else mine.data["next_unit_value"]
        if value is None:
            yield ToolCall("pass_turn")
            return
        yield ToolCall("view_book")
        buys, most = mine.data["role"] == "buyer", mine.data["price_max"]
        # From the worst price for the others to the best one.
        parts = (20, 40, 60, 80, 98) if buys else (300, 220, 160, 130, 102)
        tried = dict.fromkeys(min(max(1, value * part // 100), most) for part in parts)
        side = "buy" if buys else "sell"
        arguments: Mapping[str, JsonValue] = {"side": side, "prices": [*tried]}
        told = yield ToolCall("estimate_fill", arguments)
        price = value
        if told.error is None:
            price = min(told.data["rows"], key=lambda row: row["probability"] or 0)["price"]
        answer = yield ToolCall("submit_order", {"side": side, "price": price})
        if answer.error is not None:
            yield ToolCall("pass_turn")
