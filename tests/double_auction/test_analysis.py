""""""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.double_auction.hindsight import payoff

from tradefair.contract import Closure, IllegalAction, TraceError
from tradefair.double_auction.analysis import (
    GdRound,
    PlayedRound,
    Rivals,
    flip,
    gd_belief,
    gd_counts,
    outlook,
    pair_best_reply,
    regret,
    useful_prices,
)
from tradefair.double_auction.rules import DoubleAuction

PRICES = st.lists(st.integers(0, 100), max_size=6)
GD_ROUNDS = st.lists(st.builds(GdRound, PRICES, PRICES, PRICES), max_size=4)


@given(GD_ROUNDS)
@settings(max_examples=100, deadline=None)
def test_the_gd_belief_never_falls_with_the_price(rounds: list[GdRound]) -> None:
    belief = gd_belief(rounds, 100)
    assert len(belief) == 101
    assert all(low <= high for low, high in pairwise(belief))
    assert all(0.0 <= share <= 1.0 for share in belief)


def test_gd_counts_are_the_quotes_that_speak_for_and_against_a_fill() -> None:
    rounds = [GdRound(matched=[70, 60], unmatched=[40], opposite=[30, 55, 90])]
    assert gd_counts(60, rounds) == (1 + 2, 0)
    assert gd_counts(40, rounds) == (0 + 1, 1)
    assert gd_counts(20, rounds) == (0, 1)
    assert gd_counts(20, []).belief is None


def test_unknown_points_of_the_belief_are_filled_in_a_straight_line() -> None:
    belief = gd_belief([], 100)
    assert (belief[0], belief[25], belief[100]) == (0.0, 0.25, 1.0)


@given(st.integers(0, 100), st.lists(st.integers(0, 100), max_size=8))
@settings(max_examples=100, deadline=None)
def test_the_pair_best_reply_is_the_largest_maximiser_over_the_whole_grid(value: int, opposite: list[int]) -> None:
    gains = [sum(2 * value - ask - bid for ask in opposite if ask <= bid) for bid in range(101)]
    best = max(gains)
    expected = max(bid for bid, gain in enumerate(gains) if gain == best) if best > 0 else None
    assert pair_best_reply(value, opposite) == expected


def test_ties_on_the_own_side_are_averaged_over_the_open_ranks() -> None:
    rounds = [Rivals(others=[50], opposite=[30, 40])]
    tied = outlook(50, 80, rounds)
    assert (tied.fill_share, tied.mean_price_if_filled, tied.mean_surplus) == (1.0, 42.5, 37.5)
    half = outlook(50, 80, [Rivals(others=[50], opposite=[30, 60])])
    assert (half.fill_share, half.mean_price_if_filled, half.mean_surplus) == (0.5, 40.0, 20.0)
    none = outlook(20, 80, rounds)
    assert (none.fill_share, none.mean_price_if_filled, none.mean_surplus) == (0.0, None, 0.0)


def test_useful_prices_run_from_the_value_over_forty_percent_of_the_grid() -> None:
    prices = useful_prices(80, 100)
    assert (len(prices), prices[0], prices[-1]) == (25, 80, 40)
    assert useful_prices(2, 100) == [2, 0]
    assert useful_prices(1000, 1000)[-1] == 600


QUOTES = st.lists(st.integers(0, 100), min_size=6, max_size=6)


