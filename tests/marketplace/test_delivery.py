from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.contract import Chance
from tradefair.marketplace.engine.delivery import Arrivals, lexicographic, release_round

MATCHES = {0: (2, 5, 7), 1: (1, 2, 3)}


def arrivals(seed: int = 1, **options: object) -> Arrivals:
    return Arrivals(Chance(seed), options.pop("order", "seeded"), MATCHES, **options)  # type: ignore[arg-type]


def test_permutations_come_in_lexicographic_order_and_start_again() -> None:
    assert [lexicographic((4, 6, 9), index) for index in range(6)] == list(permutations((4, 6, 9)))
    assert lexicographic((4, 6, 9), 7) == (4, 9, 6)
    assert lexicographic((), 3) == ()


def test_ranks_follow_the_order_and_strangers_come_last() -> None:
    registered = arrivals(order="registration", stagger=2)
    assert [registered.rank(0, place) for place in (2, 5, 7, 1)] == [0, 1, 2, 3]
    assert [registered.delay(0, place) for place in (2, 5, 7, 1)] == [0, 2, 4, 6]
    assert arrivals(order="permutation", permutation=5).ranked(0) == (7, 5, 2)
    assert registered.rank(9, 1) == 0


def test_every_seeded_order_happens() -> None:
    assert {arrivals(seed).ranked(0) for seed in range(60)} == set(permutations((2, 5, 7)))


@given(st.integers(0, 2**32), st.integers(0, 20), st.integers(0, 20))
def test_delays_stay_in_their_bounds_and_never_change(seed: int, stagger: int, jitter: int) -> None:
    travel = arrivals(seed, stagger=stagger, jitter=jitter)
    for business in range(9):
        delay = travel.delay(0, business)
        assert 0 <= delay - stagger * travel.rank(0, business) <= jitter
        assert delay == arrivals(seed, stagger=stagger, jitter=jitter).delay(0, business)


@given(st.integers(0, 2**32), st.permutations(range(9)))
def test_who_came_first_leaves_no_mark_on_the_order_of_delivery(seed: int, came: list[int]) -> None:
    travel = arrivals(seed)
    for ordered in (travel.to_customer, travel.to_business, travel.released):
        assert ordered(3, 0, came) == ordered(3, 0, range(9))
        assert sorted(ordered(3, 0, came)) == list(range(9))


def test_an_assigned_order_rules_delivery_at_one_close() -> None:
    assert arrivals(order="permutation", permutation=5).to_customer(4, 0, (1, 2, 5, 7)) == [7, 5, 2, 1]


@pytest.mark.parametrize(
    ("due", "opened", "window", "expected"),
    [(4, None, 0, (4, None)), (4, None, 2, (6, 4)), (5, 4, 2, (6, 4)), (6, 4, 2, (6, 4)), (7, 4, 2, (9, 7))],
)
def test_sealed_offers_are_released_together_at_the_end_of_their_window(
    due: int, opened: int | None, window: int, expected: tuple[int, int | None]
) -> None:
    assert release_round(due, opened, window) == expected
