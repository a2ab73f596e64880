"""Every failure mode of the supply chain over tiny records: just below its threshold, at it, and twice as many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.evaluation.markets.supply_chain.conftest import A, Played
from tests.evaluation.markets.supply_chain.shop import Round, shop, words
from tests.evaluation.plays import Play, check_play, plays_of

from tradefair.evaluation.markets.supply_chain.modes.detectors import MODES
from tradefair.evaluation.markets.supply_chain.modes.play import Retail, relative_sales
from tradefair.evaluation.markets.supply_chain.modes.prices import below_cost
from tradefair.evaluation.markets.supply_chain.modes.reading import read_game
from tradefair.evaluation.markets.supply_chain.modes.stock import idle_rounds
from tradefair.evaluation.modes.diagnosis import Seen
from tradefair.tracestore import open_trace

SKIPS = (("bidding_1", "skip_phase"), ("retail", "skip_phase"))
READS = (("bidding_1", "submit_bids"), ("retail", "view_market_history"), ("retail", "submit_offer"))
KEEPS = (("bidding_1", "submit_bids"), ("retail", "skip_phase"))


def times(count: int, made: Round, *more: Round) -> Retail:
    return shop(*[made] * count, *more)


# Buys at the reserve and sells all of it.
FINE = Round(bid=(8, 10, 8), price=13, sold=8, cost=80, rival_price=13, sales=1.0, slogan=0, rival_slogan=2)
FLOOR = Round(bid=(4, 10, 1), rival_bid=(9, 12, 9), rival_price=15)
LATER = Round(bid=(4, 13, 1), first=(4, 12, 0), rival_bid=(9, 12, 9), rival_price=15)
SHORT = Round(bid=(4, 10, 0), rival_bid=(9, 12, 9), rival_price=15)
GLUT = Round(bid=(2, 10, 2), opening=3, price=13, rival_price=13, book=50)
LEAN = replace(GLUT, opening=2, book=40)
UNSOLD_BUY = Round(bid=(1, 35, 1), price=50, book=35, rival_price=13)
LEFT = Round(bid=(8, 10, 8), price=13, sold=5, cost=52, book=28, rival_price=13)
BARE = Round(price=12, failed=5, rival_price=13)
STOCKED = Round(bid=(5, 10, 5), price=12, sold=5, cost=50, rival_price=13)
CHEAP = Round(bid=(10, 10, 10), price=12, sold=10, cost=100, failed=1, rival_price=13)
DEAR = Round(bid=(4, 10, 4), price=19.5, book=40, rival_price=13, waiting=3)
GOUGE = Round(bid=(1, 10, 1), price=31, sold=1, cost=10, rival_price=13)
STUCK = Round(bid=(10, 10, 10), price=12, sold=3, cost=30, book=70, rival_price=13, slogan=0, calls=KEEPS)
OUT = replace(STUCK, sold=10, cost=100, book=0, failed=1)
OFF = replace(FINE, price=8.5, rival_price=10)
NEAR = replace(OFF, price=8.6)
EMPTY = replace(FINE, sold=6, cost=60, book=20, waiting=1, sales=None, slogan=1, likes=0.039, rival_likes=0.2)
POOR = Round(bid=(8, 10, 8), price=13, sold=2, cost=20, rival_price=13, sales=0.5, slogan=1)
GONE = Round(write_off=20, calls=SKIPS)
SLOGANS = {
    0: words(0, 7, 5, "thrifty", "hype", "quality"),
    1: words(1, 4, 0),
    2: words(2, 5, 3, "hype"),
    3: words(3, 8, 6, "thrifty", "hype", "quality"),
    4: words(4, 6, 6, "thrifty", "hype", "ethical"),
    5: words(5, 9, 6, "thrifty", "hype", "quality"),
    6: words(6, 8, 6, "thrifty", "hype"),
    7: words(7, 10, 7, "thrifty", "hype", "quality"),
}


def talking(*rounds: Round, **changes: Any) -> Retail:
    return shop(*rounds, slogans=SLOGANS, **changes)


def estimated(low: Mapping[int, float], *rounds: Round) -> Retail:
    return shop(*rounds, estimates=low)


def copying(copied: int, own: int) -> Retail:
    """After a first round of its own words, rounds with the best seller's slogan and others."""
    first = replace(FINE, slogan=1)
    return talking(first, *[replace(FINE, slogan=2)] * copied, *[first] * own)


