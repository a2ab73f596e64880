"""Buyers, attention and purchases: worked examples and laws of sections 6.1, 6.4, 6.6 and 6.7."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import pytest
from tests.supply_chain.playing import scenario

from tradefair.contract import Chance
from tradefair.supply_chain.engine.demand import Buyer, Crowd, draw_crowd, draw_supply, reservation_limit
from tradefair.supply_chain.engine.sales import Luck, Visit, notice, shop, top_seats
from tradefair.supply_chain.model import Offer

IDS = tuple(f"retailer_{number:02d}" for number in range(1, 21))


def test_the_reservation_price_is_that_of_the_page() -> None:
    """P = 50.00, thrifty, u = 0.1 / 0.5 / 0.975 (6.6)."""
    gated = scenario("gated")
    limits = [reservation_limit(gated, gated.tribes[0], 50_00, u) for u in (0.1, 0.5, 0.975)]
    assert limits == [53_63, 65_00, 87_21]
    low, high = (reservation_limit(gated, gated.tribes[0], 50_00, u) for u in (1e-12, 1 - 1e-12))
    assert low == 51_00
    assert high <= 200_00


def test_attention_is_that_of_the_worked_example() -> None:
    """λ = 0.8, τ = 0.07, Sim and u of 6.4: seats 1 and 2 are noticed."""
    similarity, uniforms = (0.37, 0.02, 0.00, 0.12), (0.10, 0.90, 0.50, 0.30)
    pull = [0.8 * one / 0.07 for one in similarity]
    noise = [-math.log(-math.log(u)) for u in uniforms]
    assert [round(one, 4) for one in noise] == [-0.8340, 2.2504, 0.3665, -0.1856]
    scores = [round(one + luck, 4) for one, luck in zip(pull, noise, strict=True)]
    assert scores == [3.3945, 2.4789, 0.3665, 1.1858]
    assert top_seats(pull, noise, range(4), 2) == (0, 1)
    weights = [math.exp(one) for one in pull]
    assert [round(one / math.fsum(weights), 4) for one in weights] == [0.9172, 0.0168, 0.0134, 0.0527]


def test_equal_scores_go_to_the_earlier_seat() -> None:
    assert top_seats([1.0, 1.0, 1.0], [0.0] * 9, (2, 5, 7), 2) == (2, 5)


def test_a_bankrupt_seat_leaves_the_luck_of_the_others_theirs() -> None:
    """Noise is by seat, pull by place among those that are active."""
    assert top_seats([0.0, 0.0], [9.0, 1.0, 2.0], (1, 2), 1) == (2,)


def test_extreme_exponents_stay_finite() -> None:
    chance = Chance(1)
    for buyer in range(50):
        noise = [-math.log(-math.log(u)) for u in chance.uniforms("attention", 1, buyer, n=3)]
        assert top_seats([-180.0, 180.0, 0.0], noise, range(3), 3)[0] == 1


def test_inclusion_follows_the_weights_exactly() -> None:
    """Gumbel top-K against exact enumeration: K = 2, 20,000 draws, within four standard errors (invariant 8)."""
    pull = [0.8 * one / 0.07 for one in (0.17, 0.02, 0.00, 0.12)]
    weights = [math.exp(one) for one in pull]
    exact = [0.0] * 4
    for first, second in permutations(range(4), 2):
        p = weights[first] / sum(weights) * weights[second] / (sum(weights) - weights[first])
        exact[first] += p
        exact[second] += p
    chance, draws, hits = Chance(11), 20_000, Counter[int]()
    for buyer in range(draws):
        noise = [-math.log(-math.log(u)) for u in chance.uniforms("attention", 1, buyer, n=4)]
        hits.update(top_seats(pull, noise, range(4), 2))
    for seat in range(4):
        error = math.sqrt(exact[seat] * (1 - exact[seat]) / draws)
        assert abs(hits[seat] / draws - exact[seat]) < 4 * error


def _offer(cents: int | None) -> Offer:
    return Offer((cents,), None, None)


def test_the_cascade_is_that_of_the_worked_example() -> None:
    """Need 5 of item1, R = 66: s5 is empty, s2 sells 2, s9 sells 3, s4 is too dear, s7 has not posted (6.7)."""
    offers: list[Offer | None] = [None] * 10
    stock = [(0,)] * 10
    for seat, price, units in ((2, 60_00, 2), (5, 58_00, 0), (9, 63_00, 10), (4, 70_00, 3)):
        offers[seat], stock[seat] = _offer(price), (units,)
    offers[7] = _offer(None)
    crowd = Crowd((Buyer(0, 0, 0, 5, 66_00),), (0,))
    result = shop(Luck(Chance(1), 1, IDS), crowd, [(2, 5, 9, 4, 7)], offers, stock, range(10))
    assert result.visits == ((Visit(5, 5, 0), Visit(2, 5, 2), Visit(9, 3, 3)),)
    empty, two, nine = result.tallies[5], result.tallies[2], result.tallies[9]
    assert (empty.attempts, empty.failed, empty.directed, empty.sold) == ([1], [1], [5], [0])
    assert (two.attempts, two.failed, two.directed, two.sold, two.revenue) == ([1], [0], [5], [2], [120_00])
    assert (nine.attempts, nine.directed, nine.sold, nine.revenue) == ([1], [3], [3], [189_00])
    assert result.tallies[4].attempts == result.tallies[7].attempts == [0]


def test_equal_prices_are_ordered_by_the_buyers_own_luck() -> None:
    luck, crowd = Luck(Chance(5), 1, IDS), Crowd(tuple(Buyer(0, 0, 0, 1, None) for _ in range(60)), tuple(range(60)))
    offers, stock = [_offer(10_00)] * 3, [(100,)] * 3
    result = shop(luck, crowd, [None] * 60, offers, stock, range(3))
    sold = [tally.sold[0] for tally in result.tallies]
    assert sum(sold) == 60
    assert min(sold) > 5
    for place, trail in enumerate(result.visits):
        assert trail[0].seat == min(range(3), key=luck.price_ties(place, range(3)).__getitem__)


@pytest.mark.parametrize("split", ["stratified", "random"])
def test_demand_is_dealt_out_to_the_last_unit(split: str) -> None:
    gated = scenario("gated", demand_split=split)
    for number in (1, 2):
        crowd = draw_crowd(gated, Chance(7), number)
        assert sum(buyer.quantity for buyer in crowd.buyers) == gated.demand == 950
        assert sorted(crowd.arrival) == list(range(200))
    assert draw_crowd(gated, Chance(7), 1) != draw_crowd(gated, Chance(7), 2)


def test_tribes_come_in_their_proportions() -> None:
    crowd = draw_crowd(scenario("gated", buyers=4_000), Chance(3), 1)
    share = Counter(buyer.tribe for buyer in crowd.buyers)
    assert [round(share[tribe] / 4_000, 1) for tribe in range(4)] == [0.4, 0.3, 0.2, 0.1]


def test_without_reservation_nobody_has_a_limit() -> None:
    assert {buyer.limit for buyer in draw_crowd(scenario("paper"), Chance(1), 1).buyers} == {None}


def test_supply_is_fixed_or_shocked() -> None:
    gated = scenario("gated")
    assert draw_supply(gated, Chance(1), 3) == tuple(item.quantity for item in gated.items)
    shock = scenario("stochastic_supply")
    drawn = [draw_supply(shock, Chance(1), number)[0] for number in range(1, 201)]
    present = [units for units in drawn if units]
    assert 0 < drawn.count(0) < 30
    assert min(present) >= 50
    assert max(present) <= 400
    assert 180 < sum(present) / len(present) < 220


def test_whoever_is_alone_is_noticed() -> None:
    gated = scenario("gated")
    crowd = draw_crowd(gated, Chance(1), 1)
    offers: list[Offer | None] = [None] * 20
    assert set(notice(gated, Luck(Chance(1), 1, IDS), crowd, offers, (4,))) == {None}
    five = notice(gated, Luck(Chance(1), 1, IDS), crowd, offers, tuple(range(20)))
    assert {len(one) for one in five if one is not None} == {5}
