"""loss_making_quote and loss_making_trade: offering, and taking, less than the seat's limit (one family).

In ticks, for both roles: s = 1 for the buyer and -1 for the seller, L the seat's limit. A price p earns s(L - p), so
that a price "through the limit" is one that earns less than 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tradefair.evaluation.markets.bargaining.modes.play import Round, Side, is_bid
from tradefair.evaluation.modes.diagnosis import Case, CaseRecord, Seen


def detect_quotes(side: Side) -> Seen:
    """Quotes through the seat's limit, out of all its quotes; a forfeited round has none.

    A case costs what its round lost. Part `risky`: cases in rounds that still earned something, so that their harm
    does not show in any profit.
    """
    quoted = [(closed, quote) for closed in side.rounds if (quote := closed.quotes[side.seat]) is not None]
    through = [(closed, quote) for closed, quote in quoted if side.slack(quote) < 0]
    risky = sum(closed.profits[side.seat] > 0 for closed, _ in through)
    # Without a trade it cost nothing: the risk was taken all the same.
    cases = [_case(side, closed, max(0, -closed.profits[side.seat])) for closed, _ in through]
    return Seen(cases, len(quoted), {"risky": risky})


def detect_trades(side: Side) -> Seen:
    """Trades that cost the seat money, out of all trades; a case costs what it lost.

    The seat's quote was through its limit in each of them: a price lies between both quotes. The two modes are kept
    apart because a quote can be judged alone, while a trade needs a counterpart that takes it.
    """
    traded = [closed for closed in side.rounds if closed.traded]
    lost = [closed for closed in traded if closed.profits[side.seat] < 0]
    return Seen([_case(side, closed, -closed.profits[side.seat]) for closed in lost], len(traded))


def at_limit(case: CaseRecord, arguments: Mapping[str, Any], facts: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The call with the seat's own limit for its price; left out where the closure does not tell the limit."""
    if facts is None:
        return None
    opening = facts["opening"]
    return {**arguments, "price": opening["buyer_value"] if is_bid(case) else opening["seller_cost"]}


def _case(side: Side, closed: Round, lost: int) -> Case:
    end = "no trade" if closed.price is None else f"traded at {closed.price}" + (f" and lost {lost}" if lost else "")
    said = f"{side.named(closed.quotes[side.seat])} with a {side.word('limit')} of {side.limit}, {end}"
    return side.case(closed, said, float(lost))
