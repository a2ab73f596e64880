"""Sign flips in looks: never above their level, by enumeration; what they see; the interval beside them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from tradefair.contract import Chance
from tradefair.evaluation.statistics.sequential import Flips, rare_up_to, signs, surely_above

LEVEL, FIRST, MOST, SHARE = 0.05, 8, 11, 0.9
SIZES = {
    "ties": [1.0] * 11,
    "zeros": [0.0, 3.0, 0.0, 1.0, 2.0, 0.0, 5.0, 4.0, 0.0, 2.0, 1.0],
    "one huge value": [0.3, 0.1, 0.2, 1e9, 0.7, 0.4, 0.9, 0.5, 0.8, 0.6, 1.1],
    "all different": [2.0**power for power in range(11)],
    "falling": [11.0 - n for n in range(11)],
}


def flips(level: float = LEVEL, first: int = FIRST, most: int = MOST) -> Flips:
    return Flips(level, first, most, SHARE)


def sure_after(values: Sequence[float], test: Flips | None = None) -> int | None:
    """After how many games a look after each of them is sure first."""
    test = test or flips()
    return next((n for n, value in enumerate(values, 1) if test.look([value])), None)


@pytest.mark.parametrize("name", SIZES)
def test_of_all_signs_of_the_same_sizes_no_more_than_the_level_are_ever_sure(name: str) -> None:
    sizes = SIZES[name]
    sure = sum(
        sure_after([sign * size for sign, size in zip(pattern, sizes, strict=True)]) is not None
        for pattern in product((1, -1), repeat=len(sizes))
    )
    assert 0.7 * LEVEL * 2 ** len(sizes) < sure <= LEVEL * 2 ** len(sizes)
    # Without ties all that may be spent is spent.
    assert sure == 102 or name not in {"one huge value", "all different"}


def test_the_patterns_are_a_group_in_which_any_four_games_are_independent() -> None:
    games = [signs(game) for game in range(45)]
    rows = np.array(games).T
    for one, other in ((1, 2), (77, 3001), (4095, 2048), (640, 640)):
        assert (rows[one] * rows[other] == rows[one ^ other]).all()
    assert (rows[0] == 1).all()
    assert len({row[:12].tobytes() for row in rows}) == len(rows)
    # Four games depend on each other where two pairs of games have one product.
    pairs = [(games[one] * games[other]).tobytes() for one in range(45) for other in range(one)]
    singles = [column.tobytes() for column in games]
    assert len({*pairs, *singles, np.ones(len(rows)).tobytes()}) == len(pairs) + len(singles) + 1
    assert len({signs(game).tobytes() for game in range(500)}) == 500


def test_games_after_the_twelfth_count() -> None:
    even = [1.0, -1.0] * 6
    assert sure_after(even, flips(first=16, most=32)) is None
    assert sure_after(even + [1.0] * 20, flips(first=16, most=32)) in range(18, 32)


@pytest.mark.parametrize(
    ("values", "after"),
    [
        ([1.0] * 11, 6),  # 2^-6 is the first that the error spent by then allows
        ([3.0, 1.0, 4.0, 1.0, 5.0, 9.0], 6),
        ([-1.0] * 11, None),
        ([0.0] * 11, None),
        ([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 10),
        ([1.0, 1.0, 1.0, 1.0, 1.0, -5.0], None),
        ([], None),
    ],
)
def test_what_is_sure(values: list[float], after: int | None) -> None:
    assert sure_after(values) == after
    assert sure_after([value * 1e-3 for value in values]) == after


def test_once_sure_it_stays_so() -> None:
    test = flips()
    test.look([1.0] * 11)
    assert test.look([-100.0] * 11)


def test_games_without_a_look_count_and_spend_nothing() -> None:
    values = Chance("sequential").uniforms("values", n=11)
    block, single = flips(), flips()
    found = [block.look(values[:8]), block.look(values[8:])]
    assert [single.look([value], test=n in {8, 11}) for n, value in enumerate(values, 1)][7::3] == found
    assert flips().look([1.0] * 6, test=False) is False
    assert flips().look([1.0] * 5) is False


def test_only_the_last_game_spends_the_rest() -> None:
    # Of 7 games all alike one pattern in 128 is above all others: more than .006 · .9, spent by then, and .006.
    assert Flips(0.006, 7, 8, 0.9).look([1.0] * 7) is False
    assert Flips(0.006, 7, 8, 0.9).look([1.0] * 8)
    assert Flips(0.008, 7, 7, 0.9).look([1.0] * 7)


@pytest.mark.parametrize("wrong", [(0.0, 8, 16, 0.9), (0.6, 8, 16, 0.9), (0.05, 0, 16, 0.9), (0.05, 8, 7, 0.9)])
def test_what_cannot_be_tested_is_refused(wrong: tuple[float, int, int, float]) -> None:
    with pytest.raises(ValueError, match=r"4096|need 1 <= first"):
        Flips(*wrong)


@pytest.mark.parametrize("values", [[float("nan")], [float("inf")], [1e308, 1e308]])
def test_a_sum_that_is_no_number_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        flips().look(values)


def test_the_interval_holds_what_no_look_excludes() -> None:
    values = [0.3 + value for value in Chance("sequential").uniforms("values", n=11)]
    looks = range(1, 12)

    def least(given: Sequence[float]) -> float:
        low = surely_above(given, looks, LEVEL, FIRST, MOST, SHARE)
        assert low is not None
        return low

    low, high = least(values), -least([-value for value in values])
    assert min(values) < low < sum(values) / 11 < high < max(values)
    assert sure_after([value - low for value in values]) is not None
    assert sure_after([value - low - 1e-6 for value in values]) is None
    assert least([value + 5 for value in values]) == pytest.approx(low + 5)
    assert least([2.0] * 11) == pytest.approx(2.0)
    for given, seen in (([], looks), (values[:5], looks), (values, range(1, 6))):
        assert surely_above(given, seen, LEVEL, FIRST, MOST, SHARE) is None


def test_what_n_games_without_a_case_leave_open() -> None:
    assert rare_up_to(16) == pytest.approx(0.1707, abs=1e-4)
    assert rare_up_to(1) == 0.95
