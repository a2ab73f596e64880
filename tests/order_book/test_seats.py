"""What scripted seats do in one step, by hand: buyers in their own terms, sellers through the mirror, shares."""

from __future__ import annotations

import pytest

from tradefair.contract import Draw
from tradefair.order_book.seats.asset import Fundamentalist, MarketMaker, Momentum, TrendFollower
from tradefair.order_book.seats.controls import Ring
from tradefair.order_book.seats.desk import Act, Desk, Heard, Resting, turned_back
from tradefair.order_book.seats.traders import Aa, Anchored, Gd, Kaplan, Shaver, ZiC, Zip, believed
from tradefair.trading.beliefs import Margin, beliefs, moved

PASS = Act()
DRAW = Draw.of(1, "B1")


def desk(**known: object) -> Desk:
    """A buyer's step on a grid to 200, value 100."""
    heard, resting = known.pop("heard", []), known.pop("resting", [])
    made = Desk(200, DRAW, value=100, hear=lambda: heard, rest=lambda: resting)  # pyright: ignore[reportArgumentType, reportReturnType]
    for name, value in known.items():
        setattr(made, name, value)
    return made


def shout(side: str, price: int, *, accepted: bool = False, mine: bool = False) -> Heard:
    return Heard(side, price, accepted, mine)  # pyright: ignore[reportArgumentType]


def test_a_seller_is_a_buyer_in_the_mirror() -> None:
    assert turned_back(Act(61), "seller", 200) == ("sell", 140)
    assert turned_back(Act(0), "buyer", 200) == ("buy", 1)
    # A cost of 60 is a value of 141: at most as high a bid, at least as high an ask.
    bids = [ZiC().act(desk(value=141, step=step)).price for step in range(300)]
    asks = [turned_back(Act(bid), "seller", 200)[1] for bid in bids]
    assert (min(asks) >= 60, max(asks) <= 200, max(asks) - min(asks) > 120) == (True, True, True)


@pytest.mark.parametrize(
    ("known", "act"),
    [
        ({"best_ask": 99, "best_bid": 90}, Act(99)),  # a spread of 9 in 99
        ({"best_ask": 99, "best_bid": 80}, PASS),
        ({"best_ask": 70, "trades": [70, 72]}, Act(70)),
        ({"best_ask": 72, "trades": [70, 72]}, PASS),
        ({"best_ask": 99, "passed": 0.81}, Act(99)),
        ({"best_ask": 99, "passed": 0.8}, PASS),
        ({"best_ask": 100, "best_bid": 99, "passed": 0.9}, PASS),
    ],
)
def test_a_sniper_waits_for_a_small_spread_a_good_price_or_the_end(known: dict[str, object], act: Act) -> None:
    assert Kaplan().act(desk(**known)) == act


def test_a_shaver_betters_the_best_bid_of_others_up_to_its_value() -> None:
    assert Shaver().act(desk()) == Act(50)
    assert Shaver().act(desk(best_bid=70)) == Act(71)
    assert Shaver().act(desk(best_bid=100)) == Act(100)
    assert Shaver().act(desk(best_bid=70, resting=[Resting(1, "buy", 70, 1)])) == PASS


def test_an_anchored_trader_starts_below_the_mean_of_trades_and_ends_nearer_its_value() -> None:
    assert Anchored().act(desk(value=180)) == Act(97)
    assert Anchored().act(desk(value=180, trades=[90] * 3)) == Act(87)
    assert Anchored().act(desk(value=180, trades=[90], passed=0.8)) == Act(117)  # 89.4 + .3 of the way
    assert Anchored().act(desk(value=180, trades=[90], best_ask=89)) == Act(89)
    assert Anchored().act(desk(value=80, trades=[90], best_ask=85)) == Act(80)


def test_beliefs_count_what_stands_below_and_what_failed_above() -> None:
    assert beliefs([0, 1, 0, 0], [0, 0, 1, 0]) == [0.0, 0.5, 0.5, 1.0]
    assert beliefs([0, 0], [0, 0]) == [None, None]
    heard = [shout("buy", 60, accepted=True), shout("sell", 80), shout("buy", 70), shout("buy", 90)]
    f = believed(heard, 200)
    assert (f[59], f[60], f[75], f[80], f[91]) == (0.0, 1 / 3, 1 / 2, 2 / 3, 1.0)


def test_gd_bids_the_smallest_best_of_belief_times_profit_and_takes_what_is_sure() -> None:
    heard = [shout("buy", 60, accepted=True), shout("buy", 50), shout("sell", 90)]
    # f is 1 from 60 on: 40 is earned there, and less above.
    assert Gd().act(desk(heard=heard)) == Act(60)
    assert Gd().act(desk(heard=heard, best_ask=55)) == Act(55)
    assert Gd().act(desk(heard=heard, best_bid=64)) == Act(64)


