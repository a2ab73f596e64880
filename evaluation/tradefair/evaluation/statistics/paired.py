"""Paired differences: interval, sign-flip test, Holm, what a number of games can show.

The unit of analysis is the episode: one difference per pair. Results are rounded to nine decimals, so that the order of
a sum on another machine does not show. numpy is imported where it draws: most of what reads traces asks for no draw.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from tradefair.contract import Chance, salts
from tradefair.evaluation.read.arithmetic import mean
from tradefair.evaluation.read.laws import t_quantile

if TYPE_CHECKING:
    import numpy as np

FLIPS_EXACT_TO = 16
"""Up to this many pairs all 2^n sign patterns are counted."""

# So many draws give no p below 1/10,001, far below any level that is asked for.
_DRAWS = 10_000
_SIGNS_A_DRAW = 48  # of the 52 random bits of a keyed uniform
# Ways to choose a group that are all counted; values that are drawn for a test, and held at a time.
_WAYS, _MOST_DRAWN, _CHUNK = 20_000, 20_000_000, 1_000_000
_DECIMALS = 9
# Sums of equal terms in another order differ in the last bits; they are ties.
_TIE = 1e-9


GAMES_TO_TELL = 11.0
"""Games that show a margin of one standard deviation of a difference."""


class SignFlip(NamedTuple):
    """A two-sided p-value, and how it was computed: `exact`, or `10,000 draws`."""

    p: float
    method: str


def mean_sd(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean and sample standard deviation (divisor n − 1); None where there are too few values."""
    if not values:
        return None, None
    # fsum: the same terms in another order give the same mean, so files may be read in any order.
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    squares = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (len(values) - 1))


# Fewer than two values have no deviation: the divisor would be 0.


def interval(differences: Sequence[float], level: float = 0.95) -> tuple[float, float] | None:
    """Student's t interval of the mean difference, as (low, high); None under two pairs."""
    mean, deviation = mean_sd(differences)
    if mean is None or deviation is None:
        return None
    half = t_quantile((1 + level) / 2, len(differences) - 1) * deviation / math.sqrt(len(differences))
    return round(mean - half, _DECIMALS), round(mean + half, _DECIMALS)


