"""Logit demand in integers (Anderson, de Palma & Thisse 1992): the same units on every machine.

A weight is 10^18·e^(x/mu), rounded half to even, where x is what an offer is worth beyond buying nothing: that has the
weight 10^18, so that no level of all worths makes weights small and coarse. It is computed with `decimal`, whose `exp`
is correctly rounded, and kept per (x, mu): no float and no library of the system decides how many units are sold.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache

_EXACT = Context(prec=80, rounding=ROUND_HALF_EVEN)
NOTHING = 10**18
"""The weight of buying nothing."""


@lru_cache(maxsize=65_536)
def weight(x: int, mu: int) -> int:
    """10^18·e^(x/mu), rounded half to even; x in minor units, x/mu at most 140."""
    grown = _EXACT.multiply(_EXACT.exp(_EXACT.divide(Decimal(x), Decimal(mu))), Decimal(NOTHING))
    return int(grown.quantize(Decimal(1), context=_EXACT))


def units_sold(
    prices: Sequence[int | None], quality: Sequence[int], mu: int, outside: int, consumers: int
) -> tuple[int, ...]:
    """Units per firm: its share of `consumers`, rounded half up; a closed firm (None) sells 0.

    q_i = (2·M·W_i + D) div (2·D), where D is the sum of the weights of all open firms and of the outside option. By
    rounding the sum may exceed M by at most half a unit per firm.
    """
    weights = [
        0 if price is None else weight(a - price - outside, mu) for price, a in zip(prices, quality, strict=True)
    ]
    total = NOTHING + sum(weights)
    twice, double = 2 * consumers, 2 * total
    # Of a closed firm total // double, which is 0.
    return tuple([(twice * own + total) // double for own in weights])
