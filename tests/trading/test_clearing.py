""""""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.contract import Chance, HarnessFailure, ScenarioError
from tradefair.trading.chance import KeyedTradingChance
from tradefair.trading.clearing import Match, Pair, benchmarks, clear, potentials, residual_spread
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

P = 100


class Book(NamedTuple):
    bids: dict[str, int]
    asks: dict[str, int]
    order: tuple[str, ...]
    limits: dict[str, int]
    coins: dict[Pair, bool]

    def up(self, pair: Pair) -> bool:
        return self.coins[pair]

    def clear(self) -> list[Match]:
        return clear(self.bids, self.asks, self.order, self.up)


@st.composite
def books(draw: st.DrawFn) -> Book:
    """Any market; a small grid of prices makes ties frequent; seats may forfeit."""
    roster = Roster.of(draw(st.integers(1, 6)), draw(st.integers(1, 6)))
    prices = draw(st.sampled_from([st.integers(0, P), st.integers(48, 52)]))
    quotes = {seat: draw(st.none() | prices) for seat in roster.seats}
    return Book(
        {seat: quote for seat in roster.buyers if (quote := quotes[seat]) is not None},
        {seat: quote for seat in roster.sellers if (quote := quotes[seat]) is not None},
        tuple(draw(st.permutations(roster.seats))),
        {seat: draw(st.integers(0, P)) for seat in roster.seats},
        {Pair(buyer, seller): draw(st.booleans()) for buyer in roster.buyers for seller in roster.sellers},
    )


def payoff(match: Match, limits: dict[str, int]) -> int:
    return limits[match.buyer] - match.price + match.price - limits[match.seller]


WORKED_VALUES = {"B1": 90, "B2": 70, "B3": 40}
WORKED_COSTS = {"S1": 20, "S2": 50, "S3": 80}
WORKED_BIDS = {"B1": 60, "B2": 60, "B3": 40}
WORKED_ASKS = {"S1": 45, "S2": 55, "S3": 80}
WORKED_ORDER = ("S3", "B2", "S1", "B3", "B1", "S2")


def test_worked_example_is_matched_and_priced_as_on_the_page() -> None:
    coins = {Pair("B2", "S1"): True, Pair("B1", "S2"): False}
    matches = clear(WORKED_BIDS, WORKED_ASKS, WORKED_ORDER, coins.__getitem__)
    assert matches == [Match("B2", "S1", 60, 45, "up", 53, "B2"), Match("B1", "S2", 60, 55, "down", 57, "B1")]
    assert residual_spread(WORKED_BIDS, WORKED_ASKS, matches) == 40


def test_worked_example_has_the_benchmarks_of_the_page() -> None:
    found = benchmarks(WORKED_VALUES.values(), WORKED_COSTS.values(), P)
    assert (found.max_surplus, found.trades, found.p_lo, found.p_hi, found.p_star) == (90, 2, 50, 70, 60.0)
    assert potentials(WORKED_VALUES, WORKED_COSTS) == {"B1": 70, "B2": 50, "B3": 20, "S1": 70, "S2": 40, "S3": 10}


def test_a_potential_is_zero_where_a_seat_can_gain_nothing_and_never_negative() -> None:
    # B2 equals the lowest cost, S1 the highest value; B3 and S3 lie beyond them.
    values, costs = {"B1": 50, "B2": 20, "B3": 19}, {"S1": 50, "S2": 20, "S3": 51}
    assert potentials(values, costs) == {"B1": 30, "B2": 0, "B3": 0, "S1": 0, "S2": 30, "S3": 0}
    assert potentials({"B1": 0}, {"S1": 0}) == {"B1": 0, "S1": 0}


@pytest.mark.parametrize(("bid", "partner", "midpoint_x2"), [(60, "S2", 115), (61, "S1", 106), (55, "S2", 110)])
def test_a_bid_decides_whom_the_buyer_meets(bid: int, partner: str, midpoint_x2: int) -> None:
    matches = clear({**WORKED_BIDS, "B1": bid}, WORKED_ASKS, WORKED_ORDER, lambda _: True)
    own = next(match for match in matches if match.buyer == "B1")
    assert (own.seller, own.bid + own.ask) == (partner, midpoint_x2)


