from __future__ import annotations

import math
from datetime import date
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tradefair.retail.engine.demand import (
    attraction,
    binomial_inverse,
    category_mass,
    customers,
    return_probability,
    review_curve,
    season_week,
    star,
    star_shares,
)

binom: Any = stats.binom  # scipy brings no types
_UNIT = st.floats(min_value=1e-9, max_value=1 - 1e-9)


def test_the_review_curve_is_the_published_least_squares_fit() -> None:
    curve = review_curve(0.70, 4.0)
    assert curve == pytest.approx((3.2942e-3, -8.0556e-3, -4.0144e-3, 1.59996e-2, -4.6274e-3), rel=1e-4)
    assert [round(curve.at(rating), 4) for rating in (2.5, 3.5, 4.3, 4.8)] == [0.0131, 0.1511, 0.4757, 0.8375]


@given(st.floats(0.3, 0.8), st.sampled_from([3.5, 4.0, 4.5]))
def test_no_other_polynomial_of_degree_four_is_nearer_to_the_review_function(lift: float, threshold: float) -> None:
    curve = review_curve(lift, threshold)
    points = [step / 100 for step in range(501)]
    wanted = [0.04 * max(r - 2, 0) + 0.20 * max(r - 3, 0) + (lift - 0.24) * max(r - threshold, 0) for r in points]
    for power in range(5):
        residual = math.fsum((value - curve.at(r)) * r**power for r, value in zip(points, wanted, strict=True))
        assert residual == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize(
    ("quality", "probability"),
    [(1000, 0.300), (1800, 0.1667), (2000, 0.150), (3000, 0.100), (4000, 0.050), (4500, 0.0265), (4750, 0.020)],
)
def test_return_probabilities_are_the_published_ones(quality: int, probability: float) -> None:
    assert round(return_probability(quality), 4) == probability


@given(st.integers(0, 6000))
def test_return_probabilities_lie_in_their_bounds_and_never_rise_with_quality(quality: int) -> None:
    assert 0.02 <= return_probability(quality) <= 0.30
    assert return_probability(quality + 1) <= return_probability(quality)


def test_star_shares_are_the_published_ones() -> None:
    assert [round(share, 4) for share in star_shares(2000)] == [0.5993, 0.1428, 0.0529, 0.0687, 0.1363]
    assert [round(share, 4) for share in star_shares(4500)] == [0.0491, 0.0335, 0.0355, 0.1320, 0.7499]


@settings(max_examples=200)
@given(st.integers(1010, 4990))
def test_star_shares_sum_to_one_and_have_the_quality_as_mean(quality: int) -> None:
    shares = star_shares(quality)
    assert math.fsum(shares) == pytest.approx(1, abs=1e-11)
    assert math.fsum(share * (place + 1) for place, share in enumerate(shares)) == pytest.approx(
        quality / 1000, abs=1e-3
    )


@given(st.floats(0, 1, exclude_min=True, exclude_max=True), st.integers(1000, 5000))
def test_a_star_is_the_inverse_of_the_cumulative_shares(u: float, quality: int) -> None:
    stars = star(u, quality)
    shares = star_shares(quality)
    assert 1 <= stars <= 5
    assert u <= math.fsum(shares[:stars]) + 1e-9
    assert math.fsum(shares[: stars - 1]) <= u + 1e-9


@settings(max_examples=300, deadline=None)
@given(_UNIT, st.integers(0, 60_000), st.one_of(st.floats(0, 1), st.floats(0, 0.01)))
def test_binomial_draws_are_those_of_the_exact_quantile(u: float, n: int, p: float) -> None:
    drawn = binomial_inverse(u, n, p)
    exact = int(binom.ppf(u, n, round(p, 12))) if n and 0 < round(p, 12) < 1 else n * (round(p, 12) >= 1)
    assert drawn == exact or abs(float(binom.cdf(min(drawn, exact), n, round(p, 12))) - u) < 1e-9


@given(st.integers(1, 12), st.integers(1, 99), st.integers(1, 9999))
def test_small_binomials_are_inverted_exactly(n: int, percent: int, tenthousandth: int) -> None:
    u, p = Fraction(tenthousandth, 10_000), Fraction(percent, 100)
    total, k = (1 - p) ** n, 0
    while total < u:
        k += 1
        total += math.comb(n, k) * p**k * (1 - p) ** (n - k)
    if abs(total - u) > Fraction(1, 10**12):
        assert binomial_inverse(float(u), n, float(p)) == k


@given(_UNIT, _UNIT, st.integers(0, 30_000), st.floats(0, 1))
def test_binomial_draws_never_fall_when_the_uniform_rises(u: float, v: float, n: int, p: float) -> None:
    low, high = sorted((u, v))
    assert 0 <= binomial_inverse(low, n, p) <= binomial_inverse(high, n, p) <= n


def test_huge_binomials_neither_underflow_nor_lose_their_mean() -> None:
    assert binomial_inverse(0.5, 20_000_000, 0.5) == 10_000_000
    assert binomial_inverse(0.5, 20_000_000, 1e-4) == 2000
    assert binomial_inverse(0.5, 1000, 1 - 1e-13) == 1000
    assert binomial_inverse(0.5, 1000, 1e-13) == 0
    assert binomial_inverse(1 - 2**-53, 28_000, 0.003) < 200


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=6), st.floats(1e-9, 1e9), st.floats(1, 20))
def test_a_sibling_never_lowers_the_mass_of_its_category(values: list[float], sibling: float, rho: float) -> None:
    mass = category_mass(values, rho)
    assert category_mass([*values, sibling], rho) >= mass * (1 - 1e-12)
    assert mass >= max(values)


@given(st.floats(0, 1e20), st.floats(1, 20))
def test_a_single_product_is_its_category(value: float, rho: float) -> None:
    assert category_mass([value], rho) == value


def test_attraction_survives_extreme_prices_and_parameters() -> None:
    assert attraction(-4.6, -1.6, 120, 0.0, 0.0) == pytest.approx(0.00147367, abs=5e-9)
    assert attraction(5.0, 9.0, 10**8, 3.0, 0.5) < math.inf
    assert attraction(5.0, -9.0, 10**8, 3.0, 0.5) == 0.0
    assert attraction(0.0, -1.0, 100, 0.0, -1.5) == 0.0


def test_customers_follow_weekday_and_month() -> None:
    saturday, tuesday = date(1991, 9, 7), date(1991, 9, 10)
    assert customers(28_000, 0.08, saturday, 0.0) == round(28_000 * 1.18 * 1.03)
    assert customers(28_000, 0.08, tuesday, 0.0) == round(28_000 * 0.92 * 1.03)
    assert customers(28_000, 0.08, tuesday, 1.0) > customers(28_000, 0.08, tuesday, 0.0)


def test_season_weeks_are_counted_from_september_1989() -> None:
    assert season_week(date(1991, 9, 7)) == 104
    assert season_week(date(1989, 9, 13)) == 0
    assert season_week(date(1989, 9, 14)) == 1
