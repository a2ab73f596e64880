"""Whether choices follow the rank that an arm gave: an exact permutation test.

Fisher's argument (1935) for a crossed design: if rank had no effect, the choices of a block would have been the same
whichever run had got which arm. So the arms' rank assignments are permuted over the runs of a block in all m! ways.
Example: an agent that always takes rank 1 in six arms has T = 6 in one block, p = 8/720.
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

from tradefair.contract import Chance, salts

ENUMERATED_TO = 7
"""Blocks of up to this many arms are enumerated: 5,040 ways at most."""

DRAWS = 100_000
"""Seeded draws where a block has more arms."""


class Block(NamedTuple):
    """The runs that differ in their arm only, `[run]`: the business that the arm ranked first, and the chosen one.

    `chosen` is None for a run without a choice.
    """

    first: tuple[Hashable, ...]
    chosen: tuple[Hashable | None, ...]

    @property
    def hits(self) -> int:
        """Runs in which the business ranked first was chosen; a run without a choice does not count."""
        runs = zip(self.chosen, self.first, strict=True)
        return sum(chosen is not None and chosen == first for chosen, first in runs)


class PermutationTest(NamedTuple):
    """P(T* ≥ T), one-sided, and how it was reached: `exact`, or `100,000 draws`. `hits` is T."""

    p: Fraction
    method: str
    hits: int
    blocks: int


def permutation_test(blocks: Iterable[Block]) -> PermutationTest | None:
    """Test T = Σ over runs [chosen = ranked first]; None without a block.

    Exact where every block has at most 7 arms: enumerated within blocks, convolved over them. Otherwise 100,000 keyed
    draws, the same for the same data: p = (draws with T* ≥ T, plus 1)/(draws + 1).
    """
    # An empty block would add a factor of one way and no information.
    listed = [block for block in blocks if block.first]
    if not listed:
        return None
    hits = sum(block.hits for block in listed)
    # All or none: one block that is drawn makes the whole test a drawn one.
    if max(len(block.first) for block in listed) <= ENUMERATED_TO:
        ways = [1]
        for block in listed:
            ways = _convolved(ways, _ways(*_plain(block)))
        return PermutationTest(Fraction(sum(ways[hits:]), sum(ways)), "exact", hits, len(listed))
    as_many = int(np.count_nonzero(_drawn(listed) >= hits))
    return PermutationTest(Fraction(as_many + 1, DRAWS + 1), f"{DRAWS:,} draws", hits, len(listed))


def _plain(block: Block) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """First and chosen as small numbers, −1 for no choice, so that blocks of one pattern are enumerated once."""
    numbers: dict[Hashable, int] = {}
    for name in (*block.first, *block.chosen):
        if name is not None:
            numbers.setdefault(name, len(numbers))
    chosen = tuple(-1 if name is None else numbers[name] for name in block.chosen)
    # A ranked business that is None gets a number of its own, so that it never meets a choice.
    return tuple(numbers.get(name, len(numbers)) for name in block.first), chosen


@lru_cache(maxsize=512)
def _ways(first: tuple[int, ...], chosen: tuple[int, ...]) -> tuple[int, ...]:
    """Ways `[hits]`: how many of the m! orders give 0, 1, … m hits."""
    count = len(first)
    meets = _meets(first, chosen)
    totals = meets[np.arange(count), _orders(count)].sum(axis=1)
    return tuple(int(ways) for ways in np.bincount(totals, minlength=count + 1))


def _meets(first: Sequence[int], chosen: Sequence[int]) -> NDArray[np.int64]:
    """Matrix `[run][arm]`: 1 where the run's choice is the business that the arm ranks first."""
    return (np.array(chosen)[:, None] == np.array(first)[None, :]).astype(np.int64)


@lru_cache(maxsize=ENUMERATED_TO)
def _orders(count: int) -> NDArray[np.int64]:
    return np.array(list(permutations(range(count))), dtype=np.int64).reshape(math.factorial(count), count)


def _convolved(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """Ways of every sum of hits, `[hits]`, of two independent blocks; whole numbers of any size."""
    # Python's own integers: 7 blocks of 720 ways each are more than 64 bits can count.
    product = [0] * (len(first) + len(second) - 1)
    for hits, ways in enumerate(first):
        for more, others in enumerate(second):
            product[hits + more] += ways * others
    return product


def _drawn(blocks: Sequence[Block]) -> NDArray[np.int64]:
    """T* `[draw]`; in every draw each block has a permutation of its own."""
    # The salt is data (contract/salts.py): with another one every published p-value would be another.
    chance = Chance(salts.PERMUTATION)
    totals = np.zeros(DRAWS, dtype=np.int64)
    for index, block in enumerate(blocks):
        count = len(block.first)
        uniforms = np.array(chance.uniforms("arms", index, n=DRAWS * count)).reshape(DRAWS, count)
        totals += _meets(*_plain(block))[np.arange(count), np.argsort(uniforms, axis=1, kind="stable")].sum(axis=1)
    return totals
