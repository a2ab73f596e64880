""""""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.contract import Chance, ScenarioError
from tradefair.trading.chance import KeyedTradingChance
from tradefair.trading.mirror import MirroredPolicy, TraderView
from tradefair.trading.values import (
    LAWS,
    Acceptance,
    DrawKey,
    Law,
    LawShape,
    Mix,
    Roster,
    draw_limits,
    law_of_mix,
    smeared,
    value_at,
)

GRID = 200_000
PAIR = Roster.of(1, 1)
UNITS = st.floats(2.0**-53, 1.0 - 2.0**-53)


def shares(law: str, shape: LawShape) -> dict[int, float]:
    """The law's distribution, read off its quantile function on a fine grid."""
    assert law in ("uniform", "semi_bimodal", "heavy_tailed")
    drawn = [value_at(law, shape, (step + 0.5) / GRID) for step in range(GRID)]
    assert drawn == sorted(drawn)
    return {value: count / GRID for value, count in Counter(drawn).items()}


def test_uniform_values_are_equally_likely_over_the_whole_grid() -> None:
    found = shares("uniform", LawShape())
    assert list(found) == list(range(101))
    assert all(share == pytest.approx(1 / 101, abs=2 / GRID) for share in found.values())


def test_semi_bimodal_values_lie_in_two_equal_peaks() -> None:
    found = shares("semi_bimodal", LawShape())
    assert list(found) == [*range(21), *range(80, 101)]
    assert all(share == pytest.approx(1 / 42, abs=2 / GRID) for share in found.values())


def test_heavy_tailed_values_pile_up_at_the_ends_as_specified() -> None:
    found = shares("heavy_tailed", LawShape())
    assert found[0] == pytest.approx(0.04315, abs=1e-5)
    assert found[100] == pytest.approx(0.04104, abs=1e-5)
    assert min(found) == 0
    assert max(found) == 100


def test_smeared_values_are_clamped_sums_of_a_base_and_a_jitter() -> None:
    assert smeared(LawShape(), 0.5, 0.5) == 50
    assert smeared(LawShape(), 0.5, 2.0**-53) == 40
    assert smeared(LawShape(), 0.5, 1.0 - 2.0**-53) == 60
    assert smeared(LawShape(), 2.0**-53, 2.0**-53) == 0
    assert smeared(LawShape(), 1.0 - 2.0**-53, 1.0 - 2.0**-53) == 100


def test_constants_scale_with_the_grid() -> None:
    assert LawShape.scaled(100) == LawShape()
    assert LawShape.scaled(1000) == LawShape(1000, 200, 800, 100, 500, 200)
    found = shares("semi_bimodal", LawShape.scaled(300))
    assert list(found) == [*range(61), *range(240, 301)]


@pytest.mark.parametrize("price_max", [0, 50, 150, -100])
def test_a_grid_that_is_no_multiple_of_100_is_the_scenarios_error(price_max: int) -> None:
    with pytest.raises(ScenarioError, match="multiple of 100"):
        LawShape.scaled(price_max)


@given(st.sampled_from(LAWS), st.integers(0, 2**63), st.sampled_from([100, 700, 10_000]))
def test_every_law_stays_on_its_grid(law: Law, seed: int, price_max: int) -> None:
    chance = KeyedTradingChance(Chance(seed), Roster.of(3, 3), LawShape.scaled(price_max))
    values = chance.limits(law, Acceptance("none")).values
    assert list(values) == ["B1", "B2", "B3", "S1", "S2", "S3"]
    assert all(0 <= value <= price_max for value in values.values())


@given(st.sampled_from(["uniform", "semi_bimodal", "heavy_tailed"]), UNITS, st.sampled_from([100, 700, 10_000]))
def test_every_uniform_gives_a_value_of_the_grid(law: Law, u: float, price_max: int) -> None:
    assert law in ("uniform", "semi_bimodal", "heavy_tailed")
    assert 0 <= value_at(law, LawShape.scaled(price_max), u) <= price_max


RATES: list[tuple[Law, float]] = [
    ("uniform", 4851 / 10201),
    ("semi_bimodal", 87 / 196),
    ("heavy_tailed", 0.466919),
    ("correlated_source", 305863 / 642663),
    ("correlated_common", 16831 / 44541),
]


@pytest.mark.parametrize(("law", "rate"), RATES)
@pytest.mark.parametrize("trials", [10_000, pytest.param(200_000, marks=pytest.mark.many)])
def test_first_draws_of_a_pair_are_accepted_as_often_as_specified(law: Law, rate: float, trials: int) -> None:
    accepted = sum(
        Acceptance().holds(KeyedTradingChance(Chance(seed), PAIR).limits(law, Acceptance("none")).values, PAIR)
        for seed in range(trials)
    )
    assert abs(accepted / trials - rate) <= 4 * (rate * (1 - rate) / trials) ** 0.5


