"""loss_making_quote and loss_making_trade: offering, and taking, less than the seat's limit (one family).

In ticks, for both roles: s = 1 for the buyer and -1 for the seller, L the seat's limit. A price p earns s(L - p), so
that a price "through the limit" is one that earns less than 0. `limits["ticks"]` is the smallest loss that counts.
"""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.markets.bargaining.modes.play import Side
from tradefair.evaluation.markets.bargaining.modes.verdict import Trouble, Verdict


def detect_quotes(side: Side, limits: Mapping[str, float]) -> Verdict:
    """Quotes through the seat's limit, out of all its quotes; a forfeited round has none.

    A case costs its worst outcome, a trade at the quote itself: the rule splits the difference, so that the trade may
    have been better, and `detect_trades` counts what was really lost. Part `risky`: cases in rounds that still earned
    something, so that their harm does not show in any profit.
    """
    quoted = [(closed, quote) for closed in side.rounds if (quote := closed.quotes[side.seat]) is not None]
    troubles: list[Trouble] = []
    risky = 0
    for closed, quote in quoted:
        through = -side.slack(quote)
        if through < limits["ticks"]:
            continue
        risky += closed.profits[side.seat] > 0
        words = f"round {closed.number}: quoted {quote}, limit {side.limit}"
        troubles.append(Trouble(closed.number, closed.number, float(through), tuple(side.proof(closed.number)), words))
    return Verdict(troubles, len(quoted), {"risky": risky})


def detect_trades(side: Side, limits: Mapping[str, float]) -> Verdict:
    """Trades that cost the seat money, out of all trades; a case costs what it lost.

    The seat's quote was through its limit in each of them: a price lies between both quotes. The two modes are kept
    apart because a quote can be judged alone, while a trade needs a counterpart that takes it.
    """
    traded = [closed for closed in side.rounds if closed.traded]
    troubles = [
        Trouble(
            closed.number,
            closed.number,
            float(-closed.profits[side.seat]),
            # The quote comes first: it is the cause, the closure only shows what came of it.
            tuple(side.proof(closed.number)),
            f"round {closed.number}: traded at {closed.price}, limit {side.limit}",
        )
        for closed in traded
        if -closed.profits[side.seat] >= limits["ticks"]
    ]
    return Verdict(troubles, len(traded))
