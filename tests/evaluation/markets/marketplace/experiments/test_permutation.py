"""The permutation test of ranks, held to counts by hand and to a plain enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradefair.evaluation.markets.marketplace.experiments.permutation import DRAWS, Block, permutation_test
from tradefair.evaluation.statistics import sign_flip

SIX_ARMS = ("a", "a", "b", "b", "c", "c")
"""Whom each of the 3! orders of three ranks first."""

BLOCKS = st.integers(1, 4).flatmap(
    lambda m: st.tuples(
        st.lists(st.sampled_from("abc"), min_size=m, max_size=m),
        st.lists(st.sampled_from(["a", "b", "c", "x", None]), min_size=m, max_size=m),
    )
)


def _plainly(blocks: list[Block]) -> Fraction:
    """Every combination of the blocks' permutations, one by one."""
    totals = [0]
    for block in blocks:
        ways = [
            sum(one is not None and one == block.first[arm] for one, arm in zip(block.chosen, order, strict=True))
            for order in permutations(range(len(block.first)))
        ]
        totals = [total + way for total in totals for way in ways]
    observed = sum(block.hits for block in blocks)
    return Fraction(sum(total >= observed for total in totals), len(totals))


@pytest.mark.parametrize("blocks", [1, 2, 40])
def test_who_always_takes_the_first_has_one_ninetieth_per_block(blocks: int) -> None:
    found = permutation_test([Block(SIX_ARMS, SIX_ARMS)] * blocks)
    assert found is not None
    assert (found.hits, found.p, found.method) == (6 * blocks, Fraction(1, 90) ** blocks, "exact")


def test_who_always_takes_the_same_shows_nothing() -> None:
    found = permutation_test([Block(SIX_ARMS, ("a",) * 6)])
    assert found is not None
    assert (found.hits, found.p) == (2, 1)


def test_a_run_without_a_choice_scores_nothing() -> None:
    nobody = permutation_test([Block(SIX_ARMS, (None,) * 6)])
    assert nobody is not None
    assert (nobody.hits, nobody.p) == (0, 1)
    but_one = permutation_test([Block(SIX_ARMS, ("a", None, None, None, None, None))])
    assert but_one is not None
    assert but_one.p == Fraction(1, 3)


def test_without_runs_there_is_no_test() -> None:
    assert permutation_test([]) is None
    assert permutation_test([Block((), ())]) is None


@settings(max_examples=60)
@given(drawn=st.lists(BLOCKS, min_size=1, max_size=2))
def test_the_distribution_is_that_of_all_permutations(drawn: list[tuple[list[str], list[str | None]]]) -> None:
    blocks = [Block(tuple(first), tuple(chosen)) for first, chosen in drawn]
    found = permutation_test(blocks)
    assert found is not None
    assert found.p == _plainly(blocks)


def test_many_arms_are_drawn_the_same_each_time() -> None:
    first = tuple("ab" * 4)
    found = permutation_test([Block(first, first)])
    assert found is not None
    assert found.method == "100,000 draws"
    assert found.p == Fraction(1_423, DRAWS + 1)
    # 4!·4! of the 8! permutations put every a where an a was ranked first.
    assert float(found.p) == pytest.approx(576 / 40_320, rel=0.1)


def test_signs_are_counted_exactly_as_far_as_is_asked() -> None:
    alike = sign_flip([1.0] * 20, exact_to=20)
    assert alike is not None
    assert (alike.method, alike.p) == ("exact", round(2 / 2**20, 9))
    many = sign_flip([1.0, -1.0] * 11, exact_to=20, draws=20_000)
    assert many is not None
    assert (many.method, many.p) == ("20,000 draws", 1.0)
