"""Our statistics and laws against scipy on fixed data, and without it."""

from __future__ import annotations

import math
import subprocess
import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from tests.waiting import LONG

from tradefair.contract import Chance
from tradefair.evaluation.read.arithmetic import mid_ranks, rank_correlation
from tradefair.evaluation.read.laws import normal_below, normal_quantile, scaled_erfc, t_quantile
from tradefair.evaluation.statistics import (
    exchange,
    fisher_p,
    games_needed,
    holm,
    interval,
    kaplan_meier,
    mcnemar_p,
    mean_sd,
    pass_hat_k,
    percentile,
    sign_flip,
)

# They bring no types.
special: Any = import_module("scipy.special")
stats: Any = import_module("scipy.stats")

DIFFERENCES = [12.5, -3.25, 40.0, 8.0, 0.0, 15.5, -7.75, 22.0, 9.0, 31.25, -1.0, 6.5]


def drawn(n: int, shift: float = 0.0) -> list[float]:
    return [value - 0.5 + shift for value in Chance("fixed data").uniforms("values", n=n)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (DIFFERENCES, drawn(12)),
        ([1, 2, 2, 3], [4, 4, 1, 9]),
        ([5.0, 9.0, 5.0, 1.0], [0.0, 0.0, 0.0, 1.0]),
        ([1, 2, 3], [3, 2, 1]),
    ],
)
def test_rank_correlation_is_scipys_spearman_and_equal_values_share_their_rank(
    one: list[float], other: list[float]
) -> None:
    assert mid_ranks(one) == stats.rankdata(one).tolist()
    assert rank_correlation(one, other) == pytest.approx(stats.spearmanr(one, other).statistic, abs=1e-9)
    assert rank_correlation([1.0], [2.0]) is rank_correlation([1.0, 1.0], [1.0, 2.0]) is None


def test_the_interval_is_scipys_paired_t_interval() -> None:
    expected = stats.ttest_1samp(DIFFERENCES, 0.0).confidence_interval(0.95)
    assert interval(DIFFERENCES) == pytest.approx((expected.low, expected.high), rel=1e-9)
    # Two values with deviation √2: the half width is the quantile itself, 12.706 in every table.
    assert interval([-1.0, 1.0]) == (-12.706204736, 12.706204736)
    assert interval([1.0]) is None
    assert interval([2.0, 2.0, 2.0]) == (2.0, 2.0)


@pytest.mark.parametrize(
    "values", [DIFFERENCES, [1.0] * 8, [1.0, -1.0, 1.0], [0.0, 0.0], drawn(16, 0.2), [0.1, 0.2, -0.3]]
)
def test_the_exact_sign_flip_counts_what_scipys_permutation_test_counts(values: list[float]) -> None:
    def mean(sample: np.ndarray, axis: int) -> np.ndarray:
        return np.mean(sample, axis=axis)

    found = sign_flip(values)
    expected = stats.permutation_test(
        (np.array(values),), mean, permutation_type="samples", vectorized=True, n_resamples=np.inf
    )
    # scipy doubles the smaller tail, which is the same as counting |sum| for a symmetric distribution.
    assert found is not None
    assert found.method == "exact"
    assert found.p == pytest.approx(float(expected.pvalue), abs=1e-9)


def test_above_sixteen_pairs_the_draws_are_many_and_always_the_same() -> None:
    values = drawn(60, 0.1)
    found = sign_flip(values)
    assert found is not None
    assert found == sign_flip(values)
    assert found.method == "10,000 draws"
    expected = float(stats.ttest_1samp(values, 0.0).pvalue)
    assert found.p == pytest.approx(expected, abs=0.01)
    assert sign_flip([1.0] * 60) == (round(1 / 10_001, 9), "10,000 draws")
    assert sign_flip([0.0] * 60) == (1.0, "10,000 draws")
    assert sign_flip([]) is None


def test_holm_keeps_the_family_wise_error() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == [0.03, 0.06, 0.06, 0.02]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def test_games_that_tell_grow_with_the_square_of_what_games_differ_by() -> None:
    assert [games_needed(sd, 0.05) for sd in (0.05, 0.1, 0.18)] == [11, 44, 143]
    assert games_needed(0.0, 0.05) == 0


def test_mean_and_deviation_and_percentiles_are_numpys() -> None:
    mean, deviation = mean_sd(DIFFERENCES)
    assert mean == pytest.approx(float(np.mean(DIFFERENCES)))
    assert deviation == pytest.approx(float(np.std(DIFFERENCES, ddof=1)))
    for share in (0.0, 0.1, 0.5, 1.0):
        assert percentile(DIFFERENCES, share) == pytest.approx(float(np.quantile(DIFFERENCES, share)))
    assert mean_sd([]) == (None, None)
    assert mean_sd([4.0]) == (4.0, None)
    assert percentile([], 0.1) is None


def test_groups_without_pairs_are_scipys_permutation_test() -> None:
    here, there = [1.0, 4.0, 2.5, 9.0, 3.0], [0.5, 0.75, 2.0, -1.0]
    # scipy's own two-sided p doubles the smaller tail; the distance from the mean is the same both ways.
    mean = float(np.mean([*here, *there]))

    def distance(group: list[float], _: list[float]) -> float:
        return abs(float(np.mean(group)) - mean)

    found = stats.permutation_test((here, there), distance, alternative="greater")
    assert exchange(here, there) == (round(float(found.pvalue), 9), "exact")
    assert exchange(there, here) == exchange(here, there)
    assert exchange([1.0], []) is None
    assert exchange([2.0, 2.0], [2.0]) == (1, "exact")