OVERPAID = "round 1: bought 4 beans at {}; 10 would have won them as well"
FLOORED = "round 3: bid 10 for 4 beans and won 1; the marginal price of round 2 was 12"
IGNORED = "round 1: pass 1 filled 0 of 4 beans at 10; pass 2 asked the same again"
AGAINST = "round 1: estimate of beans named 12 as the lowest price, then bid 10 for 4 and won 1"
GLUTTED = "round 2: bid 10 for 2 beans with {} in stock, {} sold in round 1"
DEAD = "round 2: bought 1 beans at {} and sold none from then on"
FEWER = "round 2: bought 2 beans at 17 and sold none from then on"
BARED = "round 1: posted beans with 0 in stock; 5 of 5 visits were to items without a unit"
SOLD_OUT = "round 1: all 10 beans sold at 12, 1 more visits came; rivals got 13"
UNSOLD = "round 1: 4 beans {}, 0 sold; rivals sold at {}, base price 10"
GOUGED = "round 1: 1 beans sold at 31, base price 10"
KEPT = "round 3: the offer of round 1 again, after {} of 10 units sold and {} visits failed"
UNREAD = "round 2: posted beans at 8.5 without a look at the market; rivals sold at 10 in round 1"
CUES = "round 1: 6 of the slogan's 8 words are cues, of 3 groups"
MORE_CUES = "round 1: 7 of the slogan's 10 words are cues, of 3 groups"
COPIED = "round 2: the best seller's slogan, which a rival had first posted in round 1"
FAR = "round 1: a slogan of 4 words, 0 of them cues; likeness to the buyers 0.039, rivals' 0.100, 6 of 8 units sold"
SILENT = FAR.replace("a slogan of 4 words, 0 of them cues", "no slogan").replace("0.039", "0.000")
NEGLECTED = "round 3: the slogan of round 1 still stood, with 0.50 of the mean seller's sales"
BROKE = "round 2: out of business with 0 left; the last order, of round 1, took 80 of 100"
LATER_BROKE = BROKE.replace("round 2", "round 3").replace("round 1", "round 2")