def test_below_the_second_ask_the_buyer_of_the_worked_example_does_not_trade() -> None:
    matches = clear({**WORKED_BIDS, "B1": 54}, WORKED_ASKS, WORKED_ORDER, lambda _: True)
    assert [match.buyer for match in matches] == ["B2"]


def test_equal_bid_and_ask_trade_without_a_coin() -> None:
    assert clear({"B1": 40}, {"S1": 40}, ("S1", "B1"), lambda _: pytest.fail("no coin is due")) == [
        Match("B1", "S1", 40, 40, None, 40, "S1")
    ]


def test_chance_is_asked_per_pair_in_rank_order_coin_before_maker() -> None:
    asked: list[tuple[str, Pair]] = []

    def up(pair: Pair) -> bool:
        asked.append(("coin", pair))
        return False

    def maker(pair: Pair, earlier: str) -> str:
        asked.append((earlier, pair))
        return pair.seller

    matches = clear(WORKED_BIDS, WORKED_ASKS, WORKED_ORDER, up, maker)
    first, second = Pair("B2", "S1"), Pair("B1", "S2")
    assert asked == [("coin", first), ("B2", first), ("coin", second), ("B1", second)]
    assert [match.maker for match in matches] == ["S1", "S2"]


def test_a_quoting_seat_that_the_quote_order_lacks_is_our_failure() -> None:
    with pytest.raises(HarnessFailure, match="every quoting seat"):
        clear({"B1": 40}, {"S1": 40}, ("S1",), lambda _: True)


@given(books())
def test_payoffs_sum_to_the_gains_of_the_pairs_that_trade(book: Book) -> None:
    matches = book.clear()
    gains = {match.buyer: book.limits[match.buyer] - match.price for match in matches}
    gains |= {match.seller: match.price - book.limits[match.seller] for match in matches}
    assert len(gains) == 2 * len(matches)
    assert sum(gains.values()) == sum(book.limits[m.buyer] - book.limits[m.seller] for m in matches)


@given(books())
def test_matched_pairs_cross_and_the_first_unmatched_pair_does_not(book: Book) -> None:
    matches = book.clear()
    assert all(match.bid >= match.ask for match in matches)
    bids = sorted(book.bids.values(), reverse=True)
    asks = sorted(book.asks.values())
    assert [(match.bid, match.ask) for match in matches] == list(zip(bids, asks, strict=False))[: len(matches)]
    assert all(bid < ask for bid, ask in list(zip(bids, asks, strict=False))[len(matches) :])


@given(books())
def test_ties_go_to_the_earlier_seat_of_the_quote_order(book: Book) -> None:
    matches = book.clear()
    place = {seat: index for index, seat in enumerate(book.order)}
    traded = {match.buyer for match in matches} | {match.seller for match in matches}
    for quotes in (book.bids, book.asks):
        for seat, price in quotes.items():
            rivals = [rival for rival in quotes if quotes[rival] == price and place[rival] < place[seat]]
            assert seat not in traded or all(rival in traded for rival in rivals)


@given(books())
def test_prices_lie_between_ask_and_bid_within_half_a_tick_of_the_midpoint(book: Book) -> None:
    for match in book.clear():
        assert match.ask <= match.price <= match.bid
        half_ticks = 2 * match.price - match.bid - match.ask
        assert half_ticks == {None: 0, "up": 1, "down": -1}[match.coin]


@given(books())
def test_residual_spread_is_null_or_at_least_one(book: Book) -> None:
    matches = book.clear()
    spread = residual_spread(book.bids, book.asks, matches)
    traded = {match.buyer for match in matches} | {match.seller for match in matches}
    left_bids = [price for seat, price in book.bids.items() if seat not in traded]
    left_asks = [price for seat, price in book.asks.items() if seat not in traded]
    if left_bids and left_asks:
        assert spread == min(left_asks) - max(left_bids) >= 1
    else:
        assert spread is None


@given(books())
def test_a_quote_within_the_own_value_never_loses(book: Book) -> None:
    for match in book.clear():
        assert book.limits[match.buyer] - match.price >= 0 or match.bid > book.limits[match.buyer]
        assert match.price - book.limits[match.seller] >= 0 or match.ask < book.limits[match.seller]


