"""Sign flips in looks: whether a mean is above 0, asked after every game (Fisher 1935; Lan & DeMets 1983).

If two sides are alike, each difference is as likely to have the other sign, whatever its law. So what was observed is
compared with itself under 4,096 sign patterns. They are a group: the observed pattern is as likely as each of the
others, for any number of games (Hemerik & Goeman 2018), and no draw is needed. The first 12 games have all their
patterns; the signs of later ones are the codewords of a linear code in which any four of the first 45 games are
independent. The error may be spent in looks, because a look depends on nothing but the group.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

_BITS = 12
_PATTERNS = 1 << _BITS
# x^12 + x^11 + x^10 + x^9 + x^8 + x^7 + x^5 + x^4 + x^3 + x^2 + 1 is primitive: no two of 4,095 games flip together.
# Of all primitive ones it keeps any four games independent for longest.
_POLYNOMIAL = 0b1111110111101
_HALVINGS = 40


@lru_cache(maxsize=256)
def signs(game: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The sign of a game (from 0) in each of the 4,096 patterns, as 1.0 or −1.0; pattern 0 flips nothing."""
    import numpy as np

    mask = 1
    for _ in range(game):
        mask <<= 1
        mask ^= _POLYNOMIAL if mask >> _BITS else 0
    flipped = np.arange(_PATTERNS) & mask
    for half in (8, 4, 2, 1):  # the parity of twelve bits
        flipped ^= flipped >> half
    return np.where(flipped & 1, -1.0, 1.0)


class Flips:
    """One-sided: is the mean above 0? At most `level` of all signs of the same values are ever sure.

    `level` (1/4,096 to .5) is spent evenly: `share` of it up to game `first`, the rest up to game `most`.
    """

    def __init__(self, level: float, first: int, most: int, share: float) -> None:
        if not 1 / _PATTERNS <= level <= 0.5:
            raise ValueError(f"level is {level:g}; 1/{_PATTERNS} to .5 can be tested")
        if not 1 <= first <= most or not 0 < share <= 1:
            raise ValueError(f"first {first}, most {most}, share {share:g}: need 1 <= first <= most and 0 < share <= 1")
        self._level, self._first, self._most, self._share = level, first, most, share
        # One running sum for each pattern, those that have left kept as −inf.
        self._sums: np.ndarray[tuple[int], np.dtype[np.float64]] | None = None
        self._games = self._left = 0
        self._size = 0.0
        self._sure = False

    def look(self, values: Sequence[float], *, test: bool = True) -> bool:
        """Add the values of further games and, with `test`, look; True once the mean is surely above 0, then always.

        ValueError for a value that is not finite.
        """
        for value in values:
            self._size += abs(value)
            if not math.isfinite(self._size):
                raise ValueError(f"game {self._games + 1} has the value {value}; sums must be finite")
            added = signs(self._games) * value
            self._sums = added if self._sums is None else self._sums + added
            self._games += 1
        if test and self._sums is not None and not self._sure:
            self._sure = self._leave(self._sums)
        return self._sure

    def _leave(self, sums: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
        """Let the largest sums go, as many as the spent error allows, and say whether the observed one, above 0, did.

        Equal sums leave together or not at all. Sums are added in the order of the games, so patterns that agree so
        far are exactly equal.
        """
        import numpy as np

        allowed = int(self._spent() * _PATTERNS) - self._left
        if allowed <= 0:
            return False
        observed = float(sums[0])
        last_kept = _PATTERNS - 1 - allowed
        cut = float(np.partition(sums, last_kept)[last_kept])
        leaving = sums > cut
        self._left += int(np.count_nonzero(leaving))
        sums[leaving] = -math.inf
        return observed > max(cut, 0.0)

    def _spent(self) -> float:
        if self._games >= self._most:
            return self._level
        early = self._share * min(1.0, self._games / self._first)
        late = (1 - self._share) * max(0, self._games - self._first) / max(1, self._most - self._first)
        return self._level * (early + late)


def surely_above(
    values: Sequence[float], looks: Collection[int], level: float, first: int, most: int, share: float
) -> float | None:
    """The largest amount (by bisection) of which the mean is surely more, by looks after so many games; None if none.

    Of what a mean is surely less: minus this of the negative values.
    """

    def sure(amount: float) -> bool:
        flips = Flips(level, first, most, share)
        return [flips.look([value - amount], test=n in looks) for n, value in enumerate(values, 1)][-1]

    if not values:
        return None
    spread = max(values) - min(values) or 1.0
    low, high = min(values) - spread, max(values)
    if not sure(low):
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if sure(middle) else (low, middle)
    return low


def rare_up_to(games: int, level: float = 0.05) -> float:
    """The share of games in which something may still happen that `games` never showed: 1 − level^(1/games).

    The exact bound behind the "rule of three" (Clopper & Pearson 1934): .17 for 16 games.
    """
    return 1 - level ** (1 / games)
