from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.contract import HarnessFailure
from tradefair.trading.clearing import Match, Pair, benchmarks, clear, potentials, residual_spread
from tradefair.trading.values import Roster

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