@pytest.mark.many
def test_many_values_are_drawn_alike_in_any_order() -> None:
    here, there = [float(value) for value in range(0, 40, 2)], [value + 12.0 for value in range(0, 60, 2)]
    found = exchange(here, there)
    assert found == exchange(here[::-1], there[::-1])
    assert found is not None
    assert found.method == "10,000 draws"
    assert found.p == pytest.approx(stats.ttest_ind(here, there).pvalue, rel=0.2, abs=2e-4)
    few = exchange([1.0] * 10_000, [0.0, 2.0] * 5_000)
    assert few is not None
    assert (few.p, few.method) == (1.0, "1,000 draws")


def test_survival_is_scipys_estimate_with_and_without_censoring() -> None:
    times, ended = [5, 8, 8, 12, 14, 14, 14], [True, True, False, True, False, False, False]
    data = stats.CensoredData.right_censored(times, [not event for event in ended])
    curve = stats.ecdf(data).sf
    steps = kaplan_meier(times, ended)
    assert steps[0] == (0, 1.0)
    assert steps[-1][0] == 14
    for time, share in steps[1:]:
        assert share == pytest.approx(float(curve.evaluate(time)))
    assert kaplan_meier([3, 3], [False, False]) == [(0, 1.0), (3, 1.0)]
    assert kaplan_meier([3, 3], [True, True]) == [(0, 1.0), (3, 0.0)]
    assert kaplan_meier([], []) == [(0, 1.0)]


@pytest.mark.parametrize(("only_a", "only_b"), [(0, 0), (0, 5), (6, 1), (4, 4), (0, 9)])
def test_mcnemars_test_is_scipys_binomial_test(only_a: int, only_b: int) -> None:
    n = only_a + only_b
    expected = float(stats.binomtest(only_a, n).pvalue) if n else 1.0
    assert mcnemar_p(only_a, only_b) == pytest.approx(expected)


@pytest.mark.parametrize(
    "table", [(2, 15, 1, 37), (6, 15, 4, 37), (0, 5, 0, 9), (5, 5, 0, 9), (1, 1, 0, 0), (7, 9, 7, 9)]
)
def test_fishers_test_is_scipys(table: tuple[int, int, int, int]) -> None:
    here, of_here, there, of_there = table
    expected = stats.fisher_exact([[here, of_here - here], [there, of_there - there]]).pvalue
    assert fisher_p(*table) == pytest.approx(float(expected), abs=1e-8)


def test_pass_hat_k_is_the_chance_that_k_drawn_trials_all_succeeded() -> None:
    assert pass_hat_k(3, 4, 1) == 0.75
    assert pass_hat_k(3, 4, 2) == 0.5
    assert pass_hat_k(3, 4, 4) == 0.0
    assert pass_hat_k(4, 4, 4) == 1.0
    assert pass_hat_k(3, 4, 5) is None
    assert pass_hat_k(0, 0, 0) is None


# --- the laws ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 8, 15, 29, 30, 31, 32, 100, 299, 300, 301, 5_000, 1_000_000])
def test_quantiles_of_students_law_are_scipys(df: int) -> None:
    probabilities = [0.001, 0.025, 0.3, 0.6, 0.75, 0.9, 0.95, 0.975, 0.995, 0.999]
    expected = [float(special.stdtrit(df, probability)) for probability in probabilities]
    assert [t_quantile(probability, df) for probability in probabilities] == pytest.approx(expected, rel=1e-12)
    assert t_quantile(0.5, df) == 0.0
    # As far out as it goes the steps still end, where the probability says.
    assert special.stdtr(df, t_quantile(1e-9, df)) == pytest.approx(1e-9, rel=1e-5)


@pytest.mark.parametrize(("probability", "df"), [(0.0, 3), (1.0, 3), (1 - 1e-12, 3), (math.nan, 3), (0.975, 0)])
def test_a_quantile_that_does_not_exist_is_refused(probability: float, df: int) -> None:
    with pytest.raises(ValueError):
        t_quantile(probability, df)


def test_the_normal_law_and_the_scaled_tail_are_scipys() -> None:
    z = np.linspace(-37.0, 8.0, 901)
    assert [normal_below(value) for value in z] == pytest.approx(special.ndtr(z), rel=1e-12, abs=0.0)
    shares = np.linspace(1e-6, 1 - 1e-6, 1_001)
    assert [normal_quantile(share) for share in shares] == pytest.approx(special.ndtri(shares), rel=1e-12, abs=1e-15)
    x = np.concatenate((np.linspace(0.0, 60.0, 6_001), np.array([1e2, 1e6, 1e30, 1e300])))
    assert scaled_erfc(x) == pytest.approx(special.erfcx(x), rel=1e-12, abs=0.0)


def test_intervals_and_ratings_need_no_scipy() -> None:
    code = (
        "import sys; sys.modules['scipy'] = None\n"
        "import numpy as np\n"
        "from tradefair.evaluation.ratings.shuffles import bounds\n"
        "from tradefair.evaluation.ratings.trueskill import hazard\n"
        "from tradefair.evaluation.statistics import interval\n"
        "print(interval([1.0, 2.0]), hazard(np.zeros(1)).round(3), bounds(np.eye(3), 3).shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG, check=False)
    assert (done.stdout.strip(), done.stderr) == ("(-4.853102368, 7.853102368) [0.798] (2, 3)", "")
