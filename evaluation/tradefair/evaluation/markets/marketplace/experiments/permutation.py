"""Whether choices follow the rank that an arm gave: an exact permutation test (marketplace page, 9, "Bias").

Fisher's argument (1935) for a crossed design: had rank no effect, the choices of a block would have been the same
whichever run had got which arm. So the arms' rank assignments are dealt to the runs of a block in all m! ways.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradefair.contract import salts
from tradefair.contract.chance import Chance

ENUMERATED_TO = 7
"""Blocks of up to this many arms are enumerated: 5,040 ways."""

DRAWS = 100_000
"""Seeded draws where a block has more arms."""


class Block(NamedTuple):
    """The runs that differ in their arm only: whom the arm of each ranked first, and who was chosen; null: nobody."""

    first: tuple[Hashable, ...]
    chosen: tuple[Hashable | None, ...]

    @property
    def hits(self) -> int:
        """Runs in which the chosen one was ranked first; a run without a choice is none."""
        return sum(one is not None and one == first for one, first in zip(self.chosen, self.first, strict=True))


class PermutationTest(NamedTuple):
    """P(T* ≥ T), one-sided, and how it was reached: `exact`, or `100,000 draws`. `hits` is T."""

    p: Fraction
    method: str
    hits: int
    blocks: int


def permutation_test(blocks: Iterable[Block]) -> PermutationTest | None:
    """T = Σ over runs [chosen = ranked first] against its null; null without a block.

    Exact where every block has at most 7 arms: enumerated within blocks, convolved over them. Else 100,000 keyed draws,
    the same for the same data: p = (as many + 1)/(draws + 1).
    """
    listed = [block for block in blocks if block.first]
    if not listed:
        return None
    hits = sum(block.hits for block in listed)
    if max(len(block.first) for block in listed) <= ENUMERATED_TO:
        ways = [1]
        for block in listed:
            ways = _convolved(ways, _ways(*_plain(block)))
        return PermutationTest(Fraction(sum(ways[hits:]), sum(ways)), "exact", hits, len(listed))
    as_many = int(np.count_nonzero(_drawn(listed) >= hits))
    return PermutationTest(Fraction(as_many + 1, DRAWS + 1), f"{DRAWS:,} draws", hits, len(listed))


def _plain(block: Block) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """First and chosen as small numbers, −1 for nobody, so that blocks of one pattern are enumerated once."""
    numbers: dict[Hashable, int] = {}
    for one in (*block.first, *block.chosen):
        if one is not None:
            numbers.setdefault(one, len(numbers))
    chosen = tuple(-1 if one is None else numbers[one] for one in block.chosen)
    return tuple(numbers.get(one, len(numbers)) for one in block.first), chosen


@lru_cache(maxsize=512)
def _ways(first: tuple[int, ...], chosen: tuple[int, ...]) -> tuple[int, ...]:
    """Of the m! ways, how many give 0, 1, … m hits."""
    count = len(first)
    meets = _meets(first, chosen)
    totals = meets[np.arange(count), _orders(count)].sum(axis=1)
    return tuple(int(ways) for ways in np.bincount(totals, minlength=count + 1))


def _meets(first: Sequence[int], chosen: Sequence[int]) -> NDArray[np.int64]:
    """1 where run r's choice is whom arm a ranks first."""
    return (np.array(chosen)[:, None] == np.array(first)[None, :]).astype(np.int64)


@lru_cache(maxsize=ENUMERATED_TO)
def _orders(count: int) -> NDArray[np.int64]:
    return np.array(list(permutations(range(count))), dtype=np.int64).reshape(math.factorial(count), count)


def _convolved(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """Coefficients of the product, in whole numbers of any size."""
    product = [0] * (len(one) + len(other) - 1)
    for place, left in enumerate(one):
        for offset, right in enumerate(other):
            product[place + offset] += left * right
    return product


def _drawn(blocks: Sequence[Block]) -> NDArray[np.int64]:
    """T* of every draw; each block has a permutation of its own in each."""
    chance = Chance(salts.PERMUTATION)
    totals = np.zeros(DRAWS, dtype=np.int64)
    for place, block in enumerate(blocks):
        count = len(block.first)
        uniforms = np.array(chance.uniforms("arms", place, n=DRAWS * count)).reshape(DRAWS, count)
        totals += _meets(*_plain(block))[np.arange(count), np.argsort(uniforms, axis=1, kind="stable")].sum(axis=1)
    return totals