@given(quotes=QUOTES, seat_index=st.integers(0, 5), price=st.integers(0, 100), seed=st.integers(0, 50))
@settings(max_examples=80, deadline=None)
def test_the_fill_test_agrees_with_the_rules_when_the_quote_is_replaced(
    open_market: Callable[..., DoubleAuction],
    ask: Callable[..., Any],
    close: Callable[[DoubleAuction, Mapping[str, int]], Closure],
    quotes: list[int],
    seat_index: int,
    price: int,
    seed: int,
) -> None:
    def opened() -> DoubleAuction:
        return open_market("bazaar", seed, n_buyers=3, n_sellers=3)

    actual, replaced = opened(), opened()
    book = dict(zip(actual.seats, quotes, strict=True))
    seat = list(actual.seats)[seat_index]
    close(actual, book)
    close(replaced, {**book, seat: price})
    row = ask(actual, seat, "expected_surplus", prices=[price], window_rounds=1).rows[0]
    tied = any(quote == price for other, quote in book.items() if other != seat and other[0] == seat[0])
    earned = replaced.state.payoff[seat]
    traded = replaced.state.rounds_traded[seat]
    if tied:
        assert (row.fill_share > 0) or not traded
        assert (row.fill_share < 1) or traded
    else:
        assert row.fill_share == traded
        assert abs(row.mean_surplus - earned) <= 0.5
        value = actual.state.private.by_seat[seat]
        if traded:
            assert row.mean_surplus == (value - row.mean_price_if_filled) * (1 if seat[0] == "B" else -1)


@given(st.integers(0, 200), st.sampled_from(["buyer", "seller"]))
def test_buyer_terms_are_their_own_inverse(price: int, role: Any) -> None:
    assert flip(flip(price, 200, role), 200, role) == price


@st.composite
def played_rounds(draw: st.DrawFn) -> PlayedRound:
    """Up to five seats a side on a coarse grid, so that ties are common; anybody may forfeit."""
    seats = [f"{side}{number}" for side in "BS" for number in range(1, draw(st.integers(2, 6)))]
    quotes = {seat: draw(st.none() | st.integers(0, 10).map(lambda step: 10 * step)) for seat in seats}
    sides = [{seat: price for seat, price in quotes.items() if price is not None and seat[0] == side} for side in "BS"]
    return PlayedRound(sides[0], sides[1], draw(st.permutations(seats)))


def _curve(seat: str, role: Any, value: int, played: PlayedRound) -> list[float]:
    """The payoff of every price, one by one, in buyer terms."""
    return [payoff(played, seat, role, flip(value, 100, role), price) for price in range(101)]


@given(st.lists(played_rounds(), min_size=1, max_size=4), st.integers(0, 100), st.sampled_from(["buyer", "seller"]))
@settings(max_examples=30, deadline=None)
def test_regret_is_what_a_look_at_every_price_of_the_grid_gives(
    rounds: list[PlayedRound], value: int, role: Any
) -> None:
    seat = "B1" if role == "buyer" else "S1"
    curves = [_curve(seat, role, value, played) for played in rounds]
    quotes = [played.quote(seat, role) for played in rounds]
    pairs = zip(quotes, curves, strict=True)
    actual = [0.0 if quote is None else curve[flip(quote, 100, role)] for quote, curve in pairs]
    totals = [sum(column) for column in zip(*curves, strict=True)]
    best = max(range(101), key=lambda price: (totals[price], price))
    assert regret(seat, role, value, rounds, 100) == (
        totals[best] - sum(actual),
        sum(map(max, curves)) - sum(actual),
        flip(best, 100, role),
        sum(actual),
    )


Open = Callable[..., DoubleAuction]
Close = Callable[[DoubleAuction, Mapping[str, int]], Closure]

# Fixtures A of the double auction page, section 13.
SEED_A = 3398199942
ORDER_A = ["B1", "B2", "S1", "S2", "S3", "B3", "B4", "S4"]


def _log_market(open_market: Open, **overrides: Any) -> DoubleAuction:
    given = {"distribution": "semi_bimodal", "chance": "log_maker_draw", "seat_order": ORDER_A, **overrides}
    return open_market("bazaar", SEED_A, **given)


def test_the_same_seed_gives_the_same_luck_whatever_is_quoted(open_market: Open, close: Close) -> None:
    first, second, foreign = open_market("bazaar", 5), open_market("bazaar", 5), open_market("bazaar", 6)
    assert first.state.private == second.state.private != foreign.state.private
    orders: list[list[Any]] = [[], []]
    for market, price, seen in ((first, 50, orders[0]), (second, 10, orders[1])):
        for _ in range(3):
            facts: Any = close(market, dict.fromkeys(market.seats, price)).facts
            seen.append(facts.quote_order)
    assert orders[0] == orders[1]
    assert len({tuple(order) for order in orders[0]}) > 1


