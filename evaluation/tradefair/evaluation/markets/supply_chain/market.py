"""Inequality and the state of the whole market by round: pure functions of lists."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.figure import figure
from tradefair.evaluation.markets.supply_chain.play import SupplyPlay
from tradefair.evaluation.markets.supply_chain.seat import variation
from tradefair.evaluation.read.arithmetic import mean, mid_ranks, ratio, rounded
from tradefair.supply_chain.model import RoundFacts

# The "4" of cr4, the share of the four largest.
_LARGEST = 4


class Inequality(NamedTuple):
    """Indices of a distribution over all N seats: 0 is an equal split for the first three, hhi 1/N and cr4 4/N are.

    gini 0 to 1 − 1/N, theil 0 to ln N, cv 0 to sqrt(N − 1); hhi and cr4, 0 to 1, are null where the sum is 0.
    """

    gini: Annotated[float, figure("Gini", "index")]
    """as wealth_gini or revenue_gini, after the round"""
    theil: Annotated[float, figure("Theil", "index")]
    """as wealth_theil or revenue_theil, after the round"""
    cv: Annotated[float, figure("variation", "index")]
    """as wealth_cv or revenue_cv, after the round"""
    hhi: Annotated[float | None, figure("Herfindahl", "index")]
    """as wealth_hhi or revenue_hhi, after the round

    Null: the sum is 0
    """
    cr4: Annotated[float | None, figure("four largest", "share")]
    """as wealth_cr4 or revenue_cr4, after the round

    Null: the sum is 0
    """


def inequality(values: Sequence[float]) -> Inequality:
    """Gini, Theil, CV, Herfindahl and the share of the four largest of amounts that are not below 0."""
    total, count = math.fsum(values), len(values)
    # Nothing to share is an equal split for the first three; the last two would be 0/0.
    if total <= 0:
        return Inequality(0.0, 0.0, 0.0, None, None)
    ordered = sorted(values)
    # Σ_i Σ_j |x_i − x_j| = 2 Σ_k (2k − N − 1) x_(k), k from 1: sorting spares the double sum.
    gini = math.fsum((2 * rank - count - 1) * value for rank, value in enumerate(ordered, 1)) / (count * total)
    relative = [value * count / total for value in values]
    # r·ln r goes to 0 with r, while the logarithm of 0 is an error.
    theil = math.fsum(r * math.log(r) for r in relative if r > 0) / count
    shares = [value / total for value in values]
    return Inequality(
        rounded(gini),
        rounded(theil),
        rounded(variation(values)),
        rounded(math.fsum(share * share for share in shares)),
        rounded(math.fsum(sorted(shares, reverse=True)[:_LARGEST])),
    )


def mobility(before: Mapping[SeatId, float], now: Mapping[SeatId, float]) -> float | None:
    """Mean absolute change of rank from one round to the next, in ranks; null without seats."""
    ranks = zip(mid_ranks([before[seat] for seat in now]), mid_ranks([*now.values()]), strict=True)
    return mean(abs(new - old) for old, new in ranks)


def slogan_convergence(play: SupplyPlay, facts: RoundFacts) -> float | None:
    """Mean pairwise lexical cosine (0 to 1) of the round's standing slogans; null with fewer than two.

    By words, whatever embedder the scenario has, so that scenarios can be compared.
    """
    # A seat that says nothing is left out: silence is like no slogan.
    standing = [own.slogan for own in facts.seats.values() if own.slogan is not None]
    pairs = [play.cosine(first, second) for index, first in enumerate(standing) for second in standing[index + 1 :]]
    return mean(pairs)


def mean_markup(facts: RoundFacts) -> float | None:
    """Σ revenue / Σ cost of goods − 1; null where nothing was sold."""
    revenue = sum(sum(own.revenue) for own in facts.seats.values())
    # Of cost of goods sold, not of spending: unsold stock has earned nothing yet.
    found = ratio(revenue, sum(sum(own.cost_of_goods) for own in facts.seats.values()))
    return None if found is None else rounded(found - 1)
