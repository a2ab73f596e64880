"""Traders of the literature, each followed by hand where its rule is stated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.double_auction.test_traders import FixedDraw

from tradefair.contract import Draw
from tradefair.double_auction.analysis import GdRound, Rivals, best_reply, gd_belief, outlook
from tradefair.double_auction.seats.traders import TRADERS
from tradefair.double_auction.seats.traders_learning import LEARNING_TRADERS, gdx_value
from tradefair.trading.mirror import Trader, TraderView

SPECS = {spec.name: spec for spec in (*TRADERS, *LEARNING_TRADERS)}


def _trader(name: str, u: float = 0.5) -> Trader:
    return SPECS[name].make(FixedDraw(u))


def _priced(value: int, prices: Sequence[int]) -> TraderView:
    """A view in which one trade a round was seen from outside."""
    view = TraderView(value, 100, 30)
    for price in prices:
        view.close_round(0, None, [price], [price], [price])
    return view


# --- beliefs ----------------------------------------------------------------------------------------------------------


def test_gd_bids_the_smallest_price_of_greatest_believed_gain() -> None:
    view = TraderView(80, 100, 30)
    trader = _trader("gd")
    # No data: f(b) = b/100, so b(80 - b) is greatest at 40.
    assert trader.quote(view) == 40
    # Another buyer's fill at 60, the own bid of 40 unfilled, asks of 50 and 90: f is 0 up to 40 and 1 from 50 on.
    view.close_round(40, None, [60], [50, 90], [55])
    belief = gd_belief([GdRound([60], [40], [50, 90])], 100)
    gains = [belief[bid] * (80 - bid) for bid in range(81)]
    assert trader.quote(view) == gains.index(max(gains)) == 50


def test_old_rounds_count_less_for_gdx_and_not_at_all_for_gd() -> None:
    view = TraderView(90, 100, 30)
    view.close_round(None, None, [70], [20], [45])
    for _ in range(5):
        view.close_round(None, None, [70], [65], [67])
    # GD has forgotten the ask of 20: f(b) = b/65 below 65. GDX has not: f(20) = 1.
    assert _trader("gd").quote(view) == 45
    assert _trader("gdx").quote(view) == 20


def _plans(belief: Sequence[float], value: int, units: int, chances: int) -> float:
    """The best expected discounted gain over all plans of bids by (units, chances) left, by brute force."""
    cells = [(m, n) for m in range(1, units + 1) for n in range(1, chances + 1)]
    best = 0.0
    for bids in product(range(value + 1), repeat=len(cells)):
        plan = dict(zip(cells, bids, strict=True))

        def worth(m: int, n: int, plan: dict[tuple[int, int], int] = plan) -> float:
            if not m or not n:
                return 0.0
            bid = plan[m, n]
            sold = value - bid + 0.9 * worth(m - 1, n - 1)
            return belief[bid] * sold + (1 - belief[bid]) * 0.9 * worth(m, n - 1)

        best = max(best, worth(units, chances))
    return best


@pytest.mark.parametrize(("units", "chances"), [(1, 1), (1, 3), (2, 2), (2, 1)])
def test_the_recursion_of_gdx_finds_the_best_plan(units: int, chances: int) -> None:
    belief = [0.0, 0.2, 0.5, 0.6, 1.0]
    assert gdx_value(belief, 4, units, chances)[0] == pytest.approx(_plans(belief, 4, units, chances))


def test_waiting_is_worth_something_only_with_quotes_left() -> None:
    belief = [price / 100 for price in range(101)]
    now, bid = gdx_value(belief, 80, 1, 1)
    later, patient = gdx_value(belief, 80, 1, 5)
    assert (now, bid) == (16.0, 40)
    assert later > now
    assert patient < bid


# --- replies ----------------------------------------------------------------------------------------------------------


def test_fictitious_play_replies_to_every_ask_so_far() -> None:
    view = TraderView(80, 100, 30)
    assert _trader("fictitious_play").quote(view) == 80
    view.close_round(None, None, [], [60], [])
    view.close_round(None, None, [], [20], [])
    # Gains over both asks: b = 20 earns 120 - 0, b = 60 earns (160 - 60 - 60) + (160 - 20 - 60) = 120: the larger bid.
    assert _trader("fictitious_play").quote(view) == 60


PRICES = st.lists(st.integers(0, 60), max_size=3)


@given(
    value=st.integers(0, 60),
    rounds=st.lists(
        st.tuples(st.lists(st.integers(0, 60), max_size=3), st.lists(st.integers(0, 60), max_size=3)), max_size=4
    ),
)
@settings(max_examples=40, deadline=None)
def test_a_best_reply_in_replay_is_beaten_by_no_other_price(
    value: int, rounds: list[tuple[list[int], list[int]]]
) -> None:
    rivals = [Rivals(sorted(others), sorted(opposite)) for others, opposite in rounds]
    reply = best_reply(value, rivals)
    gains = [outlook(price, value, rivals).mean_surplus for price in range(value + 1)]
    if reply is None:
        assert max(gains, default=0.0) <= 0
    else:
        assert gains[reply] == pytest.approx(max(gains), abs=2e-6)


def test_the_shaver_sits_one_above_the_best_of_the_others() -> None:
    view = TraderView(50, 100, 30)
    trader = _trader("shaver")
    assert trader.quote(view) == 25
    view.close_round(25, None, [44, 30], [60], [])
    assert trader.quote(view) == 45
    view.close_round(45, None, [70], [60], [])
    assert trader.quote(view) == 50


# --- forecasts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "prices", "expected"),
    [
        ("momentum", [], 70),
        ("momentum", [40], 42),
        ("momentum", [40, 50], 51),  # e = 43, e + 2·3 + 2
        ("contrarian", [40], 42),
        ("contrarian", [40, 50], 42),
        ("mean_reversion", [40, 50], 36),  # e = 41, 41 - 4.5 = 36.5, half to even
        ("regression", [40, 50], 51),
        ("regression", [40, 50, 60], 72),
    ],
)
def test_forecasters_quote_their_formula(name: str, prices: list[int], expected: int) -> None:
    assert _trader(name).quote(_priced(90, prices)) == expected


def test_a_normal_belief_moves_towards_what_it_sees_and_stiffens() -> None:
    view = _priced(90, [])
    trader = _trader("bayesian")
    assert trader.quote(view) == 70
    means: list[int | None] = []
    for _ in range(3):
        view.close_round(0, None, [30], [30], [30])
        means.append(trader.quote(view))
    # Prior variance 625 against noise 25: the first price moves the mean by 625/650 of the gap.
    assert means[0] == round((90 + 50 - 20 * 625 / 650) / 2)
    assert means[0] is not None
    assert means[2] is not None
    assert means[2] <= means[0]


# --- learning ---------------------------------------------------------------------------------------------------------


def _shades(name: str, fills: Sequence[int | None], value: int = 50, u: float = 0.5) -> list[int]:
    view, trader = TraderView(value, 100, 30), _trader(name, u)
    shades: list[int] = []
    for fill in fills:
        quote = trader.quote(view)
        assert quote is not None
        shades.append(value - quote)
        view.close_round(quote, fill, [], [], [] if fill is None else [fill])
    return shades


def test_a_bandit_tries_every_arm_before_it_prefers_one() -> None:
    shades = _shades("shading_bandit", [None, None, None, None, None, 5, None, None, *[5] * 20])
    assert shades[:8] == [0, 2, 4, 6, 8, 10, 15, 20]
    assert shades[8] == 10
    assert shades.count(10) > 10


def test_reinforced_shades_become_likelier() -> None:
    view, trader = TraderView(100, 100, 400), SPECS["roth_erev"].make(Draw.of(3, "B1"))
    shades: list[int] = []
    for _ in range(400):
        quote = trader.quote(view)
        assert quote is not None
        shades.append(100 - quote)
        # Only the deepest shade ever pays.
        fill = 10 if quote == 80 else None
        view.close_round(quote, fill, [], [], [] if fill is None else [fill])
    assert shades[-100:].count(20) > 3 * max(1, shades[:50].count(20))


def test_q_learning_keeps_to_the_shade_that_paid() -> None:
    shades = _shades("q_learning", [None, 20, *[20] * 10], u=0.35)
    # u = .35 never explores; ties go to the smallest shade, and what has paid stays greatest.
    assert set(shades) == {0}
    assert len(set(_shades("q_learning", [20] * 10, u=0.01))) == 1


def test_aggressiveness_falls_with_cheap_fills_and_rises_with_misses() -> None:
    cheap, dear = TraderView(80, 100, 30), TraderView(80, 100, 30)
    lucky, unlucky = _trader("aa"), _trader("aa")
    first = lucky.quote(cheap)
    assert first == unlucky.quote(dear)
    assert first is not None
    for _ in range(6):
        quote, missed = lucky.quote(cheap), unlucky.quote(dear)
        assert quote is not None
        cheap.close_round(quote, min(quote, 30), [], [30], [30])
        dear.close_round(missed, None, [60], [55], [58])
    low, high = lucky.quote(cheap), unlucky.quote(dear)
    assert low is not None
    assert high is not None
    assert low < first < high <= 80


def test_aggressiveness_opens_below_the_middle_of_the_grid() -> None:
    """rho = -.15, theta = -2, p = 50: tau = 50(1 - (e^-.3 - 1)/(e^-2 - 1))."""
    expected = 50 * (1 - math.expm1(-0.3) / math.expm1(-2.0))
    assert _trader("aa").quote(TraderView(80, 100, 30)) == round(expected) == 35


@given(
    value=st.integers(1, 100),
    degree=st.floats(-1, 1),
    shape=st.floats(-8, 2),
    trades=st.lists(st.integers(1, 100), max_size=6),
)
def test_a_target_of_aggressiveness_leads_back_to_its_degree(
    value: int, degree: float, shape: float, trades: list[int]
) -> None:
    trader: Any = _trader("aa")
    trader._shape, trader._trades = shape, trades
    view = TraderView(value, 100, 30)
    base = min(trader._equilibrium(view), value)
    target = trader._at(view, degree)
    assert 0 <= target <= value
    if degree < 0 or value > base:
        again = trader._at(view, trader._degree_at(view, target))
        assert again == pytest.approx(target, abs=1e-6)
        # Where the curve is steep enough to tell degrees apart, the degree itself comes back.
        if abs(shape) <= 4 and (degree < 0 or value - base >= 1):
            assert trader._degree_at(view, target) == pytest.approx(degree, abs=1e-6)