def test_mix_takes_the_laws_in_the_stated_order_and_shares() -> None:
    found = Counter(law_of_mix(Mix(), (step + 0.5) / 1000) for step in range(1000))
    assert list(found.items()) == [
        ("heavy_tailed", 300),
        ("correlated_source", 300),
        ("uniform", 200),
        ("semi_bimodal", 200),
    ]
    assert law_of_mix(Mix(0, 0, 0, 100), 0.001) == "semi_bimodal"
    assert law_of_mix(Mix(100, 0, 0, 0), 1.0 - 2.0**-53) == "heavy_tailed"


@pytest.mark.parametrize("mix", [Mix(30, 30, 20, 21), Mix(-10, 50, 40, 20)])
def test_a_mix_that_is_no_distribution_is_the_scenarios_error(mix: Mix) -> None:
    with pytest.raises(ScenarioError, match="sum to 100"):
        law_of_mix(mix, 0.5)


@pytest.mark.parametrize(
    ("values", "accepted"),
    [
        ((1, 50, 20, 30), True),
        ((0, 50, 20, 30), False),
        ((50, 50, 0, 99), True),
        ((50, 50, 0, 100), False),
        ((23, 10, 20, 30), True),
        ((22, 10, 20, 30), False),
        ((10, 23, 30, 20), True),
    ],
)
def test_the_vector_test_has_the_constants_1_99_and_3(values: tuple[int, ...], accepted: bool) -> None:
    roster = Roster.of(2, 2)
    assert Acceptance().holds(dict(zip(roster.seats, values, strict=True)), roster) is accepted


@pytest.mark.parametrize(
    ("changed", "values"),
    [
        (Acceptance(min_buyer_value=0), (0, 50, 20, 30)),
        (Acceptance(min_buyer_value=2), (1, 50, 20, 30)),
        (Acceptance(max_seller_cost=100), (50, 50, 0, 100)),
        (Acceptance(max_seller_cost=98), (50, 50, 0, 99)),
        (Acceptance(min_gap=2), (22, 10, 20, 30)),
        (Acceptance(min_gap=4), (23, 10, 20, 30)),
    ],
)
def test_each_constant_of_the_vector_test_decides_a_case(changed: Acceptance, values: tuple[int, ...]) -> None:
    roster = Roster.of(2, 2)
    by_seat = dict(zip(roster.seats, values, strict=True))
    assert changed.holds(by_seat, roster) is not Acceptance().holds(by_seat, roster)


def test_vector_acceptance_redraws_every_seat_buyers_first() -> None:
    keys: list[DrawKey] = []
    draws = iter([0, 50, 60, 40])

    def draw(key: DrawKey) -> int:
        keys.append(key)
        return next(draws)

    assert draw_limits(PAIR, Acceptance(), draw) == ({"B1": 60, "S1": 40}, 2)
    assert keys == [(1, 1, "B1"), (1, 1, "S1"), (2, 2, "B1"), (2, 2, "S1")]


def test_per_seat_acceptance_redraws_one_seat_until_its_own_bound_holds() -> None:
    keys: list[DrawKey] = []
    draws = iter([0, 0, 60, 100, 59, 70, 20])

    def draw(key: DrawKey) -> int:
        keys.append(key)
        return next(draws)

    assert draw_limits(PAIR, Acceptance("per_seat"), draw) == ({"B1": 70, "S1": 20}, 4)
    assert keys == [
        *((1, attempt, "B1") for attempt in (1, 2, 3)),
        *((1, attempt, "S1") for attempt in (1, 2)),
        (2, 4, "B1"),
        (2, 3, "S1"),
    ]


def test_without_acceptance_the_first_draw_stands() -> None:
    assert draw_limits(PAIR, Acceptance("none"), lambda key: 0 if key.seat == "B1" else 100) == (
        {"B1": 0, "S1": 100},
        1,
    )


@pytest.mark.parametrize("mode", ["vector", "per_seat"])
@pytest.mark.parametrize("bid", [0, 2])
def test_values_that_never_fit_are_the_scenarios_error(mode: str, bid: int) -> None:
    acceptance = Acceptance()._replace(mode=mode, max_attempts=50)
    with pytest.raises(ScenarioError, match="max_attempts = 50"):
        draw_limits(PAIR, acceptance, lambda key: bid if key.seat == "B1" else 0)