def test_log_chance_gives_the_values_and_order_of_the_public_game(open_market: Open, close: Close) -> None:
    market = _log_market(open_market)
    assert market.state.private.by_seat == dict(
        zip(["B1", "B2", "B3", "B4", "S1", "S2", "S3", "S4"], [4, 13, 11, 13, 1, 80, 17, 9], strict=True)
    )
    facts: Any = close(market, dict.fromkeys(market.seats, 5)).facts
    assert facts.quote_order == ["B4", "S1", "S3", "B2", "S2", "B3", "B1", "S4"]


def test_the_seat_order_decides_who_gets_which_place_in_a_log(open_market: Open, close: Close) -> None:
    facts: Any = close(_log_market(open_market, seat_order=sorted(ORDER_A)), {}).facts
    assert facts.quote_order != ["B4", "S1", "S3", "B2", "S2", "B3", "B1", "S4"]


def test_the_two_generations_differ_in_the_maker_only_for_the_first_round(open_market: Open, close: Close) -> None:
    drawn, ordered = _log_market(open_market), _log_market(open_market, chance="log_maker_order")
    book = dict.fromkeys(drawn.seats, 50)
    first: Any = close(drawn, book).facts
    second: Any = close(ordered, book).facts
    assert [match.price for match in first.matches] == [match.price for match in second.matches]
    for match in second.matches:
        order = second.quote_order
        assert match.maker == min((match.buyer, match.seller), key=order.index)
    assert [match.maker for match in first.matches] != [match.maker for match in second.matches]
    later: list[Any] = [close(market, book).facts for market in (drawn, ordered)]
    assert later[0].quote_order != later[1].quote_order


def _recorded(open_market: Open) -> DoubleAuction:
    return open_market("smoke", chance="recorded")


PAYLOAD: dict[str, Any] = {
    "round": 1,
    "quote_order": ["S2", "B2", "S1", "B1"],
    "pairs": [{"buyer": "B1", "seller": "S1", "up": True, "maker": "S1"}],
}


def test_recorded_chance_settles_a_round_as_it_was_fed(open_market: Open, close: Close) -> None:
    market = _recorded(open_market)
    fresh = market.digest()
    market.feed("recorded_chance", PAYLOAD)
    assert market.digest() != fresh
    facts: Any = close(market, {"B1": 61, "S1": 40}).facts
    assert facts.quote_order == PAYLOAD["quote_order"]
    assert [(match.price, match.coin, match.maker) for match in facts.matches] == [(51, "up", "S1")]


def test_a_round_that_was_not_fed_does_not_close(open_market: Open, close: Close) -> None:
    market = _recorded(open_market)
    with pytest.raises(TraceError, match="was not fed"):
        close(market, {"B1": 61, "S1": 40})
    assert market.clock.round == 1
    market.feed("recorded_chance", PAYLOAD)
    assert market.advance().kind == "round"


@pytest.mark.parametrize(
    ("source", "payload"),
    [
        ("clock_tick", PAYLOAD),
        ("recorded_chance", None),
        ("recorded_chance", {**PAYLOAD, "round": 2}),
        ("recorded_chance", {**PAYLOAD, "quote_order": ["B1"]}),
        ("recorded_chance", {**PAYLOAD, "pairs": [{"buyer": "S1", "seller": "B1", "up": None, "maker": "S1"}]}),
        ("recorded_chance", {**PAYLOAD, "luck": 7}),
    ],
)
def test_a_wrong_input_is_refused_and_changes_nothing(open_market: Open, source: str, payload: Any) -> None:
    market = _recorded(open_market)
    before = market.digest()
    with pytest.raises(IllegalAction, match="wrong_input"):
        market.feed(source, payload)
    assert market.digest() == before
    market.feed("recorded_chance", PAYLOAD)
    with pytest.raises(IllegalAction, match="wrong_input"):
        market.feed("recorded_chance", PAYLOAD)


def test_a_keyed_market_takes_no_input(open_market: Open) -> None:
    with pytest.raises(IllegalAction, match="wrong_input"):
        open_market("smoke").feed("recorded_chance", PAYLOAD)