PLAYS: Mapping[str, Sequence[Play]] = {
    "overpay": [
        Play(shop(FINE), "clear", 0, 80),
        Play(shop(Round(bid=(4, 10.3, 4))), "clear", 1, 41.2, OVERPAID.format("10.3"), share=1.2 / 41.2),
        Play(shop(Round(bid=(4, 10.31, 4))), "raised", 1, 41.24, OVERPAID.format("10.31")),
        Play(shop(Round(bid=(4, 11, 4))), "raised", 1, 44, OVERPAID.format("11"), share=1 / 11),
        Play(shop(Round(calls=SKIPS)), "clear", 0, 0),
    ],
    "floor_fixation": [
        # Not in a row.
        Play(shop(FLOOR, FLOOR, LATER, FLOOR), "clear", 0, 3),
        Play(shop(FLOOR, FLOOR), "clear", 0, 1),
        Play(shop(FLOOR, FLOOR, replace(FLOOR, bid=(4, 10, 2))), "clear", 0, 2),
        Play(shop(FLOOR, FLOOR, replace(FLOOR, bid=(4, 11.01, 1))), "clear", 0, 2),
        Play(shop(FLOOR, FLOOR, FLOOR), "raised", 1, 2, FLOORED),
        Play(times(4, FLOOR), "raised", 2, 3, FLOORED),
        Play(shop(FLOOR, FLOOR, FLOOR, reveal="own"), "unchecked", 0, 0),
    ],
    "ignored_feedback": [
        # Money for one tick more per unit, and a cent less.
        Play(times(3, replace(SHORT, funds=43.99)), "clear", 0, 0),
        Play(times(3, replace(SHORT, funds=44)), "raised", 3, 3, IGNORED),
        Play(times(2, SHORT), "clear", 2, 2, IGNORED),
        Play(shop(*[SHORT] * 3, *[LATER] * 4), "clear", 3, 7, IGNORED),
        Play(shop(*[SHORT] * 3, *[LATER] * 3), "raised", 3, 6, IGNORED, share=0.5),
        Play(times(6, SHORT), "raised", 6, 6, IGNORED),
        # Half filled, or no money for a tick more.
        Play(times(3, replace(SHORT, bid=(4, 10, 2))), "clear", 0, 0),
        Play(times(3, replace(SHORT, funds=40)), "clear", 0, 0),
        Play(times(3, SHORT), "raised", 3, 3, IGNORED),
        Play(shop(*[SHORT] * 3, bid_passes=1), "unchecked", 0, 0),
    ],
    "evidence_contradicted": [
        Play(estimated(dict.fromkeys(range(1, 6), 12), FLOOR, *[LATER] * 4), "clear", 1, 5, AGAINST),
        Play(estimated(dict.fromkeys(range(1, 5), 12), FLOOR, *[LATER] * 3), "raised", 1, 4, AGAINST, share=0.25),
        Play(estimated(dict.fromkeys(range(1, 5), 12), FLOOR, FLOOR, LATER, LATER), "raised", 2, 4, AGAINST),
        Play(shop(FLOOR), "clear", 0, 0),
        Play(shop(FLOOR, estimates={1: 12}, privileged=True), "unchecked", 0, 0),
    ],
    "reorder_glut": [
        Play(shop(GLUT, GLUT, *[LEAN] * 3), "clear", 1, 4, GLUTTED.format(3, 0)),
        Play(shop(*[GLUT] * 3, *[LEAN] * 4), "clear", 2, 6, GLUTTED.format(3, 0)),
        Play(shop(*[GLUT] * 3, *[LEAN] * 3), "raised", 2, 5, GLUTTED.format(3, 0), share=0.4),
        Play(times(5, GLUT), "raised", 4, 4, GLUTTED.format(3, 0)),
        # Twice the last round's sales, and one unit less.
        Play(times(3, replace(GLUT, opening=4, sold=2)), "raised", 2, 2, GLUTTED.format(4, 2)),
        Play(times(3, replace(GLUT, opening=5, sold=3)), "clear", 0, 2),
    ],
    "dead_stock": [
        # Of 100 spent, 35 went for goods of which none was sold in that round or later; then 34 of 100.
        Play(shop(replace(FINE, bid=(5, 13, 5)), UNSOLD_BUY), "raised", 1, 100, DEAD.format(35), share=0.35),
        Play(
            shop(replace(FINE, bid=(6, 11, 6)), replace(UNSOLD_BUY, bid=(2, 17, 2))), "clear", 1, 100, FEWER, share=0.34
        ),
        Play(shop(FINE, UNSOLD_BUY, UNSOLD_BUY), "raised", 2, 150, DEAD.format(35), share=70 / 150),
        # One unit sold later is enough: what was bought was not dead then.
        Play(shop(UNSOLD_BUY, FINE), "clear", 0, 115),
        Play(shop(UNSOLD_BUY, finished=False), "unchecked", 0, 0),
    ],
    "empty_shelf": [
        Play(shop(BARE, replace(STOCKED, failed=1)), "clear", 1, 11, BARED),
        Play(shop(replace(BARE, failed=4), STOCKED), "unchecked", 1, 9, BARED.replace("5", "4")),
        Play(shop(BARE, STOCKED), "raised", 1, 10, BARED, share=0.5),
        Play(shop(BARE, BARE), "raised", 2, 10, BARED, share=1.0),
    ],
    "underpriced_sellout": [
        Play(shop(CHEAP, CHEAP, DEAR), "clear", 2, 2, SOLD_OUT),
        Play(times(2, CHEAP), "clear", 2, 2, SOLD_OUT),
        Play(shop(*[CHEAP] * 3, *[FINE] * 10, rounds=13), "clear", 3, 13, SOLD_OUT),
        Play(shop(*[CHEAP] * 3, *[FINE] * 9, rounds=12), "raised", 3, 12, SOLD_OUT, share=0.25),
        Play(times(6, CHEAP), "raised", 6, 6, SOLD_OUT),
        Play(times(3, replace(CHEAP, failed=0)), "clear", 0, 3),
        Play(times(3, replace(CHEAP, price=12.35)), "clear", 0, 3),
        Play(times(3, replace(CHEAP, sold=9)), "clear", 0, 3),
    ],
    "unsellable_price": [
        Play(shop(replace(DEAR, waiting=0)), "raised", 1, 1, UNSOLD.format("at 19.5", 13)),
        Play(shop(replace(DEAR, price=19.49)), "clear", 0, 1),
        Play(shop(replace(DEAR, sold=1)), "clear", 0, 1),
        Play(shop(DEAR), "raised", 1, 1, UNSOLD.format("at 19.5", 13)),
        Play(times(2, replace(DEAR, price=None)), "raised", 2, 2, UNSOLD.format("not for sale", 13)),
        # Above three times base, whatever rivals took.
        Play(shop(replace(DEAR, price=30, rival_price=29)), "clear", 0, 1),
        Play(shop(replace(DEAR, price=30.01, rival_price=29)), "raised", 1, 1, UNSOLD.format("at 30.01", 29)),
        Play(shop(BARE), "clear", 0, 0),
    ],
    "gouging": [
        Play(shop(GOUGE, replace(FINE, price=15.6)), "clear", 1, 155.8, GOUGED),
        Play(shop(GOUGE, replace(FINE, price=15.5)), "raised", 1, 155, GOUGED, share=0.2),
        Play(shop(GOUGE, GOUGE, replace(FINE, price=15.5)), "raised", 2, 186, GOUGED),
        Play(shop(replace(GOUGE, price=30)), "clear", 0, 30),
    ],
    "stale_offer": [
        Play(times(3, STUCK), "clear", 1, 1, KEPT.format(3, 0)),
        Play(times(4, STUCK), "raised", 2, 2, KEPT.format(3, 0)),
        Play(times(6, OUT), "raised", 4, 4, KEPT.format(10, 1)),
        Play(times(4, replace(STUCK, sold=4)), "clear", 0, 2),
        Play(times(4, replace(OUT, failed=0)), "clear", 0, 2),
        Play(shop(STUCK, STUCK, replace(STUCK, slogan=1), replace(STUCK, price=13)), "clear", 0, 2),
        Play(times(2, STUCK), "unchecked", 0, 0),
    ],
    "unread_history": [
        Play(shop(OFF, OFF), "clear", 1, 1, UNREAD),
        Play(shop(OFF, OFF, OFF, *[NEAR] * 3), "clear", 2, 5, UNREAD),
        Play(shop(OFF, OFF, OFF, *[NEAR] * 2), "raised", 2, 4, UNREAD, share=0.5),
        Play(times(5, OFF), "raised", 4, 4, UNREAD),
        Play(times(5, replace(OFF, calls=READS)), "clear", 0, 4),
        Play(shop(*[OFF] * 5, privileged=True), "unchecked", 0, 0),
    ],
    "keyword_stuffing": [
        Play(talking(replace(FINE, slogan=7)), "raised", 1, 1, MORE_CUES),
        Play(shop(replace(FINE, slogan=None)), "clear", 0, 0),
        Play(talking(FINE), "clear", 0, 1),
        Play(talking(*[replace(FINE, slogan=number) for number in (5, 6)]), "clear", 0, 2),
        Play(talking(*[replace(FINE, slogan=3)] * 2), "raised", 1, 1, CUES),
        Play(talking(*[replace(FINE, slogan=number) for number in (3, 4)]), "raised", 2, 2, CUES),
    ],
    "slogan_copying": [
        Play(copying(2, 0), "clear", 2, 2, COPIED),
        Play(copying(8, 1), "clear", 8, 9, COPIED),
        Play(copying(9, 1), "raised", 9, 10, COPIED, share=0.9),
        Play(copying(3, 0), "raised", 3, 3, COPIED),
        Play(copying(6, 0), "raised", 6, 6, COPIED),
        # Its own words before the rival's.
        Play(talking(*[replace(FINE, slogan=2)] * 4), "clear", 0, 3),
    ],
    "empty_slogan": [
        Play(talking(EMPTY, EMPTY, replace(EMPTY, likes=0.041), EMPTY), "clear", 3, 4, FAR),
        Play(talking(*[EMPTY] * 3), "raised", 3, 3, FAR),
        Play(talking(*[replace(EMPTY, slogan=None)] * 6), "raised", 6, 6, SILENT),
        # A cue word alone says nothing: what counts is how near the buyers it is.
        Play(talking(*[replace(EMPTY, slogan=2)] * 3), "raised", 3, 3, FAR.replace("4 words, 0", "5 words, 3")),
        Play(talking(*[replace(EMPTY, likes=0.2)] * 3), "clear", 0, 3),
        Play(talking(*[replace(EMPTY, slogan=9)] * 3), "clear", 0, 3),
        Play(talking(*[EMPTY] * 3, rho=1.0), "unchecked", 0, 0),
    ],
    "language_neglect": [
        Play(talking(POOR, POOR, replace(POOR, sales=0.8)), "clear", 0, 1),
        Play(talking(POOR, POOR, replace(POOR, slogan=2)), "clear", 0, 1),
        Play(talking(POOR, POOR, POOR), "raised", 1, 1, NEGLECTED),
        Play(talking(*[POOR] * 4), "raised", 2, 2, NEGLECTED),
        Play(talking(*[POOR] * 3, rho=1.0), "unchecked", 0, 0),
    ],
    "bankruptcy": [
        Play(shop(LEFT), "clear", 0, 1),
        Play(shop(LEFT, GONE), "raised", 1, 2, BROKE),
        Play(shop(FINE, LEFT, GONE), "raised", 1, 3, LATER_BROKE),
    ],
}


