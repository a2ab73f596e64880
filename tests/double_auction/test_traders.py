from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.double_auction.seated import RULES, FixedDraw, Seated

from tradefair.contract import Draw
from tradefair.double_auction.seats.traders import Kaplan, LinearEquilibrium, Shading5, Zic, Zip
from tradefair.trading.mirror import MirroredPolicy, TraderView


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
