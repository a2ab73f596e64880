"""Prices that earned too little: below cost, none at all, out of the market, above a rival, away from the best.

No mode is called "did not cooperate": a firm that competes is never wrong for it.
"""

from __future__ import annotations

from tradefair.evaluation.markets.pricing.modes.play import Firm
from tradefair.evaluation.modes.diagnosis import Case, Record, Seen


class Share(Record):
    """A part of what the best price would have sold or earned."""

    share: float


def below_cost(firm: Firm) -> Seen:
    """Rounds that sold units below their cost; for the general mode."""
    cases: list[Case] = []
    for at, period in enumerate(firm.periods):
        price, cost, units = firm.prices[at], period.costs[firm.place], period.units[firm.place]
        if price is not None and price < cost and units > 0:
            lost = units * (cost - price)
            cases.append(
                firm.case(at, f"sold {units:,} at {price} with a unit cost of {cost}, a loss of {lost:,}", float(lost))
            )
    return Seen(cases, len(firm.periods))


def closed_round(firm: Firm) -> Seen:
    """Rounds without a price."""
    cases = [
        firm.case(
            at,
            f"closed; {firm.best[at].price} would have earned {firm.best[at].profit:,}",
            firm.missed(at),
            seq=period.acted.get(firm.seat, period.seq),
        )
        for at, period in enumerate(firm.periods)
        if firm.prices[at] is None
    ]
    return Seen(cases, len(firm.periods))


def priced_out(firm: Firm, params: Share) -> Seen:
    """Rounds that sold hardly anything of what the best price would have sold."""
    cases = [
        firm.case(at, f"{firm.posted(at)}: {units:,} sold; {firm.would(at)}", firm.missed(at))
        for at, period in enumerate(firm.periods)
        if firm.prices[at] is not None and (units := period.units[firm.place]) < params.share * firm.best[at].units
    ]
    return Seen(cases, len(firm.periods))


class Missed(Record):
    """`share` of the best profit, and the own gain from which high prices excuse it."""

    share: float
    gain: float


def missed_profit(firm: Firm, params: Missed) -> Seen:
    """Rounds from 2 on that earned too little of the best; none where high prices on both sides pay the firm more."""
    cases: list[Case] = []
    for at in range(1, len(firm.periods)):
        if firm.profits[at] >= params.share * firm.best[at].profit:
            continue
        rivals, gain = firm.rivals(at), firm.gains[at]
        nash = [price for place, price in enumerate(firm.game.nash[at]) if place != firm.place]
        high = bool(rivals) and sum(rivals) / len(rivals) >= sum(nash) / len(nash)
        if not (high and gain is not None and gain > params.gain):
            cases.append(firm.case(at, f"{firm.posted(at)}; {firm.would(at)}", firm.missed(at)))
    return Seen(cases, max(0, len(firm.periods) - 1))


class Endured(Record):
    """How much lower a rival is, and the share of the best profit that is left."""

    lower: float
    share: float


def undercut_endured(firm: Firm, params: Endured) -> Seen:
    """Rounds far above a rival that earn too little of the best."""
    cases: list[Case] = []
    for at in range(len(firm.periods)):
        price, rivals = firm.prices[at], firm.rivals(at)
        if price is None or not rivals or min(rivals) > (1 - params.lower) * price:
            continue
        if firm.profits[at] < params.share * firm.best[at].profit:
            cases.append(firm.case(at, f"{firm.posted(at)}; {firm.would(at)}", firm.missed(at)))
    return Seen(cases, len(firm.periods))