def sign_flip(differences: Sequence[float], *, exact_to: int = FLIPS_EXACT_TO, draws: int = _DRAWS) -> SignFlip | None:
    """Test whether the mean difference is zero, by flipping signs like fair coins (Fisher 1935); None without pairs.

    Exact up to `exact_to` pairs (at most 24, because 2^n sums are held). Above that, `draws` keyed draws, the same for
    the same number of pairs: p = (as extreme + 1)/(draws + 1), which is never 0.
    """
    if not differences:
        return None
    import numpy as np

    observed = abs(math.fsum(differences))
    slack = _TIE * math.fsum(map(abs, differences))
    if len(differences) <= exact_to:
        sums = np.zeros(1)
        for difference in differences:
            # Each difference doubles the list: after n of them it holds the sums of all 2^n sign patterns.
            sums = np.concatenate((sums + difference, sums - difference))
        extreme = int(np.count_nonzero(np.abs(sums) >= observed - slack))
        return SignFlip(round(extreme / len(sums), _DECIMALS), "exact")
    # Rounded up: each keyed uniform gives the signs of up to 48 pairs.
    bits, values = _bits(-(-len(differences) // _SIGNS_A_DRAW), draws), np.array(differences)
    extreme = 0
    for start in range(0, draws, _DRAWS):
        signs = bits[start : start + _DRAWS, : len(differences)].astype(np.float64) * 2.0 - 1.0
        extreme += int(np.count_nonzero(np.abs(signs @ values) >= observed - slack))
    # The observed pattern counts as one of the draws (+ 1): a Monte Carlo p of 0 would claim certainty.
    return SignFlip(round((extreme + 1) / (draws + 1), _DECIMALS), f"{draws:,} draws")


def exchange(here: Sequence[float], there: Sequence[float]) -> SignFlip | None:
    """Test whether two groups without pairs have one mean, by who is in which (Fisher 1935); None without both.

    Two-sided. Exact up to 20,000 ways, else 10,000 keyed draws, fewer of thousands of values: p = (as extreme + 1) /
    (draws + 1). Where pairs exist, `sign_flip` of their differences sees more.
    """
    if not here or not there:
        return None
    # Sorted: the same values in another order must meet the same draws.
    values, size = [*sorted(here), *sorted(there)], len(here)
    expected = math.fsum(values) * size / len(values)
    least = abs(math.fsum(here) - expected) - _TIE * math.fsum(map(abs, values))
    ways = math.comb(len(values), size)
    if ways <= _WAYS:
        extreme = sum(abs(math.fsum(way) - expected) >= least for way in combinations(values, size))
        return SignFlip(round(extreme / ways, _DECIMALS), "exact")
    import numpy as np

    draws, extreme, pool = min(_DRAWS, max(1, _MOST_DRAWN // len(values))), 0, np.array(values)
    # Raw words, not `Generator`: numpy promises the stream of the bits alone.
    key = hashlib.blake2b(f"{salts.SIGN_FLIP}/exchange".encode(), digest_size=16).digest()
    stream, rows = np.random.Philox(key=int.from_bytes(key, "little")), max(1, _CHUNK // len(values))
    for start in range(0, draws, rows):
        count = min(rows, draws - start)
        words = np.asarray(stream.random_raw(count * len(values))).reshape(count, len(values))
        sums = pool[np.argsort(words, axis=1, kind="stable")[:, :size]].sum(axis=1)
        extreme += int(np.count_nonzero(np.abs(sums - expected) >= least))
    return SignFlip(round((extreme + 1) / (draws + 1), _DECIMALS), f"{draws:,} draws")


@lru_cache(maxsize=4)
def _bits(words: int, draws: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    """Random bits `[draw][sign]`, 48 from each keyed uniform. Cached, because each metric of a report asks for them."""
    import numpy as np

    chance = Chance(salts.SIGN_FLIP)
    drawn = np.array([chance.uniforms("signs", draw, n=words) for draw in range(draws)])
    whole = (drawn * 2**_SIGNS_A_DRAW).astype(np.uint64)
    positions = np.arange(_SIGNS_A_DRAW, dtype=np.uint64)
    return ((whole[:, :, None] >> positions) & np.uint64(1)).astype(np.uint8).reshape(draws, -1)


def compared(pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """`n` pairs, their means `here` and `there`, the `difference`, and its sign-flip test (`p`, `method`).

    All but `n` are null without a pair.
    """
    differences = [here - there for here, there in pairs]
    tested = sign_flip(differences)
    return {
        "n": len(pairs),
        "here": mean(here for here, _ in pairs),
        "there": mean(there for _, there in pairs),
        "difference": mean(differences),
        "p": None if tested is None else tested.p,
        "method": None if tested is None else tested.method,
    }


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the given order, that keep the family-wise error rate (Holm 1979)."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    # From the smallest p to the largest: Holm divides the level by the number of hypotheses still open.
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        # The running maximum keeps the adjusted values in the order of the raw ones.
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = round(largest, _DECIMALS)
    return adjusted


def games_needed(deviation: float, margin: float) -> int:
    """How many games tell equal agents from a loss of `margin` in nine of ten gates, by the deviation of a difference.

    11 · (sd / margin)²: found when the gate was designed; nothing here measures it yet. So many games show a margin of
    sd · √(11 / n).
    """
    return math.ceil(GAMES_TO_TELL * (deviation / margin) ** 2)


@lru_cache(maxsize=2)
def resamples(label: str, block: str, n: int, draws: int = _DRAWS) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Positions `[draw][place]` of so many keyed draws of n blocks, each drawn with putting back.

    Cached and the same for all with as many blocks: rows that stand together are drawn alike.
    """
    import numpy as np

    uniforms = np.array(Chance(label).uniforms(block, n, n=draws * n))
    return np.floor(uniforms * n).astype(np.int64).reshape(draws, n)


def percentile(values: Sequence[float], share: float) -> float | None:
    """The quantile at `share` (0 to 1), linear between order statistics: type 7 of Hyndman & Fan 1996.

    None of nothing.
    """
    if not values:
        return None
    ranked = sorted(values)
    position = share * (len(ranked) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (position - below) * (ranked[above] - ranked[below])
