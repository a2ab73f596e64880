"""Traders of the literature, each followed by hand where its rule is stated.

Also here:
- Traders that learn nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.double_auction.seated import RULES, FixedDraw, Seated

from tradefair.contract import Draw
from tradefair.double_auction.analysis import GdRound, Rivals, best_reply, gd_belief, outlook
from tradefair.double_auction.seats.traders import Kaplan, LinearEquilibrium, Shading5, Zic, Zip
from tradefair.double_auction.seats.traders_learning import gdx_value
from tradefair.trading.mirror import MirroredPolicy, Trader, TraderView


def _trader(name: str, u: float = 0.5) -> Trader:
    return Seated(RULES[name](), FixedDraw(u))


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
    view, trader = TraderView(100, 100, 400), Seated(RULES["roth_erev"](), Draw.of(3, "B1"))
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
    trader: Any = RULES["aa"]()
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


def _view(value: int, rounds: int = 30, price_max: int = 100) -> TraderView:
    return TraderView(value, price_max, rounds)


@pytest.mark.parametrize(
    ("name", "value", "price_max", "expected"),
    [
        ("truthful", 70, 100, 70),
        ("shading_5", 70, 100, 65),
        ("shading_10", 7, 100, 0),
        ("shading_20", 700, 1000, 500),
        ("linear_equilibrium", 60, 100, 48),
        ("linear_equilibrium", 10, 100, 10),
        ("linear_equilibrium", 1, 100, 1),
        ("linear_equilibrium", 100, 100, 75),
        ("linear_equilibrium", 600, 1000, 483),
    ],
)
def test_traders_without_memory_quote_their_formula(name: str, value: int, price_max: int, expected: int) -> None:
    trader = Seated(RULES[name](), Draw.of(1, "B1"))
    assert trader.quote(_view(value, price_max=price_max)) == expected


def _linear_of_seller(cost: int) -> int:
    return max(cost, round((8 * cost + 300) / 12))


@pytest.mark.parametrize("cost", [0, 13, 40, 75, 76, 99])
def test_a_mirrored_trader_plays_the_sellers_formula(cost: int) -> None:
    """The seller's linear strategy is 2c/3 + 1/4 of the grid; halves may round the other way."""
    assert MirroredPolicy(Shading5()).quote(_view(cost)) == min(100, cost + 5)
    quote = MirroredPolicy(LinearEquilibrium()).quote(_view(cost))
    assert quote is not None
    assert abs(quote - _linear_of_seller(cost)) <= 1
    assert quote >= cost


def test_zic_draws_every_price_up_to_its_value_about_equally_often() -> None:
    counts: Counter[int | None] = Counter()
    for seed in range(200):
        trader, view = Seated(Zic(), Draw.of(seed, "B1")), _view(3)
        for _ in range(5):
            counts[trader.quote(view)] += 1
            view.close_round(0, None, [], [], [])
    assert set(counts) == {0, 1, 2, 3}
    assert min(counts.values()) > 180


def test_random_legal_covers_the_whole_grid() -> None:
    quotes = {Seated(RULES["random_legal"](), Draw.of(seed, "B1")).quote(_view(0)) for seed in range(2_000)}
    assert quotes == set(range(101))


def test_zip_follows_its_update_rule_step_by_step() -> None:
    """All uniforms are .5: m = -.2, beta = .3, gamma = .05; targets .975 q - 2.5 and 1.025 q + 2.5."""
    trader, view = Seated(Zip(), FixedDraw(0.5)), _view(100)
    assert trader.quote(view) == 80
    view.close_round(80, 60, [70], [40, 75], [60])
    momentum = 0.95 * 0.3 * (60 * 0.975 - 2.5 - 80)
    price = 80 + momentum
    assert trader.quote(view) == round(price) == 73
    # It missed while the lowest winning bid of its side was 78: the price rises.
    view.close_round(73, None, [78], [70, 90], [74])
    momentum = 0.05 * momentum + 0.95 * 0.3 * (78 * 1.025 + 2.5 - price)
    price += momentum
    assert trader.quote(view) == round(price) == 75
    # It missed below nobody: the reference 60 is lower than its own price, so it stays.
    view.close_round(75, None, [60], [58], [59])
    assert trader.quote(view) == 75
    # Nobody traded: the lowest opposite quote is the reference.
    view.close_round(75, None, [70], [90, 95], [])
    momentum = 0.05 * momentum + 0.95 * 0.3 * (90 * 1.025 + 2.5 - price)
    assert trader.quote(view) == round(price + momentum) == 81
    # Nobody quoted on the other side: nothing to learn.
    view.close_round(81, None, [], [], [])
    assert trader.quote(view) == 81


