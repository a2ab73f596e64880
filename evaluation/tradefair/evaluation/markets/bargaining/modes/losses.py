"""loss_making_quote and loss_making_trade: offering, and taking, less than the own limit (one family)."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.markets.bargaining.modes.play import Side
from tradefair.evaluation.markets.bargaining.modes.verdict import Trouble, Verdict


def detect_quotes(side: Side, limits: Mapping[str, float]) -> Verdict:
    """Quotes through the own limit, at their worst case; `risky` are those of rounds that still earned something."""
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
    """Trades that cost the seat money."""
    traded = [closed for closed in side.rounds if closed.traded]
    troubles = [
        Trouble(
            closed.number,
            closed.number,
            float(-closed.profits[side.seat]),
            tuple(side.proof(closed.number)),
            f"round {closed.number}: traded at {closed.price}, limit {side.limit}",
        )
        for closed in traded
        if -closed.profits[side.seat] >= limits["ticks"]
    ]
    return Verdict(troubles, len(traded))