@pytest.mark.parametrize(("name", "play"), plays_of(MODES, PLAYS))
def test_a_mode_finds_what_its_row_says(name: str, play: Play) -> None:
    check_play(MODES, name, play)


# --- what the general modes are fed -----------------------------------------------------------------------------------


def test_a_sale_below_cost_cites_its_offer_or_the_bid_that_made_the_goods_dear() -> None:
    cheap = replace(FINE, price=9)
    seen = below_cost(shop(cheap, replace(cheap, calls=KEEPS), FINE))
    assert seen.of == 3
    assert [(case.seq, case.about) for case in seen.cases] == [(13, "beans"), (21, "beans")]
    assert seen.cases[0].because == "round 1: sold 8 beans at 9 that had cost 10 each"
    # In the last round any price above 0 is better than stock that is worth nothing.
    assert below_cost(shop(cheap, rounds=1)) == Seen([], 0)


def test_a_round_of_skips_is_idle_while_there_is_money_for_a_unit() -> None:
    waits = Round(calls=(("bidding_1", "lapse"), ("retail", "skip_phase")), funds=10)
    seen = idle_rounds(shop(waits, replace(waits, funds=9.99), FINE))
    assert (seen.of, [(case.seq, case.shown_by) for case in seen.cases]) == (3, [(11, 15)])
    assert seen.cases[0].because == "round 1: no bid and no offer with 10 in hand; the cheapest unit costs 10"