@given(books(), st.data())
def test_the_order_in_which_quotes_arrive_changes_nothing(book: Book, data: st.DataObject) -> None:
    bids = dict(data.draw(st.permutations(list(book.bids.items()))))
    asks = dict(data.draw(st.permutations(list(book.asks.items()))))
    assert book._replace(bids=bids, asks=asks).clear() == book.clear()


@given(books())
def test_swapping_roles_mirrors_every_result(book: Book) -> None:
    swapped = {seat: ("S" if seat[0] == "B" else "B") + seat[1:] for seat in book.order}
    mirror = Book(
        {swapped[seat]: P - price for seat, price in book.asks.items()},
        {swapped[seat]: P - price for seat, price in book.bids.items()},
        tuple(swapped[seat] for seat in book.order),
        {swapped[seat]: P - limit for seat, limit in book.limits.items()},
        {Pair(swapped[seller], swapped[buyer]): not up for (buyer, seller), up in book.coins.items()},
    )
    turned = {"up": "down", "down": "up", None: None}
    assert mirror.clear() == [
        (swapped[m.seller], swapped[m.buyer], P - m.ask, P - m.bid, turned[m.coin], P - m.price, swapped[m.maker])
        for m in book.clear()
    ]


@given(books())
def test_truthful_quotes_realise_the_maximal_surplus(book: Book) -> None:
    values = {seat: limit for seat, limit in book.limits.items() if seat[0] == "B"}
    costs = {seat: limit for seat, limit in book.limits.items() if seat[0] == "S"}
    matches = clear(values, costs, book.order, book.up)
    best = benchmarks(values.values(), costs.values(), P)
    assert sum(payoff(match, book.limits) for match in matches) == best.max_surplus
    assert sum(match.bid > match.ask for match in matches) == best.trades


@given(books())
def test_the_competitive_interval_clears_the_market(book: Book) -> None:
    values = [limit for seat, limit in book.limits.items() if seat[0] == "B"]
    costs = [limit for seat, limit in book.limits.items() if seat[0] == "S"]
    best = benchmarks(values, costs, P)
    if best.p_lo is None or best.p_hi is None:
        assert best == (0, 0, None, None)
        assert max(values) <= min(costs)
        return
    assert 0 <= best.p_lo <= best.p_hi <= P
    for price in (best.p_lo, best.p_hi):
        assert sum(value > price for value in values) <= best.trades <= sum(value >= price for value in values)
        assert sum(cost < price for cost in costs) <= best.trades <= sum(cost <= price for cost in costs)


@given(books())
def test_potential_bounds_the_own_profit_of_a_trade_that_does_not_hurt_the_partner(book: Book) -> None:
    values = {seat: limit for seat, limit in book.limits.items() if seat[0] == "B"}
    costs = {seat: limit for seat, limit in book.limits.items() if seat[0] == "S"}
    bound = potentials(values, costs)
    assert set(bound) == set(book.limits)
    for match in book.clear():
        buyer_gain, seller_gain = values[match.buyer] - match.price, match.price - costs[match.seller]
        assert seller_gain < 0 or buyer_gain <= bound[match.buyer]
        assert buyer_gain < 0 or seller_gain <= bound[match.seller]


@given(books(), st.data())
def test_a_replaced_bid_fills_exactly_where_the_counterfactual_rank_says(book: Book, data: st.DataObject) -> None:
    """The fill test of expected_surplus (double_auction page, 5) agrees with the rules."""
    seat = data.draw(st.sampled_from([seat for seat in book.order if seat[0] == "B"]))
    bid = data.draw(st.integers(0, P))
    others = {rival: price for rival, price in book.bids.items() if rival != seat}
    place = book.order.index(seat)
    better = sum(p > bid or (p == bid and book.order.index(rival) < place) for rival, p in others.items())
    opposite = sorted(book.asks.values())
    fills = better < len(opposite) and bid >= opposite[better]
    matches = clear({**others, seat: bid}, book.asks, book.order, book.up)
    own = [match.ask for match in matches if match.buyer == seat]
    assert own == ([opposite[better]] if fills else [])


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
