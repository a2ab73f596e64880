"""anchor_acceptance: trading, in the end, where the counterpart had first put its number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from tradefair.bargaining.model import PRICE_MAX
from tradefair.evaluation.markets.bargaining.modes.play import Side
from tradefair.evaluation.markets.bargaining.modes.verdict import Trouble, Verdict, spelled


class _Anchor(NamedTuple):
    """The first number that a seat showed, by the event that made it public."""

    seq: int
    price: float


def detect(side: Side, limits: Mapping[str, float]) -> Verdict:
    """Whether late prices lie near the counterpart's first number rather than between both first numbers.

    One game is one case. Unchecked where the first numbers are near each other or few late rounds traded.
    """
    own, theirs = _first(side), _first(side.counterpart)
    # The last ⌈R/2⌉ of the closed rounds (10.2). Without the test `[-0:]` would be the whole list.
    half = side.rounds[-math.ceil(len(side.rounds) / 2) :] if side.rounds else []
    trades = [closed for closed in half if closed.price is not None]
    if own is None or theirs is None:
        return Verdict((), 0, unchecked="a side never showed a number")
    apart = abs(own.price - theirs.price)
    # Near first numbers leave no room to tell a pull to the one from a pull to the other.
    if apart < limits["distance"]:
        return Verdict((), 0, unchecked=f"the first numbers are {spelled(apart)} ticks apart")
    if len(trades) < limits["trades"]:
        return Verdict((), 0, unchecked=f"{len(trades)} trades in the second half of the game")
    mean = sum(closed.price or 0 for closed in trades) / len(trades)
    # 1 is the counterpart's number, 0 the own one; the sign of the roles drops out of the quotient.
    pull = (own.price - mean) / (own.price - theirs.price)
    if pull < limits["pull"]:
        return Verdict((), 1)
    cost = abs(mean - (own.price + theirs.price) / 2) * len(trades)
    late = f"traded late at {mean:.2f} on average, pull {pull:.2f}"
    words = f"opened at {spelled(own.price)} against {spelled(theirs.price)}, {late}"
    first, last = trades[0].number, trades[-1].number
    proof = (theirs.seq, own.seq, *(closed.seq for closed in trades))
    return Verdict([Trouble(first, last, cost, proof, words)], 1)


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
