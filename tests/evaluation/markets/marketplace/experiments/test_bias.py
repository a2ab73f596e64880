"""Rates, lifts and costs of order over made choices, by hand."""

from __future__ import annotations

from itertools import permutations

import pytest

from tradefair.evaluation.markets.marketplace.experiments.bias import Choice, order_bias

THREE = ("a", "b", "c")
ORDERS = tuple(permutations(THREE))
GRADED = {"a": 1.0, "b": 1.1, "c": 1.2}


def _runs(choose: str, block: int = 1, worth: dict[str, float] | None = None) -> list[Choice]:
    """Six arms; `choose` is "first", "last", "nobody" or a business."""
    worths = worth or dict.fromkeys(THREE, 1.0)
    runs: list[Choice] = []
    for arm, ranked in enumerate(ORDERS):
        chosen = {"first": ranked[0], "last": ranked[-1], "nobody": None}.get(choose, choose)
        runs.append(Choice(block, arm, ranked, chosen, worths, worths.get(chosen or "", 0.0)))
    return runs


def test_who_takes_the_first_is_recovered_with_lift_three() -> None:
    found = order_bias([*_runs("first"), *_runs("first", 2)])
    assert (found.counts, found.rates, found.lifts) == ([12, 0, 0], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0])
    assert (found.first_to_last, found.hits, found.blocks, found.arms) == (None, 12, 2, 6)
    assert found.p == pytest.approx(1 / 8_100, rel=1e-12)


def test_who_takes_the_same_has_every_rank_equally_often() -> None:
    found = order_bias(_runs("a"))
    assert found.rates == pytest.approx([1 / 3] * 3, abs=1e-9)
    assert found.lifts == [1.0, 1.0, 1.0]  # of the counts, not of rates that are rounded
    assert (found.first_to_last, found.p, found.hits) == (1.0, 1.0, 2)


def test_runs_without_a_choice_count_as_runs_and_not_as_choices() -> None:
    nobody = order_bias(_runs("nobody"))
    assert (nobody.runs, nobody.choices, nobody.rates, nobody.lifts) == (6, 0, [None] * 3, [None] * 3)
    assert (nobody.first_to_last, nobody.p) == (None, 1.0)
    half = order_bias([*_runs("nobody"), *_runs("first", 2)])
    assert (half.rates, half.choices, half.runs) == ([1.0, 0.0, 0.0], 6, 12)
    # The silent block has one value only, and leaves the other block's p as it is.
    assert half.p == pytest.approx(1 / 90)


def test_a_choice_outside_the_ranked_is_counted_beside_them() -> None:
    found = order_bias(_runs("z"))
    assert (found.choices, found.counts, found.elsewhere, found.hits) == (6, [0, 0, 0], 6, 0)
    assert found.rates == [0.0, 0.0, 0.0]


def test_order_costs_what_the_best_offer_earns_less_when_it_comes_last() -> None:
    cost = order_bias(_runs("first", worth=GRADED)).cost_of_order
    # c is best and first in two arms (1.2 each), last in two (a and b are taken: 1.0 and 1.1).
    assert cost is not None
    assert (cost.best_first, cost.best_last, cost.cost, cost.runs) == (1.2, 1.05, 0.15, 4)
    patient = order_bias(_runs("c", worth=GRADED)).cost_of_order
    assert patient is not None
    assert patient.cost == 0
    assert order_bias(_runs("first")).cost_of_order is None


def test_missing_arms_and_repeated_ones_are_said() -> None:
    found = order_bias([*_runs("first"), *_runs("first", 2)[:4], *_runs("first")[:1]])
    assert (found.blocks, found.incomplete, found.repeated, found.runs) == (2, 1, 1, 10)
    # a, a, b, b first: 4 hits in 2!·2! of 4! ways.
    assert found.p == pytest.approx(1 / 90 / 6)


def test_nothing_is_nothing() -> None:
    found = order_bias([])
    assert (found.runs, found.p, found.first_to_last, found.rates) == (0, None, None, [])
    assert order_bias(_runs("first"), tested=False).p is None
