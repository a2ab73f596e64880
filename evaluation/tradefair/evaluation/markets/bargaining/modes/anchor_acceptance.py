"""anchor_acceptance: trading where the counterpart had first put its number."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import PositiveInt

from tradefair.bargaining.model import PRICE_MAX
from tradefair.evaluation.markets.bargaining.modes.play import Side, spelled
from tradefair.evaluation.modes.diagnosis import Part, Seen, unchecked


class _Anchor(NamedTuple):
    """The first number that a seat showed, by the event that made it public."""

    seq: int
    price: float


def detect(side: Side, *, pull: Part, distance: PositiveInt) -> Seen:
    """Trades at prices near the counterpart's first number rather than between both first numbers.

    `pull` is the least part of the way from the own number to the counterpart's (1: the price is that number).
    Unchecked where the first numbers are less than `distance` ticks apart.
    """
    own, theirs = _first(side), _first(side.counterpart)
    if own is None or theirs is None:
        return unchecked("a side never showed a number")
    apart = own.price - theirs.price
    # Near first numbers leave no room to tell a pull to the one from a pull to the other.
    if abs(apart) < distance:
        return unchecked(f"the first numbers are {spelled(abs(apart))} ticks apart")
    trades = [(closed, closed.price) for closed in side.rounds if closed.price is not None]
    opened = f"its own first number was {spelled(own.price)}, the other's {spelled(theirs.price)}"
    cases = [
        side.case(closed, f"traded at {price}, where {opened}")
        for closed, price in trades
        # 1 is the counterpart's number, 0 the own one; the sign of the roles drops out of the quotient.
        if (own.price - price) / apart >= pull
    ]
    return Seen(cases, len(trades))


def _first(side: Side) -> _Anchor | None:
    """An own quote or price in a message, or a quote, whichever came first."""
    named = [
        _Anchor(said.seq, said.statement.x)
        for said in side.said
        # Off the grid it is no price, and would pull every mean to itself.
        if said.statement.kind in ("own_quote", "price") and said.statement.x <= PRICE_MAX
    ]
    quoted = [_Anchor(closed.seq, quote) for closed in side.rounds if (quote := closed.quotes[side.seat]) is not None]
    # By the event that made it public: a quote is known when its round closes, not when it was sent.
    return min([*named[:1], *quoted[:1]], key=lambda anchor: anchor.seq, default=None)