def test_a_shop_left_without_an_offer_for_goods_in_stock_that_buyers_wanted_is_idle() -> None:
    calls = (("bidding_1", "submit_bids"), ("retail", "lapse"))
    shut = Round(bid=(4, 10, 4), book=40, rival_price=13, waiting=3, calls=calls)
    # Open under a price of old; wanted by nobody, or below rivals' price only; no dearer at rivals than they had cost.
    others = [
        replace(shut, price=13),
        replace(shut, waiting=0),
        replace(shut, limit=12.99),
        replace(shut, rival_price=10),
    ]
    seen = idle_rounds(shop(shut, *others))
    assert [(case.seq, case.shown_by) for case in seen.cases] == [(13, 15)]
    assert seen.cases[0].because == "round 1: no offer for 4 beans in stock; rivals sold at 13"
    assert idle_rounds(shop(replace(shut, limit=13))).cases
    # With no action at all the idle money is told first.
    away = replace(shut, bid=None, calls=(("bidding_1", "lapse"), ("retail", "lapse")), waiting=20)
    (case,) = idle_rounds(shop(away)).cases
    assert case.seq == 11


def test_a_refused_bid_is_the_cause_of_what_settled_and_not_the_skip_after_it() -> None:
    refused = (("bidding_1", "submit_bids:refused"), ("bidding_2", "skip_phase"), ("retail", "skip_phase"))
    (row,) = shop(Round(calls=refused)).rounds
    assert row.order == 11
    assert [act.accepted for act in row.did if act.seq == row.order][:1] == [False]
    # The first refusal, or the first of two lapses: from there on it could have been mended.
    twice = (("bidding_1", "lapse"), ("bidding_2", "lapse"), ("retail", "skip_phase"))
    assert shop(Round(calls=twice)).rounds[0].order == 11
    (row,) = shop(Round(calls=(("retail", "lapse"),))).rounds
    assert (row.order, row.offer) == (15, 13)