def test_the_margin_moves_by_a_step_towards_the_target_and_never_beyond_the_value() -> None:
    assert moved(100, Margin(-0.2, 0.0), 90, 0.5, 0.0) == pytest.approx((-0.15, 5.0))
    # Momentum: .1 of the last change, .9 of the new step.
    assert moved(100, Margin(-0.2, 10.0), 90, 0.5, 0.1) == pytest.approx((-0.145, 5.5))
    assert moved(100, Margin(-0.01, 0.0), 300, 0.5, 0.0).margin == 0.0


@pytest.mark.parametrize(
    ("heard", "way"),
    [
        (shout("buy", 60, accepted=True), -1),
        (shout("sell", 60, accepted=True), -1),
        (shout("sell", 99, accepted=True), 1),
        (shout("buy", 99), 1),
        (shout("buy", 99, mine=True), 0),
        (shout("buy", 60), 0),
        (shout("sell", 99), 0),
        (shout("buy", 99, accepted=True), 0),
    ],
)
def test_zip_lowers_what_it_could_have_cheaper_and_raises_what_it_missed(heard: Heard, way: int) -> None:
    trader = Zip()
    before = trader.act(desk(value=100)).price
    after = trader.act(desk(value=100, heard=[heard] * 3)).price
    assert before is not None
    assert after is not None
    assert 65 <= before <= 95
    assert (after > before) - (after < before) == way


def test_adaptive_aggressiveness_takes_what_its_target_reaches_and_moves_there_in_thirds() -> None:
    trader = Aa()
    known = {"value": 150, "trades": [100] * 5, "passed": 0.5}
    bid = trader.act(desk(**known, best_bid=40)).price
    assert bid is not None
    assert 40 < bid < 40 + (100 - 40) / 2
    assert trader.act(desk(**known, best_ask=30)) == Act(30)
    # Missed trades make it bid more, trades that it could have had make it bid less.
    eager, calm = Aa(), Aa()
    eager.act(desk(value=150, trades=[100] * 5))
    calm.act(desk(value=150, trades=[100] * 5))
    raised = eager.act(desk(value=150, trades=[100] * 5, heard=[shout("buy", 149)] * 4, best_bid=40)).price
    lowered = calm.act(desk(value=150, trades=[100] * 5 + [60] * 4, best_bid=40)).price
    assert raised is not None
    assert lowered is not None
    assert lowered < bid < raised


def shares(**known: object) -> Desk:
    return desk(**{"asset": True, "value": None, "cash": 500, "shares": 3, "worth": 100.0, **known})


def test_a_maker_quotes_both_sides_leans_against_its_position_and_stops_at_its_limit() -> None:
    maker = MarketMaker(4, 2)
    assert maker.act(shares()) == Act(98, "buy")
    bid = Resting(1, "buy", 98, 1)
    assert maker.act(shares(resting=[bid])) == Act(102, "sell")
    # One share bought: both quotes are a tick lower. At two it buys no more.
    assert maker.act(shares(shares=4)) == Act(97, "buy")
    assert maker.act(shares(shares=5)) == Act(100, "sell")
    far = Resting(7, "buy", 60, 1)
    assert maker.act(shares(resting=[far])) == Act(98, "buy", cancel=(7,))


def test_a_fundamentalist_takes_what_is_cheap_beside_its_belief_else_quotes_within_six_percent() -> None:
    sure = Fundamentalist(0)
    assert sure.act(shares(best_ask=97)) == Act(97, "buy")
    assert sure.act(shares(best_bid=103)) == Act(103, "sell")
    quotes = [sure.act(shares(best_ask=99, best_bid=101, step=step)) for step in range(100)]
    bids = [quote.price for quote in quotes if quote.side == "buy" and quote.price]
    asks = [quote.price for quote in quotes if quote.side == "sell" and quote.price]
    assert (min(bids), max(bids)) == (94, 99)
    assert (min(asks), max(asks)) == (101, 106)
    assert 30 < len(bids) < 70


def test_followers_expect_the_last_change_or_the_last_trades_to_go_on() -> None:
    trend = TrendFollower()
    assert 50 <= trend.believed(shares()) <= 90
    assert 115 <= trend.believed(shares(means=[100.0, None, 110.0])) <= 120
    assert Momentum().believed(shares(trades=[1, 100, 102, 104, 106, 108])) == pytest.approx(104 + 10)
    assert Momentum().believed(shares(trades=[80])) == 100


def test_the_ring_asks_twenty_above_competition_and_late_the_highest_competitive_price() -> None:
    known = {"value": 141, "competitive": (90, 110)}
    early = Ring().act(desk(**known, passed=0.5))
    assert turned_back(early, "seller", 200) == ("sell", 130)
    assert turned_back(Ring().act(desk(**known, passed=0.9)), "seller", 200) == ("sell", 110)
