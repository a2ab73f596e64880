"""Who got how much of what trade could bring, above private floors. Pure, exact.

Shares count every fitting trade, efficiency a customer's value once: a second fitting purchase is a bargain for its
seller and no gain for the market.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple


class Trade(NamedTuple):
    """A paid and not refunded proposal, in cents: V of its customer, what was paid, and floor(order) of its lines.

    `customer` is an index.
    """

    customer: int
    value: int
    price: int
    floor: int
    fits: bool

    @property
    def room(self) -> int:
        """V − floor of a trade that fits, in cents: what its two sides had to share; may be negative."""
        return self.value - self.floor


class Bargains(NamedTuple):
    """Shares of V − floor over the fitting trades that had something to share, as ratios of sums; surpluses in cents.

    `shared` counts those trades. `surplus` is Σ (V·F − floor) with V once per customer, `efficiency` that over the
    first best. Ratios are None where the denominator is not positive.
    """

    shared: int
    buyer_share: Fraction | None
    seller_share: Fraction | None
    seller_surplus: int
    surplus: int
    efficiency: Fraction | None


def bargains(trades: Sequence[Trade], first_best: int) -> Bargains:
    """The bargains of an episode; `first_best` is Σ_i max(0, max_b G(i,b)) in cents."""
    # Without room a share of it has no meaning; such a trade was a mistake of one side.
    shared = [trade for trade in trades if trade.fits and trade.room > 0]
    # Ratios of sums: a mean of shares would count a trade about cents like one about hundreds.
    room = sum(trade.room for trade in shared)
    # By customer: V counts once, however many fitting offers it paid.
    served = {trade.customer: trade.value for trade in trades if trade.fits}
    # Floors of all trades, values of the served: what a misfit cost its seller is lost to the market.
    surplus = sum(served.values()) - sum(trade.floor for trade in trades)
    return Bargains(
        shared=len(shared),
        buyer_share=_share(sum(trade.value - trade.price for trade in shared), room),
        seller_share=_share(sum(trade.price - trade.floor for trade in shared), room),
        seller_surplus=sum(trade.price - trade.floor for trade in trades),
        surplus=surplus,
        efficiency=_share(surplus, first_best),
    )


def _share(part: int, whole: int) -> Fraction | None:
    return Fraction(part, whole) if whole > 0 else None
