"""Prices below cost, none at all, out of the market, far above a rival.

No mode is called "did not cooperate": a firm that competes is never wrong for it.
"""

from __future__ import annotations

from tradefair.contract.money import cents_text
from tradefair.evaluation.markets.pricing.modes.play import Firm
from tradefair.evaluation.modes.diagnosis import Part, Seen


def below_cost(firm: Firm) -> Seen:
    """Rounds that sold units below their cost; for the general mode."""
    cases = [
        firm.case(at, f"sold {units:,} at {cents_text(price)} with a unit cost of {cents_text(cost)}")
        for at, price in enumerate(firm.prices)
        if price is not None and price < (cost := firm.costs[at]) and (units := firm.units[at]) > 0
    ]
    return Seen(cases, len(firm.periods))


def closed_round(firm: Firm) -> Seen:
    """Rounds without a price."""
    cases = [firm.silent(at, firm.posted(at)) for at, price in enumerate(firm.prices) if price is None]
    return Seen(cases, len(firm.periods))


def priced_out(firm: Firm, *, share: Part) -> Seen:
    """Rounds that sold less than `share` of what the best price would have sold."""
    cases = [
        firm.case(at, f"{firm.posted(at)}: {firm.units[at]:,} sold; {firm.reply(at)}")
        for at, price in enumerate(firm.prices)
        if price is not None and firm.units[at] < share * firm.best[at].units
    ]
    return Seen(cases, len(firm.periods))


def undercut_endured(firm: Firm, *, lower: Part, share: Part) -> Seen:
    """Rounds with a rival that is `lower` by at least this share, which earned less than `share` of the best."""
    cases = [
        firm.case(at, f"{firm.posted(at)}; {firm.reply(at)}")
        for at, price in enumerate(firm.prices)
        if price is not None
        and any(rival <= (1 - lower) * price for rival in firm.rivals(at))
        and firm.profits[at] < share * firm.best[at].profit
    ]
    return Seen(cases, len(firm.periods))
