from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from tests.supply_chain.playing import ask, close, open_market, refusal, to_retail

from tradefair.contract import EpisodeOver, ErrorInfo, HarnessFailure, IllegalAction
from tradefair.supply_chain import MARKET
from tradefair.supply_chain.analysis import sure_win_price
from tradefair.supply_chain.engine.checks import Asked
from tradefair.supply_chain.engine.procurement import settle
from tradefair.supply_chain.model import Line
from tradefair.supply_chain.rules import SupplyChain

A, B, C = "retailer_01", "retailer_02", "retailer_03"
PRINTED = [
    {"item": "item1", "quantity": 110, "price": 51},
    {"item": "item2", "quantity": 110, "price": 51},
    {"item": "item3", "quantity": 75, "price": 151},
]
"""The paper's printed example: 22,545 against funds of 22,500."""


def _lines(*bids: tuple[int, int]) -> list[list[Line]]:
    return [[Line(0, units, price * 100)] for units, price in bids]


# --- the auction --------------------------------------------------------------------------------------------------


def test_the_worked_auction() -> None:
    """Supply-chain page, 6.9."""
    luck = {1: 0.70, 2: 0.20}
    result = settle(_lines((40, 820), (30, 810), (30, 810), (20, 800)), [75], [80_000], lambda _, seat: luck[seat])
    assert [filled[0] for filled in result.filled] == [40, 5, 30, 0]
    item = result.items[0]
    assert (item.marginal, item.sold_out, item.requested, item.won) == (81_000, True, 120, 75)
    assert item.book == ((82_000, 40), (81_000, 30), (81_000, 30), (80_000, 20))


def test_every_item_and_every_round_has_ties_of_its_own() -> None:
    """Two equal vectors above the supply: who comes first changes from item to item and from round to round."""
    everything = [Line(0, 30, 12_00), Line(1, 15, 45_00), Line(2, 10, 90_00), Line(3, 3, 450_00)]
    winners: set[tuple[tuple[int, ...], ...]] = set()
    for seed in range(20):
        market = open_market("duel", seed)
        rounds: list[tuple[int, ...]] = []
        while market.clock.round <= 2:
            if market.clock.phase == "bidding_1":
                filled = market.settled([everything, everything]).filled
                rounds.append(tuple(int(second > first) for first, second in zip(*filled, strict=True)))
            close(market)
        winners.add(tuple(rounds))
    assert any(len(set(first)) == 2 for first, _ in winners)
    assert any(first != second for first, second in winners)


def test_an_item_that_is_left_over_has_its_reserve_as_marginal_price() -> None:
    item = settle(_lines((10, 900)), [75], [80_000], lambda item, seat: 0.5).items[0]
    assert (item.marginal, item.sold_out, item.won) == (80_000, False, 10)


def test_bids_below_the_reserve_win_nothing() -> None:
    item = settle(_lines((10, 799)), [75], [80_000], lambda item, seat: 0.5).items[0]
    assert (item.won, item.requested, item.book) == (0, 0, ())


def test_sure_win_prices_are_those_of_the_page() -> None:
    """Ties count against the bidder (section 9)."""

    def price(rivals: list[tuple[int, int]], units: int) -> int:
        return sure_win_price([(bid * 100, quantity) for bid, quantity in rivals], units, 75, 80_000, 100) // 100

    assert price([(810, 30), (810, 30), (800, 20)], 40) == 811
    assert price([(820, 40), (810, 30), (800, 20)], 30) == 811
    assert price([(820, 40), (810, 30), (800, 20)], 5) == 801
    assert price([], 75) == 800


# --- funds --------------------------------------------------------------------------------------------------------


def test_the_papers_printed_bids_are_refused_as_overspending() -> None:
    told = refusal(open_market("paper", overspend="error"), A, "submit_bids", bids=PRINTED)
    assert told == ErrorInfo(
        "insufficient_funds",
        "These bids cost 22545.00; you have 22500.00 (45.00 too much).",
        "check_bid_cost shows the largest quantity per line",
        True,
    )


def test_the_papers_printed_bids_are_forfeited_in_the_papers_setting() -> None:
    market = open_market("paper")
    receipt = ask(market, A, "submit_bids", bids=PRINTED)
    assert (receipt.status, receipt.total, receipt.remaining) == ("forfeited", 22_545, -45)
    assert A not in market.awaited()
    close(market)
    assert market.turn_view(A).overspent
    assert not market.turn_view(B).overspent
    assert ask(market, A, "view_bid_results").rounds[0].passes[0].overspent
    close(market)
    assert market.of(A).funds == 22_500_00
    assert market.passes[0].seats[0].forfeited[0] == Line(0, 110, 51_00)
    assert not market.turn_view(A).overspent


