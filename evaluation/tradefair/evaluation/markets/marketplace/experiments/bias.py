"""Bias by order: whether customers choose by list position or by order of arrival.

One choice per customer and run: the business of the first paid proposal. Its rank is the one that the arm gave it.
Pure; `runs` makes the choices from traces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from tradefair.evaluation.markets.marketplace.experiments.model import CostOfOrder, OrderBias
from tradefair.evaluation.markets.marketplace.experiments.permutation import Block, permutation_test
from tradefair.evaluation.read.arithmetic import mean, ratio, rounded


class Choice(NamedTuple):
    """One customer in one run: the businesses in the order that the arm gave them, and the one chosen, None without.

    `block` is what runs share that differ in their arm only (seed, customer), `worth` u(i,b) of the ranked ones at list
    prices and `utility` U_i, both in currency units.
    """

    block: Hashable
    arm: int
    ranked: tuple[str, ...]
    chosen: str | None
    worth: Mapping[str, float]
    utility: float


def order_bias(choices: Sequence[Choice], *, tested: bool = True) -> OrderBias:
    """Rates by rank, lift, first to last, cost of order and the exact p-value; figures are None without a choice.

    `tested` is false where chance and arms do not cross (the free clock): no p-value. Of several runs with the same
    block and arm the first counts.
    """
    # Reversed twice: a dict keeps the last entry of a key, and the first run is to count.
    kept = list({(choice.block, choice.arm): choice for choice in reversed(choices)}.values())[::-1]
    ranks = max((len(choice.ranked) for choice in kept), default=0)
    # None as a key: choices outside the ranked businesses are `elsewhere`, runs without a choice are not counted.
    counts = Counter(_rank(choice) for choice in kept if choice.chosen is not None)
    chosen = sum(counts.values())
    rates = [ratio(counts[rank], chosen) for rank in range(ranks)]
    blocks: dict[Hashable, list[Choice]] = {}
    for choice in kept:
        # Runs without a known order cannot be permuted.
        if choice.ranked:
            blocks.setdefault(choice.block, []).append(choice)
    # The fullest block is what the design meant; the others are counted as incomplete and tested all the same.
    arms = max(map(len, blocks.values()), default=0)
    test = permutation_test(map(_block, blocks.values())) if tested else None
    return OrderBias(
        ranks=ranks,
        arms=arms,
        runs=len(kept),
        choices=chosen,
        counts=[counts[rank] for rank in range(ranks)],
        elsewhere=counts[None],
        rates=rates,
        lifts=[ratio(counts[rank] * ranks, chosen) for rank in range(ranks)],
        first_to_last=ratio(counts[0], counts[ranks - 1]) if ranks else None,
        hits=sum(_rank(choice) == 0 for choice in kept),
        blocks=len(blocks),
        incomplete=sum(len(block) < arms for block in blocks.values()),
        repeated=len(choices) - len(kept),
        p=None if test is None else float(test.p),
        method=None if test is None else test.method,
        cost_of_order=_cost_of_order(kept),
    )


def _rank(choice: Choice) -> int | None:
    """Rank of the chosen business, from 0; None outside the ranked ones, and without a choice."""
    return choice.ranked.index(choice.chosen) if choice.chosen in choice.ranked else None


def _block(runs: Sequence[Choice]) -> Block:
    return Block(tuple(choice.ranked[0] for choice in runs), tuple(choice.chosen for choice in runs))


def _cost_of_order(choices: Sequence[Choice]) -> CostOfOrder | None:
    """Mean U with the best business ranked first, minus mean U with it last; None where no run has either.

    Runs with two equally good businesses are left out: there the order has no price.

    In currency units per customer and run.
    """
    first: list[float] = []
    last: list[float] = []
    for choice in choices:
        # At list prices: what the order costs is measured on what could be had, not on what was bargained.
        best = max(choice.worth.values(), default=0.0)
        best_ranks = [rank for rank, business in enumerate(choice.ranked) if choice.worth.get(business) == best]
        if len(best_ranks) == 1 and len(choice.ranked) > 1:
            if best_ranks[0] == 0:
                first.append(choice.utility)
            elif best_ranks[0] == len(choice.ranked) - 1:
                last.append(choice.utility)
    best_first, best_last = mean(first), mean(last)
    if best_first is None or best_last is None:
        return None
    return CostOfOrder(
        best_first=best_first, best_last=best_last, cost=rounded(best_first - best_last), runs=len(first) + len(last)
    )
