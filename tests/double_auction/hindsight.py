"""What a price would have earned in a settled round, looked up price by price: the oracle of `regret`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from tradefair.double_auction.analysis import PlayedRound, flip
from tradefair.double_auction.model import Role


def payoff(played: PlayedRound, seat: str, role: Role, value: int, price: int, price_max: int = 100) -> float:
    """In buyer terms, rivals and quote order as they were, the coin replaced by its mean (9.3)."""
    own, opposite = (played.bids, played.asks) if role == "buyer" else (played.asks, played.bids)
    place = played.quote_order.index
    rivals = {other: flip(asked, price_max, role) for other, asked in own.items() if other != seat}
    earlier = sorted(asked for other, asked in rivals.items() if place(other) < place(seat))
    later = sorted(asked for other, asked in rivals.items() if place(other) > place(seat))
    met = sorted(flip(asked, price_max, role) for asked in opposite.values())
    # Rivals that come first: better ones, and equal ones with an earlier place in the quote order.
    rank = len(earlier) - bisect_left(earlier, price) + len(later) - bisect_right(later, price)
    if rank >= len(met) or price < met[rank]:
        return 0.0
    return value - (price + met[rank]) / 2