def test_a_forfeited_vector_replaces_the_earlier_one_with_nothing() -> None:
    market = open_market("paper", bid_passes=2)
    ask(market, A, "submit_bids", bids=[{"item": "item1", "quantity": 1, "price": 51}])
    close(market)
    assert market.passes[0].seats[0].filled == (1,)
    ask(market, A, "submit_bids", bids=PRINTED)
    close(market)
    assert market.passes[1].seats[0].lines == ()
    assert (market.of(A).funds, market.of(A).units) == (22_500_00, [0] * len(market.of(A).units))


def test_funds_bind_the_whole_vector_in_full() -> None:
    market = open_market("duel")
    over = [{"item": "lamp", "quantity": 10, "price": 100}, {"item": "beans", "quantity": 30, "price": 16}]
    assert refusal(market, A, "submit_bids", bids=over).code == "insufficient_funds"
    assert not ask(market, A, "check_bid_cost", bids=over).affordable
    cost = ask(market, A, "check_bid_cost", bids=over)
    assert [line.max_quantity for line in cost.lines] == [9, 28]
    within = [{"item": "lamp", "quantity": 9, "price": 100}, {"item": "beans", "quantity": 30, "price": 16}]
    assert ask(market, A, "check_bid_cost", bids=within).affordable
    assert ask(market, A, "submit_bids", bids=within).status == "accepted"


# --- the clock ----------------------------------------------------------------------------------------------------


def test_only_the_last_pass_moves_goods_and_money() -> None:
    market = open_market("duel")
    ask(market, A, "submit_bids", bids=[{"item": "watch", "quantity": 3, "price": 401}])
    close(market)
    assert (market.clock.phase, market.of(A).funds) == ("bidding_2", 1_450_00)
    line = ask(market, A, "view_bid_results").rounds[0].passes[0].lines[0]
    assert (line.filled, line.paid) == (3, 1_203)
    close(market)  # the vector stands
    assert (market.clock.phase, market.of(A).funds, market.of(A).units[3]) == ("retail", 247_00, 3)
    assert market.of(A).book[3] == 1_203_00


def test_a_later_vector_replaces_the_whole_earlier_one() -> None:
    market = open_market("duel")
    ask(market, A, "submit_bids", bids=[{"item": "watch", "quantity": 3, "price": 401}])
    close(market)
    ask(market, A, "submit_bids", bids=[{"item": "beans", "quantity": 5, "price": 10}])
    close(market)
    assert market.of(A).units == [5, 0, 0, 0]


def test_a_vector_does_not_outlive_its_round() -> None:
    market = open_market("duel", bid_passes=1)
    ask(market, A, "submit_bids", bids=[{"item": "beans", "quantity": 5, "price": 10}])
    close(market)
    close(market)
    assert (market.clock.round, market.clock.phase) == (2, "bidding_1")
    close(market)
    assert market.of(A).units[0] <= 5
    assert sum(market.history[0].sold[0]) + market.of(A).units[0] == 5


def test_a_seat_acts_once_per_phase_and_in_the_right_one() -> None:
    market = open_market("duel")
    assert refusal(market, A, "submit_offer", prices=[]).code == "wrong_phase"
    ask(market, A, "submit_bids", bids=[])
    assert refusal(market, A, "submit_bids", bids=[]).code == "already_acted"
    assert refusal(market, A, "skip_phase").code == "already_acted"
    to_retail(market)
    assert refusal(market, A, "submit_bids", bids=[]).code == "wrong_phase"


def test_silence_takes_the_stated_default() -> None:
    market = open_market("duel", silent_offer="drop")
    assert market.lapse(A, "deadline") == "no_bids"
    with pytest.raises(HarnessFailure):
        market.lapse(A, "deadline")
    close(market)
    assert market.lapse(A, "deadline") == "previous_bids_stand"
    close(market)
    ask(market, A, "submit_offer", prices=[{"item": "beans", "price": 12}])
    close(market)
    assert market.of(A).offer is not None
    to_retail(market)
    assert market.lapse(A, "deadline") == "no_offer"
    close(market)
    assert market.of(A).offer is None


def test_the_last_offer_stands_and_an_empty_one_withdraws() -> None:
    market = open_market("duel")
    to_retail(market)
    ask(market, A, "submit_offer", prices=[{"item": "beans", "price": 12}], slogan="Fair  beans\tfor all")
    close(market)
    to_retail(market)
    close(market)
    row = ask(market, B, "view_market_history", from_round=2, to_round=2).rounds[0].rows[0]
    assert (row.slogan, row.prices) == ("Fair beans for all", [12, None, None, None])
    to_retail(market)
    receipt = ask(market, A, "submit_offer", prices=[])
    assert (receipt.prices, receipt.slogan, receipt.words) == ([], "Fair beans for all", 4)
    close(market)
    row = ask(market, B, "view_market_history").rounds[0].rows[0]
    assert (row.slogan, row.prices) == ("Fair beans for all", [None] * 4)


