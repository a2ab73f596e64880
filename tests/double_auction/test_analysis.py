from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.double_auction.hindsight import payoff

from tradefair.contract import Closure
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
