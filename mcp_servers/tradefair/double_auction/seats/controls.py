"""Seats that know hidden truth, and controls that provoke one failure mode each (double_auction page, 8.5).

Controls are traders in buyer terms, as in `traders`; amounts in points are for P = 100 and scale by P/100.
"""

from __future__ import annotations

import math

from tradefair.contract import ToolCall, Turns, TurnView
from tradefair.double_auction.analysis import Rivals, best_reply, flip
from tradefair.double_auction.model import Role, role_of
from tradefair.double_auction.rules import HiddenTruth
from tradefair.double_auction.seats.talking import SILENCE
from tradefair.double_auction.seats.traders import points
from tradefair.trading.clearing import benchmarks
from tradefair.trading.mirror import Trader, TraderView


class _Privileged:
    """Quotes by hidden truth, without a look at its own tools.

    In process only: `see` is called before each turn, and no tool answers what it gives.
    """

    def __init__(self) -> None:
        self._truth: HiddenTruth | None = None

    def see(self, truth: object) -> None:
        """Take in the values and the sealed quotes."""
        assert isinstance(truth, HiddenTruth)
        self._truth = truth

    def turn(self, now: TurnView) -> Turns:
        """One quote; silence where there is talk."""
        assert self._truth is not None
        if now.phase == "talk":
            yield ToolCall("send_message", SILENCE)
            return
        role, top = role_of(now.seat), self._truth.price_max
        # In buyer terms, like the traders, so that one formula serves both sides.
        value = flip(self._truth.values[now.seat], top, role)
        bid = max(0, min(value, self._bid(value, role, self._truth)))
        yield ToolCall("submit_quote", {"price": flip(bid, top, role)})

    def _bid(self, value: int, role: Role, truth: HiddenTruth) -> int:
        raise NotImplementedError


class OracleSealed(_Privileged):
    """The best reply to the quotes that lie in the book, in expectation over coins and ties: a bound per round.

    Asked last in its phase; the rivals' next quotes may answer what it does now, so it bounds no episode.
    """

    def _bid(self, value: int, role: Role, truth: HiddenTruth) -> int:
        # In the terms of its own role: for a seller the whole book is turned round.
        sides: dict[Role, list[int]] = {"buyer": [], "seller": []}
        # Its own seat is not among them: it is asked while its quote is still awaited.
        for seat, price in truth.book.items():
            sides[role_of(seat)].append(flip(price, truth.price_max, role))
        others, opposite = sorted(sides[role]), sorted(sides["seller" if role == "buyer" else "buyer"])
        reply = best_reply(value, [Rivals(others, opposite)])
        return value if reply is None else reply


class OracleValues(_Privileged):
    """Quotes just better than the competitive price of the true values."""

    def _bid(self, value: int, role: Role, truth: HiddenTruth) -> int:
        values: dict[Role, list[int]] = {"buyer": [], "seller": []}
        for seat, amount in truth.values.items():
            values[role_of(seat)].append(amount)
        price = benchmarks(values["buyer"], values["seller"], truth.price_max).p_star
        if price is None:
            return value
        # One point better than p*, so it ranks before all that quote p* itself.
        return math.floor(price if role == "buyer" else truth.price_max - price) + 1


class Blind:
    """Control: quotes 50, the middle of most grids, and never looks at anything, its own value included."""

    def turn(self, now: TurnView) -> Turns:
        """One quote of 50 points for P = 100; silence where there is talk."""
        if now.phase == "talk":
            yield ToolCall("send_message", SILENCE)
            return
        # Not scaled: it looks at nothing, so it does not know the grid.
        yield ToolCall("submit_quote", {"price": 50})


class Contrary:
    """Control: asks what its prices would have earned and then quotes the worst of them."""

    def turn(self, now: TurnView) -> Turns:
        """Value, analysis, one quote; silence where there is talk."""
        if now.phase == "talk":
            yield ToolCall("send_message", SILENCE)
            return
        own = yield ToolCall("view_my_value")
        if own.error is not None:
            return
        price = own.data["value"]
        if now.round > 1:
            told = yield ToolCall("expected_surplus")
            earned: dict[int, float] = {}
            if told.error is None:
                earned = {row["price"]: row["mean_surplus"] for row in told.data["rows"]}
            # Replay answers for prices within the value only, so the worst of them is a waste and no loss.
            price = min(earned, key=lambda asked: earned[asked], default=price)
        yield ToolCall("submit_quote", {"price": price})


class LossMaker:
    """Control: bids 10 points through its value."""

    def quote(self, view: TraderView) -> int:
        """min(P, v + 10)."""
        return min(view.price_max, view.value + points(view, 10))


class Forfeiter:
    """Control: quotes its value, except in every third round."""

    def quote(self, view: TraderView) -> int | None:
        """v, or nothing."""
        return None if view.round % 3 == 0 else view.value


class Stubborn:
    """Control: asks for the same large gain in all rounds, 40 points."""

    def quote(self, view: TraderView) -> int:
        """max(0, v - 40)."""
        return max(0, view.value - points(view, 40))


class Punisher:
    """Control: shades a little until it is outbid on its side, then outbids all of them for two rounds.

    Being outbid while it punishes prolongs nothing.
    """

    def __init__(self) -> None:
        self._until = 0
        self._seen = 0

    def quote(self, view: TraderView) -> int:
        """max(0, v - 5), or while it punishes min(v, best of the others + 10)."""
        for past in range(self._seen, len(view.quotes)):
            own, others = view.quotes[past], view.own[past]
            if own is not None and others and max(others) > own and past + 1 > self._until:
                # Index `past` is round past + 1, so these are the two rounds after it.
                self._until = past + 3
        self._seen = len(view.quotes)
        if view.round <= self._until and view.own and view.own[-1]:
            return min(view.value, max(view.own[-1]) + points(view, 10))
        return max(0, view.value - points(view, 5))


CONTROLS: tuple[type[Trader], ...] = (LossMaker, Forfeiter, Stubborn, Punisher)
