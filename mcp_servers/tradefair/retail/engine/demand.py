"""Customers, attraction, choice, returns and stars (retail page, 6.1 to 6.6): functions of parameters and uniforms.

Every exp, log and power is scalar `math`, sums are `math.fsum`; a probability is rounded to twelve decimals before it
meets a uniform, so that last-bit differences of maths libraries do not change a replay.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from tradefair.retail.engine.luck import Floats

_Number = TypeVar("_Number", float, Floats)

# Monday first. Both tables are those of the source's published runs (6.1).
_WEEKDAY = (0.95, 0.92, 0.93, 0.955, 0.98, 1.18, 1.08)
_MONTH = (0.94, 0.97, 0.98, 0.98, 1.015, 1.03, 1.04, 1.03, 1.03, 1.02, 0.99, 0.98)
# One week before week 1 of the Dominick's data, so that week numbers start at 1 there.
_WEEK_ZERO = date(1989, 9, 7)
_P_DECIMALS = 12
# Up to this mean P(X = 0) is at least about e^-277 for p <= 1/2, far above the smallest double.
_CHOP_DOWN_MEAN = 200.0
_NEGLIGIBLE = 1e-22
# At e^60 the share G/(1 + G) is 1 already; e^710 would overflow.
_MAX_EXPONENT = 60.0
# Shares of 1 to 5 stars at no tilt; their mean is 3.63.
_BASE_STARS = (0.21, 0.09, 0.06, 0.14, 0.50)
_CURVE_DEGREE = 4


def customers(mean: float, noise_sd: float, day: date, z: float) -> int:
    """N_t, the customers of an open day (6.1).

    `mean` is customers per day times scale, `z` a standard normal draw.
    """
    expected = mean * _WEEKDAY[day.weekday()] * _MONTH[day.month - 1] * math.exp(noise_sd * z)
    # First to six decimals: a product that is 0.5 but for its last bit must round alike everywhere.
    return round(round(expected, 6))


def season_week(day: date) -> int:
    """w_t: whole weeks since 1989-09-07, the argument of the seasonal terms."""
    return (day - _WEEK_ZERO).days // 7


def attraction(alpha: float, slope: float, price_cents: int, noise: float, effect: float) -> float:
    """A_jt (6.2), never below 0.

    `slope` is β + βs·sin + βc·cos per currency unit, `noise` σ·z/divisor, `effect` ρ_rev + ρ_news.
    """
    # A fitted store may have a slope that turns positive with the season: exp must not overflow at a huge price.
    exponent = min(_MAX_EXPONENT, alpha + slope * (price_cents / 100) + noise)
    return max(0.0, math.exp(exponent) * (1.0 + effect))


def category_mass(attractions: Sequence[float], rho: float) -> float:
    """G_c = (Σ A^ρ)^(1/ρ) (6.5); exactly A for one product, 0 for none.

    With ρ > 1 a second product adds less than its own attraction: products of a category take customers from one
    another.
    """
    top = max(attractions, default=0.0)
    if len(attractions) < 2 or top <= 0.0:
        return top
    # Scaled by the largest: with ρ up to 20, plain powers could overflow or vanish.
    return top * math.pow(math.fsum(math.pow(value / top, rho) for value in attractions), 1.0 / rho)


def take_share(mass: float) -> float:
    """π = G/(1 + G): the share of customers that buy in a category of mass G."""
    return mass / (1.0 + mass)


def binomial_inverse(u: float, n: int, p: float) -> int:
    """The smallest k with P(Bin(n, p) <= k) >= u, for u in (0, 1); p is first rounded to 12 decimals (6.5).

    One uniform decides the whole count, so the same luck sells more when p rises: prices can be compared on equal luck.
    """
    p = round(p, _P_DECIMALS)
    if p <= 0.0 or n <= 0:
        return 0
    if p >= 1.0:
        return n
    # With X = n − X': P(X <= k) >= u holds just when P(X' <= n − k − 1) <= 1 − u.
    mirrored = p > 0.5
    if mirrored:
        u, p = 1.0 - u, 1.0 - p
    k = (_chop_down if n * p < _CHOP_DOWN_MEAN else _from_mode)(u, n, p, strictly=mirrored)
    return n - k if mirrored else k


def _chop_down(u: float, n: int, p: float, *, strictly: bool) -> int:
    """Cumulate the masses from k = 0 up: the smallest k with a total >= u (> u when `strictly`); p <= 1/2."""
    odds, mean = p / (1.0 - p), n * p
    # `log1p` keeps the digits of a small p that `log(1 - p)` would lose.
    mass = total = math.exp(n * math.log1p(-p))
    # A total above u is one that reaches the next double.
    wanted = math.nextafter(u, 2.0) if strictly else u
    # Floats, though whole: mixed operands cost a third more, and exact counts give the same masses.
    k, left = 0.0, float(n)
    while total < wanted and left:
        k += 1.0
        mass *= odds * left / k
        left -= 1.0
        total += mass
        # Rounding can keep the total just below u without end; beyond the mean such masses change nothing.
        if mass < _NEGLIGIBLE and k > mean:
            break
    return int(k)


def _from_mode(u: float, n: int, p: float, *, strictly: bool) -> int:
    """As `_chop_down` for large means, where P(X = 0) underflows: masses relative to the mode, both ways from it."""
    odds, mode = p / (1.0 - p), int((n + 1) * p)
    # Farther from the mode every mass is negligible: d²/(2(mode + d/3)) >= 51 there (Bernstein's inequality).
    reach = 20 + math.isqrt(300 + 102 * mode)
    down = np.arange(mode, max(0, mode - reach), -1.0)
    up = np.arange(mode + 1.0, min(n, mode + reach) + 1.0)
    below, above = _masses(down / (odds * (n - down + 1))), _masses(odds * (n - up + 1) / up)
    masses = np.concatenate((below[::-1], [1.0], above))
    # Relative to the mode, so the sum is not 1: the uniform is scaled by it.
    wanted = u * math.fsum(masses.tolist())
    place = int(np.add.accumulate(masses).searchsorted(wanted, "right" if strictly else "left"))
    return mode - len(below) + min(place, len(masses) - 1)


def _masses(ratios: Floats) -> Floats:
    """Running products from 1 on, the last of which is negligible: one multiplication after another, on every CPU."""
    masses = np.multiply.accumulate(ratios)
    return masses[: np.count_nonzero(masses > _NEGLIGIBLE) + 1]


@lru_cache(maxsize=8192)
def return_probability(quality_milli: int) -> float:
    """R(q) (6.6), the probability that a unit comes back, from .02 to .30; q in 1/1000 star."""
    q = min(5.0, max(1.0, quality_milli / 1000))
    # The fourth-degree polynomial of the source, with its own rounding of 1/15 and 11/15.
    value = 0.005 * q**4 - 0.066667 * q**3 + 0.325 * q**2 - 0.733333 * q + 0.77
    return min(0.30, max(0.02, value))


@lru_cache(maxsize=8192)
def star_shares(quality_milli: int) -> tuple[float, ...]:
    """Probabilities of 1..5 stars for quality q in 1/1000 star (6.6).

    The base shares are tilted by exp(θs) until their mean is q. θ is found by 60 bisections on [−10, 10]: the same
    number of steps for every q, so that the result depends on q alone.
    """
    target = min(5.0, max(1.0, quality_milli / 1000))
    # Wide enough for every quality from 1 to 5.
    low, high = -10.0, 10.0
    for _ in range(60):
        theta = (low + high) / 2
        tilt, excess = math.exp(theta), 0.0
        # Σ share·(stars − q) but for a positive factor, by Horner's rule: five stars first, as the power is theirs.
        for stars in range(5, 0, -1):
            excess = excess * tilt + _BASE_STARS[stars - 1] * (stars - target)
        if excess < 0.0:
            low = theta
        else:
            high = theta
    return tuple(round(share, _P_DECIMALS) for share in _tilted((low + high) / 2))


def _tilted(theta: float) -> list[float]:
    """Probabilities of 1 to 5 stars, tilted by exp(θ·stars)."""
    # Relative to five stars: with θ from −10 to 10 no exponent is above 40, so none overflows.
    weights = [base * math.exp(theta * (place - 4)) for place, base in enumerate(_BASE_STARS)]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


@lru_cache(maxsize=8192)
def _star_steps(quality_milli: int) -> tuple[float, float, float, float]:
    """Cumulative probabilities of 1 to 4 stars."""
    one, two, three, four, _ = star_shares(quality_milli)
    return one, one + two, one + two + three, one + two + three + four


def star(u: float, quality_milli: int) -> int:
    """Stars of one review, 1 to 5, by inverse CDF of `u` in (0, 1)."""
    return bisect_left(_star_steps(quality_milli), u) + 1


class Curve(NamedTuple, Generic[_Number]):
    """g_c: coefficients of r⁴ … r⁰ (6.3), for ratings from 0 to 5; of one curve, or arrays by product."""

    r4: _Number
    r3: _Number
    r2: _Number
    r1: _Number
    r0: _Number

    def at(self, rating: _Number) -> _Number:
        """g_c(rating): the effect of a rating on demand, before that of the starting rating is taken away."""
        return (((self.r4 * rating + self.r3) * rating + self.r2) * rating + self.r1) * rating + self.r0


@lru_cache(maxsize=256)
def review_curve(lift: float, threshold: float) -> Curve[float]:
    """Least-squares polynomial through the 501 points r = 0, .01 … 5 of G(r), lift X_c above threshold s_c (6.3).

    G is a sum of three hinges. A fit is linear in its data, so three fits of single hinges are weighted and added.
    """
    # The hinges of the source: .24 is what the first two take of the lift X_c (6.3).
    terms = ((0.04, 2.0), (0.20, 3.0), (lift - 0.24, threshold))
    fits = [(weight, _hinge_fit(at)) for weight, at in terms]
    return Curve(*(math.fsum(weight * fit[power] for weight, fit in fits) for power in range(_CURVE_DEGREE, -1, -1)))


@lru_cache(maxsize=64)
def _hinge_fit(threshold: float) -> tuple[float, ...]:
    """The fit of max(r − threshold, 0), lowest power first.

    Exact rationals, so that every machine finds the same coefficients: the normal equations are badly conditioned.
    """
    at = Fraction(threshold)
    points = [Fraction(step, 100) for step in range(501)]
    size = _CURVE_DEGREE + 1
    powers = [sum((point**power for point in points), Fraction()) for power in range(2 * size - 1)]
    rows = [
        [*powers[row : row + size], sum((point**row * max(point - at, Fraction()) for point in points), Fraction())]
        for row in range(size)
    ]
    return tuple(map(float, _solve(rows)))


def _solve(rows: list[list[Fraction]]) -> list[Fraction]:
    """Gauss-Jordan elimination of a positive definite system; the last column is its right side."""
    for pivot, row in enumerate(rows):
        head = row[pivot]
        # No search for a pivot: a positive definite system has none that is 0.
        rows[pivot] = row = [value / head for value in row]
        for other, values in enumerate(rows):
            if other != pivot and (factor := values[pivot]):
                rows[other] = [value - factor * mine for value, mine in zip(values, row, strict=True)]
    return [row[-1] for row in rows]