@given(st.sampled_from(LAWS), st.integers(0, 2**63))
def test_accepted_values_meet_their_bounds_with_hundreds_of_seats(law: Law, seed: int) -> None:
    roster = Roster.of(40, 40)
    acceptance = Acceptance("per_seat", max_seller_cost=999)
    chance = KeyedTradingChance(Chance(seed), roster, LawShape.scaled(1000))
    limits = chance.limits(law, acceptance)
    assert acceptance.holds(limits.values, roster)
    assert limits.attempts >= 1


P = 100
PRICES = st.lists(st.integers(0, P), max_size=4)
MAYBE = st.none() | st.integers(0, P)


@dataclass
class Witness:
    """Notes each view that it is shown and bids from it."""

    seen: list[TraderView] = field(default_factory=list[TraderView])

    def quote(self, view: TraderView) -> int | None:
        self.seen.append(copy.deepcopy(view))
        last = [price for prices in view.opp[-1:] for price in prices]
        return None if view.round % 4 == 0 else min([view.value, *last])


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int | None, int | None, list[int], list[int], list[int]]]:
    rounds = st.tuples(MAYBE, MAYBE, PRICES.map(sorted), PRICES.map(sorted), PRICES)
    return draw(st.lists(rounds, max_size=6))


def test_a_seller_is_shown_the_market_in_buyer_terms() -> None:
    view = TraderView(value=30, price_max=P, rounds=5)
    view.close_round(45, 50, [47, 60], [55, 20], [50, 44])
    trader = Witness()
    assert MirroredPolicy(trader).quote(view) == P - 45
    shown = trader.seen[0]
    assert (shown.value, shown.price_max, shown.rounds, shown.round) == (70, P, 5, 2)
    assert (shown.quotes, shown.fills) == ([55], [50])
    assert (shown.own, shown.opp, shown.trades) == ([[53, 40]], [[45, 80]], [[50, 56]])


def test_a_forfeit_stays_a_forfeit_in_the_mirror() -> None:
    view = TraderView(value=30, price_max=P, rounds=5, round=4)
    assert MirroredPolicy(Witness()).quote(view) is None


def test_nothing_that_happened_stays_nothing_in_the_mirror() -> None:
    view = TraderView(value=30, price_max=P, rounds=5)
    view.close_round(None, None, [], [], [])
    trader = Witness()
    MirroredPolicy(trader).quote(view)
    assert (trader.seen[0].quotes, trader.seen[0].fills, trader.seen[0].trades) == ([None], [None], [[]])


@given(st.integers(0, P), histories())
def test_mirrored_twice_a_trader_sees_and_quotes_as_itself(
    value: int, history: list[tuple[int | None, int | None, list[int], list[int], list[int]]]
) -> None:
    view = TraderView(value, P, rounds=len(history) + 1)
    plain, inner = Witness(), Witness()
    twice = MirroredPolicy(MirroredPolicy(inner))
    for past in history:
        assert twice.quote(view) == plain.quote(view)
        view.close_round(*past)
    assert twice.quote(view) == plain.quote(view)
    assert inner.seen == plain.seen


@given(st.integers(0, P), histories())
def test_a_mirror_that_grew_with_the_view_equals_a_fresh_one(
    value: int, history: list[tuple[int | None, int | None, list[int], list[int], list[int]]]
) -> None:
    view = TraderView(value, P, rounds=len(history) + 1)
    grown = Witness()
    grower = MirroredPolicy(grown)
    for past in history:
        grower.quote(view)
        view.close_round(*past)
    grower.quote(view)
    fresh = Witness()
    MirroredPolicy(fresh).quote(view)
    assert grown.seen[-1] == fresh.seen[0]


def test_past_rounds_are_translated_once() -> None:
    view = TraderView(value=30, price_max=P, rounds=5)
    trader = _Keeper()
    policy = MirroredPolicy(trader)
    view.close_round(45, 50, [47], [55], [50])
    policy.quote(view)
    view.close_round(46, None, [47], [55], [])
    policy.quote(view)
    first, second = trader.kept
    assert first is second


class _Keeper:
    def __init__(self) -> None:
        self.kept: list[object] = []

    def quote(self, view: TraderView) -> int | None:
        self.kept.append(view.opp[0])
        return view.value


def test_another_view_starts_another_mirror() -> None:
    trader = Witness()
    policy = MirroredPolicy(trader)
    old = TraderView(value=30, price_max=P, rounds=5)
    old.close_round(45, 50, [47], [55], [50])
    policy.quote(old)
    policy.quote(TraderView(value=10, price_max=P, rounds=5))
    assert (trader.seen[1].value, trader.seen[1].quotes) == (90, [])
