"""Traders of shares: makers, fundamentalists, and three that follow prices. One order of one share a step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from tradefair.order_book.seats.desk import Act, Desk
from tradefair.order_book.seats.traders import PASS, between, share


@dataclass
class MarketMaker:
    """Quotes both sides around the middle of the book, shifted by its own position (Ho & Stoll 1981).

    The middle is shifted by a tick per share beyond the endowment; one side stops at the limit.
    """

    width: Annotated[int, Field(ge=1, le=1_000)] = 4
    limit: Annotated[int, Field(ge=1, le=1_000)] = 5
    _endowed: int | None = field(default=None, init=False)

    def act(self, desk: Desk) -> Act:
        """Takes back what has strayed, then posts the side that is missing."""
        if self._endowed is None:
            self._endowed = desk.shares
        held = desk.shares + sum(order.quantity for order in desk.resting if order.side == "sell") - self._endowed
        known = desk.best_bid is not None and desk.best_ask is not None
        middle = ((desk.best_bid or 0) + (desk.best_ask or 0)) / 2 if known else desk.worth
        bid, ask = round(middle - held - self.width / 2), round(middle - held + self.width / 2)
        wanted = {"buy": bid, "sell": ask}
        # What is kept lies nearer than the width, so that the quote of the other side cannot meet it.
        stray = tuple(order.order for order in desk.resting if abs(order.price - wanted[order.side]) >= self.width)
        kept = {order.side for order in desk.resting if order.order not in stray}
        if "buy" not in kept and held < self.limit and 1 <= bid <= desk.cash:
            return Act(bid, "buy", cancel=stray)
        if "sell" not in kept and held > -self.limit and desk.shares and ask >= 1:
            return Act(ask, "sell", cancel=stray)
        return Act(cancel=stray)


class Believer:
    """Takes what is 2 % better than its belief, else quotes up to 6 % beside it, on the side of a fair coin.

    The belief is up to `noise` % off what it is said to be, drawn afresh each step.
    """

    noise = 8

    def believed(self, desk: Desk) -> float:
        """What a share is worth to it now, before its noise."""
        raise NotImplementedError

    def act(self, desk: Desk) -> Act:
        """One share."""
        e = self.believed(desk) * (
            1 + between(desk, -self.noise / 100, self.noise / 100, "belief", desk.period, desk.step)
        )
        ask, bid = desk.best_ask, desk.best_bid
        if ask is not None and ask < 0.98 * e and desk.cash >= ask:
            return share(desk, "buy", ask)
        if bid is not None and bid > 1.02 * e and desk.shares:
            return share(desk, "sell", bid)
        off = 0.04 * (0.3 + 1.2 * desk.draw.uniform("off", desk.period, desk.step))
        if desk.draw.uniform("side", desk.period, desk.step) < 0.5:
            price = max(1, round(e * (1 - off)))
            return share(desk, "buy", price) if desk.cash >= price else PASS
        return share(desk, "sell", max(1, round(e * (1 + off))))


@dataclass
class Fundamentalist(Believer):
    """Believes the fundamental value, `noise` % more or less."""

    noise: Annotated[int, Field(ge=0, le=50)] = 8

    def believed(self, desk: Desk) -> float:
        """FV."""
        return desk.worth


class TrendFollower(Believer):
    """Expects last period's mean price and k times its last change, k = U(.5, 1) (De Long et al. 1990)."""

    def believed(self, desk: Desk) -> float:
        """FV·U(.5, .9) in period 1."""
        known = [mean for mean in desk.means if mean is not None]
        if not known:
            return desk.worth * between(desk, 0.5, 0.9, "first")
        change = known[-1] - known[-2] if len(known) > 1 else 0.0
        return max(1.0, known[-1] + between(desk, 0.5, 1.0, "k") * change)


class Momentum(Believer):
    """Expects the mean of the last five trades and five times their slope."""

    def believed(self, desk: Desk) -> float:
        """FV before two trades."""
        last = desk.trades[-5:]
        if len(last) < 2:
            return desk.worth
        middle = (len(last) - 1) / 2
        spread = sum((at - middle) ** 2 for at in range(len(last)))
        slope = sum((at - middle) * price for at, price in enumerate(last)) / spread
        return max(1.0, sum(last) / len(last) + 5 * slope)


class Hold:
    """Never trades."""

    def act(self, desk: Desk) -> Act:
        """Passes."""
        return PASS
