"""The headline: a ratio of means over seeds, and its interval over blocks of one seed."""

from __future__ import annotations

import pytest

from tradefair.evaluation.headline import Block, Headline, headline_of

HEADLINE = Headline(3, "p", "payoff", "naive", "best", 4, ("naive", "best"))


def figure(*rows: tuple[float, float, float]):
    return headline_of(HEADLINE, {seed: Block(*row) for seed, row in enumerate(rows)})


def test_nought_is_the_naive_reference_and_one_the_best() -> None:
    assert figure((10, 10, 20)).value == 0
    assert figure((20, 10, 20)).value == 1
    assert figure((25, 10, 20), (5, 10, 20)).value == 0.5
    assert figure((30, 10, 20), (0, 0, 30)).value == 0.5


def test_it_is_a_ratio_of_means_so_that_a_seed_with_nothing_between_counts_as_itself() -> None:
    # The mean of ratios is not defined here; (6 + 0) / (10 + 0) is.
    assert figure((6, 0, 10), (5, 5, 5)).value == 0.6
    assert figure((5, 5, 5)).value is None


def test_below_the_least_number_of_seeds_there_is_no_interval() -> None:
    rows = [(6.0, 0.0, 10.0)] * 4
    few, enough = figure(*rows[:3]), figure(*rows)
    assert (few.value, few.low, few.high, few.seeds, few.version) == (0.6, None, None, 3, 3)
    assert (enough.value, enough.low, enough.high) == (0.6, 0.6, 0.6)


def test_the_interval_covers_what_a_normal_bootstrap_would() -> None:
    # Differences 0 and 1 with equal chance, of 100: sd of the mean 0.05, so about 0.5 ± 0.098.
    found = figure(*[(float(n % 2), 0.0, 1.0) for n in range(100)])
    assert found.low == pytest.approx(0.40, abs=0.011)
    assert found.high == pytest.approx(0.60, abs=0.011)
    assert found == figure(*[(float(n % 2), 0.0, 1.0) for n in range(100)])
