"""The worked example of the double auction page, 6.8, end to end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.double_auction.hindsight import payoff

from tradefair.contract import Closure
from tradefair.double_auction import analysis
from tradefair.double_auction.rules import DoubleAuction

QUOTES = {"B1": 60, "B2": 60, "B3": 40, "S1": 45, "S2": 55, "S3": 80}
ORDER = ["S3", "B2", "S1", "B3", "B1", "S2"]
PAIRS: list[dict[str, Any]] = [
    {"buyer": "B2", "seller": "S1", "up": True, "maker": "B2"},
    {"buyer": "B1", "seller": "S2", "up": False, "maker": "B1"},
]


@pytest.fixture
def example(open_market: Callable[..., DoubleAuction]) -> DoubleAuction:
    market = open_market(
        "smoke",
        n_buyers=3,
        n_sellers=3,
        chance="recorded",
        **{"values.buyers": [90, 70, 40], "values.sellers": [20, 50, 80]},
    )
    payload: dict[str, Any] = {"round": 1, "quote_order": ORDER, "pairs": PAIRS}
    market.feed("recorded_chance", payload)
    return market


@pytest.fixture
def settled(example: DoubleAuction, close: Callable[[DoubleAuction, Mapping[str, int]], Closure]) -> Any:
    return close(example, QUOTES).facts


def test_matches_prices_and_payoffs_are_those_of_the_example(settled: Any) -> None:
    shown = [(match.buyer, match.seller, match.bid, match.ask, match.coin, match.price) for match in settled.matches]
    assert shown == [("B2", "S1", 60, 45, "up", 53), ("B1", "S2", 60, 55, "down", 57)]
    assert settled.payoff == {"B1": 33, "B2": 17, "B3": 0, "S1": 33, "S2": 7, "S3": 0}
    assert settled.cumulative_payoff == settled.payoff
    assert settled.surplus == settled.max_surplus == 90
    assert settled.residual_spread == 40
    assert settled.quote_order == ORDER
    assert settled.through_value == []
    assert settled.speaking_order is None


def test_the_opening_facts_hold_the_benchmarks_of_the_example(settled: Any, example: DoubleAuction) -> None:
    opening = settled.opening
    assert (opening.q_star, opening.p_lo, opening.p_hi, opening.max_surplus) == (2, 50, 70, 90)
    assert opening.values == {"B1": 90, "B2": 70, "B3": 40, "S1": 20, "S2": 50, "S3": 80}
    assert opening.potentials == {"B1": 70, "B2": 50, "B3": 20, "S1": 70, "S2": 40, "S3": 10}
    assert (opening.distribution, opening.attempts) == ("explicit", 0)
    ending = example.ending_facts()
    assert ending.opening == opening
    assert ending.payoff == settled.cumulative_payoff


def test_in_hindsight_b1_earns_more_by_bidding_higher(settled: Any, example: DoubleAuction) -> None:
    closed = example.state.rounds[0]
    played = analysis.PlayedRound(closed.bids, closed.asks, closed.quote_order)
    payoffs = {price: payoff(played, "B1", "buyer", 90, price) for price in (54, 55, 60, 61, 62)}
    assert payoffs == {54: 0.0, 55: 35.0, 60: 32.5, 61: 37.0, 62: 36.5}
    hindsight = analysis.regret("B1", "buyer", 90, [played], 100)
    assert (hindsight.dynamic, hindsight.static, hindsight.best_price, hindsight.payoff) == (4.5, 4.5, 61, 32.5)


def test_a_sellers_regret_is_computed_in_mirrored_terms(settled: Any, example: DoubleAuction) -> None:
    closed = example.state.rounds[0]
    played = analysis.PlayedRound(closed.bids, closed.asks, closed.quote_order)
    hindsight = analysis.regret("S1", "seller", 20, [played], 100)
    # At 60 it ranks behind S2 (55), meets B1's 60 and takes all of it.
    assert (hindsight.best_price, hindsight.payoff, hindsight.dynamic) == (60, 32.5, 7.5)


def test_a_forfeited_round_counts_as_nothing_earned(example: DoubleAuction) -> None:
    played = analysis.PlayedRound({"B2": 60}, {"S1": 45}, ORDER)
    hindsight = analysis.regret("B1", "buyer", 90, [played, played], 100)
    assert hindsight.payoff == 0.0
    assert (hindsight.best_price, hindsight.static) == (61, 2 * 37.0)
