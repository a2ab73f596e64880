"""`statistics` for the sandbox. Integers are summed exactly, floats by `fsum`; errors are ValueError."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

__all__ = [
    "StatisticsError",
    "correlation",
    "covariance",
    "fmean",
    "geometric_mean",
    "harmonic_mean",
    "linear_regression",
    "mean",
    "median",
    "median_high",
    "median_low",
    "mode",
    "multimode",
    "pstdev",
    "pvariance",
    "quantiles",
    "stdev",
    "variance",
]

StatisticsError = ValueError


class LinearRegression:
    """What `linear_regression` answers: y = slope * x + intercept."""

    def __init__(self, slope: float, intercept: float) -> None:
        self.slope = slope
        self.intercept = intercept


def _rows(data: Iterable[Any], least: int, what: str) -> list[Any]:
    rows = list(data)
    if len(rows) < least:
        raise StatisticsError(f"{what} requires at least {least} data point" + ("s" if least > 1 else ""))
    return rows


def _whole(rows: list[Any]) -> bool:
    return all(isinstance(row, int) for row in rows)


def _ratio(top: Any, bottom: int) -> Any:
    """top / bottom, as an int where it is one."""
    return top // bottom if isinstance(top, int) and top % bottom == 0 else top / bottom


def mean(data: Iterable[Any]) -> Any:
    """The arithmetic mean; an int where integers divide evenly."""
    rows = _rows(data, 1, "mean")
    return _ratio(sum(rows) if _whole(rows) else math.fsum(rows), len(rows))


def fmean(data: Iterable[Any], weights: Iterable[Any] | None = None) -> float:
    """The arithmetic mean as a float, weighted if `weights` is given."""
    rows = _rows(data, 1, "fmean")
    if weights is None:
        return math.fsum(rows) / len(rows)
    shares = list(weights)
    if len(shares) != len(rows):
        raise StatisticsError("data and weights must be the same length")
    return math.fsum([row * share for row, share in zip(rows, shares)]) / math.fsum(shares)  # noqa: B905  lengths are equal


def geometric_mean(data: Iterable[Any]) -> float:
    """The n-th root of the product of positive numbers."""
    rows = _rows(data, 1, "geometric_mean")
    if min(rows) <= 0:
        raise StatisticsError("geometric mean requires positive numbers")
    return math.exp(math.fsum([math.log(row) for row in rows]) / len(rows))


def harmonic_mean(data: Iterable[Any]) -> float:
    """The reciprocal of the mean of reciprocals of non-negative numbers."""
    rows = _rows(data, 1, "harmonic_mean")
    if min(rows) < 0:
        raise StatisticsError("harmonic mean does not support negative values")
    if min(rows) == 0:
        return 0
    return len(rows) / math.fsum([1 / row for row in rows])


def median(data: Iterable[Any]) -> Any:
    """The middle value, or the mean of the two middle ones."""
    rows = sorted(_rows(data, 1, "median"))
    half = len(rows) // 2
    return rows[half] if len(rows) % 2 else (rows[half - 1] + rows[half]) / 2


def median_low(data: Iterable[Any]) -> Any:
    """The lower of the middle values."""
    rows = sorted(_rows(data, 1, "median_low"))
    return rows[(len(rows) - 1) // 2]


def median_high(data: Iterable[Any]) -> Any:
    """The higher of the middle values."""
    rows = sorted(_rows(data, 1, "median_high"))
    return rows[len(rows) // 2]


def multimode(data: Iterable[Any]) -> list[Any]:
    """All values that are the most frequent, in order of first appearance."""
    counts: dict[Any, int] = {}
    for row in data:
        counts[row] = counts.get(row, 0) + 1
    most = max(counts.values()) if counts else 0
    return [row for row, count in counts.items() if count == most]


def mode(data: Iterable[Any]) -> Any:
    """The first of the most frequent values."""
    return multimode(_rows(data, 1, "mode"))[0]


def _squares(rows: list[Any], centre: Any) -> tuple[Any, int]:
    """Sum of squared deviations as (numerator, denominator); exact for integers about their own mean."""
    if centre is None and _whole(rows):
        squares = [row * row for row in rows]
        return len(rows) * sum(squares) - sum(rows) ** 2, len(rows)
    about = mean(rows) if centre is None else centre
    return math.fsum([(row - about) ** 2 for row in rows]), 1


def pvariance(data: Iterable[Any], mu: Any = None) -> Any:
    """The population variance."""
    rows = _rows(data, 1, "pvariance")
    top, bottom = _squares(rows, mu)
    return _ratio(top, bottom * len(rows))


def variance(data: Iterable[Any], xbar: Any = None) -> Any:
    """The sample variance (n - 1)."""
    rows = _rows(data, 2, "variance")
    top, bottom = _squares(rows, xbar)
    return _ratio(top, bottom * (len(rows) - 1))


def pstdev(data: Iterable[Any], mu: Any = None) -> float:
    """The population standard deviation."""
    return math.sqrt(pvariance(data, mu))


def stdev(data: Iterable[Any], xbar: Any = None) -> float:
    """The sample standard deviation (n - 1)."""
    return math.sqrt(variance(data, xbar))


def quantiles(data: Iterable[Any], *, n: int = 4, method: str = "exclusive") -> list[Any]:
    """The n - 1 cut points between `n` groups of equal probability."""
    if n < 1:
        raise StatisticsError("n must be at least 1")
    if method not in ("exclusive", "inclusive"):
        raise ValueError(f"unknown method: {method}")
    rows = sorted(_rows(data, 2, "quantiles"))
    inclusive = method == "inclusive"
    steps = len(rows) - 1 if inclusive else len(rows) + 1
    cuts: list[Any] = []
    for number in range(1, n):
        place = number * steps // n
        low = place if inclusive else min(max(place, 1), len(rows) - 1) - 1
        share = number * steps - (low if inclusive else low + 1) * n
        high = min(low + 1, len(rows) - 1)
        cuts.append((rows[low] * (n - share) + rows[high] * share) / n)
    return cuts


def _pairs(x: Iterable[Any], y: Iterable[Any], what: str) -> list[tuple[Any, Any]]:
    xs, ys = list(x), list(y)
    if len(xs) != len(ys) or len(xs) < 2:
        raise StatisticsError(f"{what} requires two inputs of the same length, at least 2")
    return list(zip(xs, ys))  # noqa: B905  lengths are equal


def _products(pairs: list[tuple[Any, Any]]) -> tuple[float, float, float]:
    """(Sxy, Sxx, Syy): sums of products of deviations."""
    x_mean = fmean([x for x, _ in pairs])
    y_mean = fmean([y for _, y in pairs])
    return (
        math.fsum([(x - x_mean) * (y - y_mean) for x, y in pairs]),
        math.fsum([(x - x_mean) ** 2 for x, _ in pairs]),
        math.fsum([(y - y_mean) ** 2 for _, y in pairs]),
    )


def covariance(x: Iterable[Any], y: Iterable[Any]) -> float:
    """The sample covariance (n - 1)."""
    pairs = _pairs(x, y, "covariance")
    return _products(pairs)[0] / (len(pairs) - 1)


def correlation(x: Iterable[Any], y: Iterable[Any]) -> float:
    """Pearson's correlation coefficient."""
    xy, xx, yy = _products(_pairs(x, y, "correlation"))
    if xx == 0 or yy == 0:
        raise StatisticsError("at least one of the inputs is constant")
    return xy / math.sqrt(xx * yy)


def linear_regression(x: Iterable[Any], y: Iterable[Any]) -> LinearRegression:
    """Least squares: an object with `slope` and `intercept`."""
    xs, ys = list(x), list(y)
    xy, xx, _ = _products(_pairs(xs, ys, "linear_regression"))
    if xx == 0:
        raise StatisticsError("x is constant")
    slope = xy / xx
    return LinearRegression(slope, fmean(ys) - slope * fmean(xs))