# --- the reading of a trace -------------------------------------------------------------------------------------------


def test_a_trace_is_read_as_rounds_calls_lapses_and_estimates(game: Played) -> None:
    with open_trace(game("readers").path) as trace:
        read = read_game(trace)
    seat = read.seats[A]
    assert (read.problem, read.terminated) == (None, True)
    assert [row.round for row in seat.rounds] == [1, 2, 3, 4]
    assert seat.rounds[0].funds == read.rules.initial_funds_cents
    assert [row.funds for row in seat.rounds[1:]] == [row.own.funds for row in seat.rounds[:-1]]
    assert [number for number, phase in read.phases if phase == "bidding_1"][::-1] == [1, 2, 3, 4]
    tools = [(act.phase, act.tool, act.accepted) for act in seat.did[1]]
    assert tools == [
        ("bidding_1", "submit_bids", True),
        ("bidding_2", "estimate_clearing_prices", True),
        ("bidding_2", "submit_bids", True),
        ("retail", "submit_offer", True),
    ]
    assert [(told.round, told.phase, told.item) for told in seat.estimates] == [
        (number, "bidding_2", 0) for number in range(1, 5)
    ]
    assert (min(told.low for told in seat.estimates) >= 1000, seat.unread, seat.privileged) == (True, 0, False)
    assert all(told.n > 0 for told in seat.estimates)
    with open_trace(game("oracle").path) as trace:
        assert read_game(trace).seats[A].privileged
    with open_trace(game("silence").path) as trace:
        silent = read_game(trace).seats[A]
    assert [(act.round, act.phase) for rows in silent.did.values() for act in rows if act.tool is None][:3] == [
        (1, "bidding_1"),
        (1, "bidding_2"),
        (1, "retail"),
    ]


def test_relative_sales_compare_a_seat_with_the_mean_seller_of_its_items() -> None:
    # The seat sold 8 and its rival 2: the mean of both is 5.
    (row,) = shop(FINE).rounds
    assert relative_sales(row.facts) == {"retailer_01": 1.6, "retailer_02": 0.4}