def test_zip_with_a_worthless_unit_bids_nothing() -> None:
    trader, view = Seated(Zip(), Draw.of(3, "B1")), _view(0)
    view.close_round(0, None, [50], [20], [35])
    assert trader.quote(view) == 0


def _kaplan_after(
    value: int, opposite: Sequence[int], own: Sequence[int], trades: Sequence[int], *, fill: int | None = None
) -> int:
    view = _view(value)
    trader = Kaplan()
    assert trader.quote(view) == 0
    view.close_round(0 if fill is None else max(own, default=0) + 1, fill, own, opposite, trades)
    return trader.quote(view)


@pytest.mark.parametrize(
    ("value", "opposite", "own", "trades", "expected"),
    [
        (80, [40, 60], [50], [45], 0),
        (80, [40, 60], [44], [45], 45),
        (80, [40, 60], [44], [44], 0),
        (42, [40, 60], [41], [50], 41),
        (80, [40], [], [], 0),
        (80, [], [50], [], 0),
    ],
    ids=["above-the-mean", "at-the-mean", "far-above-its-ask", "never-above-v-less-1", "no-trades", "no-asks"],
)
def test_kaplan_jumps_on_a_good_price_and_parks_otherwise(
    value: int, opposite: list[int], own: list[int], trades: list[int], expected: int
) -> None:
    assert _kaplan_after(value, opposite, own, trades) == expected


def test_kaplan_jumps_on_a_small_gap_with_a_profit() -> None:
    view, trader = _view(80), Kaplan()
    view.close_round(0, None, [70, 50], [40, 41], [60, 45])
    # need 51 is under the mean 52.5; after cheap trades it is above the mean but within the gap and the highest trade
    assert trader.quote(view) == 51
    view.close_round(0, None, [50], [45], [40])
    assert trader.quote(view) == 0
    view.close_round(0, None, [50], [48], [40])
    assert trader.quote(view) == 51


def test_kaplan_needs_no_outbidding_after_its_own_trade() -> None:
    assert _kaplan_after(80, [40, 60], [50], [60], fill=60) == 40


def test_kaplan_buys_at_the_end_whatever_it_costs() -> None:
    view, trader = _view(80, rounds=10), Kaplan()
    quotes: list[int] = []
    for _ in range(10):
        quotes.append(trader.quote(view))
        view.close_round(quotes[-1], None, [30], [75], [])
    assert quotes == [0] * 8 + [75, 75]


HISTORY = st.lists(
    st.tuples(st.lists(st.integers(0, 100), max_size=3), st.lists(st.integers(0, 100), max_size=3), st.booleans()),
    max_size=5,
)


@pytest.mark.parametrize("name", [name for name in RULES if name != "random_legal"])
@given(value=st.integers(0, 100), history=HISTORY, seed=st.integers(0, 100))
@settings(max_examples=40, deadline=None)
def test_no_trader_ever_quotes_through_its_value(
    name: str, value: int, history: list[tuple[list[int], list[int], bool]], seed: int
) -> None:
    buyer, seller = (Seated(RULES[name](), Draw.of(seed, seat)) for seat in ("B1", "S1"))
    for role, trader in (("buyer", buyer), ("seller", MirroredPolicy(seller))):
        low, high = (0, value) if role == "buyer" else (value, 100)
        view = _view(value)
        for own, opposite, traded in history:
            quote = trader.quote(view)
            assert quote is not None
            assert low <= quote <= high
            prices = [50] if traded and own and opposite else []
            view.close_round(quote, None, sorted(own), sorted(opposite), prices)
