"""loss_making_quote: offering less than the seat's limit, in ticks.

A price p earns the seat s(L - p), for both roles: s = 1 for the buyer and -1 for the seller, L the seat's limit.
"""

from __future__ import annotations

from tradefair.evaluation.markets.bargaining.modes.play import Side
from tradefair.evaluation.modes.diagnosis import Seen


def detect_quotes(side: Side) -> Seen:
    """Quotes q through the seat's limit, s(L - q) < 0, out of all its quotes; a forfeited round has none."""
    quoted = [(closed, quote) for closed in side.rounds if (quote := closed.quotes[side.seat]) is not None]
    cases = [
        side.case(closed, f"{side.named(quote)} with a {side.word('limit')} of {side.limit}, {closed.ended}")
        for closed, quote in quoted
        # Without a trade the risk was taken all the same.
        if side.slack(quote) < 0
    ]
    return Seen(cases, len(quoted))
