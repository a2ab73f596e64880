"""Bias by order: whether customers choose by list position or by order of arrival (marketplace page, 9, "Bias").

One choice per customer and run: the business of the first paid proposal. Its rank is the one that the arm gave it.
Pure; `reading` makes the choices from traces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from tradefair.evaluation.arithmetic import mean, ratio, rounded
from tradefair.evaluation.markets.marketplace.experiments.model import CostOfOrder, OrderBias
from tradefair.evaluation.markets.marketplace.experiments.permutation import Block, permutation_test


class Choice(NamedTuple):
    """One customer in one run: the businesses in the order that the arm gave them, and the one chosen; null: none.

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
    """Rates by rank, lift, first to last, cost of order and the exact p-value; null figures without a choice.

    `tested` is false where chance and arms do not cross (the free clock): no p-value. Of several runs with one block
    and arm the first counts.
    """
    kept = list({(one.block, one.arm): one for one in reversed(choices)}.values())[::-1]
    ranks = max((len(one.ranked) for one in kept), default=0)
    counts = Counter(_rank(one) for one in kept if one.chosen is not None)
    chosen = sum(counts.values())
    rates = [ratio(counts[rank], chosen) for rank in range(ranks)]
    blocks: dict[Hashable, list[Choice]] = {}
    for one in kept:
        if one.ranked:
            blocks.setdefault(one.block, []).append(one)
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
        hits=sum(_rank(one) == 0 for one in kept),
        blocks=len(blocks),
        incomplete=sum(len(block) < arms for block in blocks.values()),
        repeated=len(choices) - len(kept),
        p=None if test is None else float(test.p),
        method=None if test is None else test.method,
        cost_of_order=_cost_of_order(kept),
    )


def _rank(one: Choice) -> int | None:
    """Rank of the chosen business from 0 on; null outside the ranked ones, and without a choice."""
    return one.ranked.index(one.chosen) if one.chosen in one.ranked else None


def _block(runs: Sequence[Choice]) -> Block:
    return Block(tuple(one.ranked[0] for one in runs), tuple(one.chosen for one in runs))


def _cost_of_order(choices: Sequence[Choice]) -> CostOfOrder | None:
    """Mean U with the one best business ranked first, minus mean U with it last; null where two are equally good."""
    first: list[float] = []
    last: list[float] = []
    for one in choices:
        best = max(one.worth.values(), default=0.0)
        places = [place for place, business in enumerate(one.ranked) if one.worth.get(business) == best]
        if len(places) == 1 and len(one.ranked) > 1:
            if places[0] == 0:
                first.append(one.utility)
            elif places[0] == len(one.ranked) - 1:
                last.append(one.utility)
    best_first, best_last = mean(first), mean(last)
    if best_first is None or best_last is None:
        return None
    return CostOfOrder(
        best_first=best_first, best_last=best_last, cost=rounded(best_first - best_last), runs=len(first) + len(last)
    )