def test_the_episode_ends_with_its_last_round() -> None:
    market = open_market("duel", rounds=1)
    for _ in range(3):
        close(market)
    assert market.terminated == "terminated:final_round"
    assert market.awaited() == frozenset()
    with pytest.raises(EpisodeOver):
        market.skip(A)
    with pytest.raises(HarnessFailure):
        market.advance()


def test_the_order_of_arrival_leaves_no_mark() -> None:
    """Invariant 5 of the page."""

    def played(order: tuple[str, ...]) -> tuple[bytes, bytes]:
        market = open_market("duel", 3)
        bids = {
            A: [Asked("watch", 2, 405_00), Asked("beans", 20, 10_00)],
            B: [Asked("watch", 2, 405_00)],
            C: [Asked("watch", 3, 405_00)],
        }
        truth = b""
        for phase in ("bidding_1", "bidding_2", "retail"):
            for seat in order:
                if phase == "retail":
                    market.post(seat, [("watch", 500_00), ("beans", 12_00)], f"the {seat} of quality")
                else:
                    market.bid(seat, bids[seat])
            closure = market.advance()
            truth += closure.public.model_dump_json().encode()
            truth += closure.facts.model_dump_json().encode() if closure.facts else b""
        return market.digest(), truth

    assert len({played(order) for order in permutations((A, B, C))}) == 1


# --- the close ----------------------------------------------------------------------------------------------------


def _holding(market: SupplyChain, seat: str, item: int, units: int, book: int) -> None:
    own = market.of(seat)
    own.funds -= book - own.book[item]
    own.units[item], own.book[item] = units, book


def test_sold_units_cost_their_moving_average() -> None:
    """3 units with C = 100.00: selling 1 costs 33.33, the other 2 later 66.67 (6.8)."""
    beans = [{"id": "beans", "category": "commodity", "quantity": 20, "base": 10}]
    market = open_market("duel", reservation=False, rho=1.0, items=beans, demand_ratio=0.1, buyers=1)
    to_retail(market)
    _holding(market, A, 0, 3, 100_00)
    _holding(market, B, 0, 1, 10_00)
    market.post(A, [("beans", 50_00)], None)
    market.post(B, [("beans", 49_00)], None)
    close(market)
    assert [sold[0] for sold in market.history[-1].sold] == [1, 1, 0]
    assert (market.of(A).units[0], market.of(A).book[0]) == (2, 66_67)
    to_retail(market)
    close(market)
    assert (market.of(A).units[0], market.of(A).book[0]) == (0, 0)
    assert market.of(A).profits == [50_00 - 33_33, 100_00 - 66_67]
    MARKET.check(market)


def test_a_holding_charge_is_taken_from_profit_and_funds() -> None:
    market = open_market("duel", holding_rate=0.03)
    to_retail(market)
    _holding(market, A, 0, 3, 33_33)
    close(market)
    assert market.of(A).profits == [-1_00]
    assert market.of(A).funds == 1_450_00 - 33_33 - 1_00
    MARKET.check(market)


def test_a_charge_above_funds_ends_in_bankruptcy() -> None:
    market = open_market("duel", holding_rate=0.5)
    to_retail(market)
    _holding(market, A, 3, 3, 1_449_00)
    for seat in (A, B, C):
        market.skip(seat)
    facts: Any = market.advance().facts
    own = facts.seats[A]
    assert (own.holding, own.holding_paid, own.write_off, own.bankrupt) == (724_50, 1_00, 1_449_00, True)
    assert (own.funds, own.units, own.book) == (0, [0] * 4, [0] * 4)
    assert A not in market.awaited()
    assert refusal(market, A, "skip_phase").code == "seat_inactive"
    # In whatever phase: what is open instead is nothing to a seat that plays no more.
    assert refusal(market, A, "submit_bids", bids=[]).code == "seat_inactive"
    assert refusal(market, A, "submit_offer", prices=[]).code == "seat_inactive"
    assert ask(market, B, "view_market_history").rounds[0].rows[0].status == "bankrupt"
    MARKET.check(market)


def test_a_seat_that_can_buy_and_sell_nothing_is_out() -> None:
    market = open_market("duel")
    to_retail(market)
    for seat in (A, B, C):
        market.of(seat).funds = 9_99
    market.of(C).units[0], market.of(C).book[0] = 1, 10_00
    close(market)
    assert [one.active for one in market.retailers] == [False, False, True]
    market.of(C).units[0], market.of(C).book[0] = 0, 0
    to_retail(market)
    close(market)
    assert market.terminated == "terminated:no_active_seat"


def test_no_input_comes_from_outside_by_itself() -> None:
    with pytest.raises(IllegalAction, match="wrong_input"):
        open_market("duel").feed("clock_tick", None)
