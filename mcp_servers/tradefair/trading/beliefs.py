"""Formulas of adaptive traders that markets share: the margin of ZIP and the belief of Gjerstad & Dickhaut. Pure.

Everything is in buyer terms: a higher bid trades more easily.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple


class Margin(NamedTuple):
    """A profit margin of -1 to 0 (the bid is value·(1 + margin)), and the memory of its last change in price."""

    margin: float
    momentum: float


def moved(value: int, before: Margin, target: float, rate: float, inertia: float) -> Margin:
    """The margin after one step of the Widrow-Hoff rule with momentum towards a target price (Cliff 1997).

    `rate` is beta, `inertia` gamma; `value` is at least 1.
    """
    price = value * (1.0 + before.margin)
    momentum = inertia * before.momentum + (1.0 - inertia) * (rate * (target - price))
    # At most 0: a buyer with a positive margin would bid through its value.
    return Margin(min(0.0, max(-1.0, (price + momentum) / value - 1.0)), momentum)


def beliefs(supporting: Sequence[float], opposing: Sequence[float]) -> list[float | None]:
    """f(0..P) = (TB + A)/(TB + A + RB) (Gjerstad & Dickhaut 1998); None for 0/0.

    `supporting[price]` counts bids that traded and asks, `opposing[price]` bids that did not. What stands at or below
    a bid speaks for its trade, what failed at or above it speaks against it.
    """
    # Sums from below and from above: linear, where counting at each price would be quadratic.
    against = list(accumulate(reversed(opposing)))[::-1]
    return [
        support / total if (total := support + oppose) else None
        for support, oppose in zip(accumulate(supporting), against, strict=True)
    ]
