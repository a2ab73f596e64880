"""Steps, closures, arrival and the free clock of the order book, and what scenarios set by themselves.

Also here:
- What scripted seats do in one step, by hand: buyers in their own terms, sellers through the mirror, shares.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
from benchmarks.order_book_fast import play_fast
from tests.calling import seating
from tests.evaluation.playing import played, store

from tradefair.catalog import load_scenario
from tradefair.contract import Draw, ScenarioError
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.prove.verify import verify_file
from tradefair.order_book import MARKET
from tradefair.order_book.answers.results import PeriodClosed, PeriodFacts, Placed, StepClosed
from tradefair.order_book.model import OrderBookScenario
from tradefair.order_book.policies import POLICIES
from tradefair.order_book.rules import OrderBook
from tradefair.order_book.seats.asset import Fundamentalist, MarketMaker, Momentum, TrendFollower
from tradefair.order_book.seats.controls import Ring
from tradefair.order_book.seats.desk import Act, Desk, Heard, Resting, turned_back
from tradefair.order_book.seats.traders import Aa, Anchored, Gd, Kaplan, Shaver, ZiC, Zip, believed
from tradefair.testing import play_scripted
from tradefair.trading.beliefs import Margin, beliefs, moved

PAIR: dict[str, Any] = {"buyers": 1, "sellers": 1, "values": [[90, 80, 70]], "costs": [[10, 20, 30]], "seats": {}}


def scenario(preset: str = "smith", **changes: Any) -> OrderBookScenario:
    found = load_scenario("order_book", preset, {"seats": {}, **changes})
    assert isinstance(found, OrderBookScenario)
    return found


def closure(market: OrderBook, seat: str, *order: Any) -> StepClosed:
    """All others pass until it is the seat's step; what its order, or its pass, makes public."""
    while seat not in market.awaited():
        (waiting,) = market.awaited()
        market.end_step(waiting)
        market.advance()
    if order:
        market.submit(seat, *order)
    else:
        market.end_step(seat)
    public = market.advance().public
    return public.last_step if isinstance(public, PeriodClosed) else public  # pyright: ignore[reportReturnType]


def test_an_order_given_again_changes_nothing_in_public_and_a_smaller_one_takes_its_part_off() -> None:
    market = OrderBook(scenario(**PAIR, max_quantity=3), 1)
    assert closure(market, "B1", "buy", 50, 3).placed == [Placed(side="buy", price=50, quantity=3)]
    again = closure(market, "B1", "buy", 50, 3)
    assert (again.placed, again.cancelled) == ([], [])
    fewer = closure(market, "B1", "buy", 50, 1)
    assert (fewer.placed, fewer.cancelled) == ([], [Placed(side="buy", price=50, quantity=2)])
    other = closure(market, "B1", "buy", 51, 1)
    assert other.cancelled == [Placed(side="buy", price=50, quantity=1)]
    assert other.placed == [Placed(side="buy", price=51, quantity=1)]


def test_what_is_left_of_an_order_does_not_rest_where_a_trade_clears_the_book() -> None:
    market = OrderBook(scenario(**PAIR, max_quantity=3, after_trade="clear"), 1)
    closure(market, "B1", "buy", 50, 1)
    closed = closure(market, "S1", "sell", 40, 3)
    assert [(trade.price, trade.quantity) for trade in closed.trades] == [(50, 1)]
    assert (closed.placed, closed.best_ask) == ([], None)


def test_trades_name_seats_only_where_the_scenario_says_so() -> None:
    for named in (False, True):
        market = OrderBook(scenario(**PAIR, identities=named), 1)
        closure(market, "B1", "buy", 50)
        (trade,) = closure(market, "S1", "sell", 50).trades
        assert (trade.buyer, trade.seller) == (("B1", "S1") if named else (None, None))


def test_each_sweep_asks_every_seat_once_and_rotation_moves_the_first_seat_on() -> None:
    for arrival in ("sweeps", "rotation"):
        market = OrderBook(scenario(arrival=arrival, periods=1, sweeps=4), 1)
        asked: list[str] = []
        while market.terminated is None:
            (seat,) = market.awaited()
            asked.append(seat)
            market.end_step(seat)
            market.close_step()
        sweeps = [asked[first : first + 8] for first in range(0, 32, 8)]
        assert all(sorted(sweep) == sorted(market.seats) for sweep in sweeps)
        if arrival == "rotation":
            assert [sweep[0] for sweep in sweeps] == ["B1", "B2", "B3", "B4"]
        else:
            assert len({tuple(sweep) for sweep in sweeps}) == 4


def test_no_order_changes_who_is_asked_when() -> None:
    one, two = (play_fast(scenario(), 3, dict.fromkeys(scenario().roster, name)) for name in ("zip", "passive"))
    assert one.state.trades
    # Of the last period: until a seat has no unit left, both ask the same.
    for first, second in zip(one.state.asked, two.state.asked, strict=False):
        assert first is None or first == second


def test_random_arrival_asks_each_seat_about_as_often_and_a_seat_without_units_uses_the_step_up() -> None:
    market = OrderBook(scenario("zi"), 2)
    drawn = Counter(market._asked(step) for step in range(1, 661))  # pyright: ignore[reportPrivateUsage]
    assert set(drawn) == set(market.seats)
    assert max(drawn.values()) < 2.2 * 660 / 22
    finished = play_fast(scenario("zi"), 2, dict.fromkeys(market.seats, "zi_c"))
    assert len(finished.state.asked) == 660
    assert None in finished.state.asked


def test_the_facts_of_a_period_tell_who_was_asked() -> None:
    game = play_scripted(MARKET, scenario("zi"), 2, "zi_c")
    facts = next(event["facts"] for event in game.events if event["event"] == "round_closed")
    told = PeriodFacts.model_validate_json(orjson.dumps(facts))
    assert told.asked == play_fast(scenario("zi"), 2, dict.fromkeys(scenario("zi").roster, "zi_c")).state.asked
    assert {message.seat for message in told.messages} <= {seat for seat in told.asked if seat}


def test_an_asset_market_has_the_defaults_of_one_and_limits_grow_with_the_steps() -> None:
    asset = load_scenario("order_book", "smith", {"kind": "asset", "seats": {}})
    assert isinstance(asset, OrderBookScenario)
    assert (asset.one_order, asset.max_quantity, asset.max_orders) == (False, 10, 20)
    assert scenario().limits[0].max == 400
    assert scenario(sweeps=40).limits[0].max == 2_000
    assert scenario(sweeps=40, limits=[]).limits == ()


def test_a_period_whose_facts_no_reader_would_take_is_refused() -> None:
    with pytest.raises(ScenarioError, match="steps: 40,000 steps a period; at most 30,000"):
        scenario(arrival="random", steps=40_000)
    with pytest.raises(ScenarioError, match="sweeps"):
        scenario(sweeps=1_000, buyers=20, sellers=20)
    assert scenario(**PAIR, sweeps=1_000).steps_per_period == 2_000


PLAYED = [
    (preset, name)
    for preset, roles in (
        ("smith", {"buyer", "seller"}),
        ("live", {"buyer", "seller"}),
        ("zi", {"buyer", "seller"}),
        ("asset_short", {"trader"}),
    )
    for name, spec in POLICIES.items()
    if hasattr(spec.rule, "act") and spec.roles & roles
]


@pytest.mark.parametrize(("preset", "own"), PLAYED)
def test_every_policy_submits_the_same_orders_over_tools_and_by_rules_alone(preset: str, own: str) -> None:
    made = scenario(preset, **({"steps": 60} if preset == "zi" else {"periods": 2, "sweeps": 3}))
    stand_in = "fundamentalist" if made.kind == "asset" else "zip"
    seat = next(seat for seat, role in made.roster.items() if role in POLICIES[own].roles)
    policies = {**dict.fromkeys(made.roster, stand_in), seat: own}
    fast, slow = play_fast(made, 5, policies), play_scripted(MARKET, made, 5, policies).core.market
    assert isinstance(slow, OrderBook)
    assert fast.state.trades == slow.state.trades
    assert fast.state.shouts == slow.state.shouts
    assert (fast.state.cash, fast.state.profit) == (slow.state.cash, slow.state.profit)


def _live(folder: Path, first: str, second: str) -> tuple[Path, OrderBook]:
    """Two buyers reach for one ask in an order of their own; then ticks until the end."""
    made = scenario(
        "live", buyers=2, sellers=2, units=1, values=[[140], [110]], costs=[[60], [90]], periods=1, sweeps=2
    )
    core = Core.create(MARKET, made, 1)
    records = list(core.start(seating(core.market.seats)).records)
    for seat, side, price in (("S1", "sell", 80), (first, "buy", 100), (second, "buy", 100)):
        records += core.call(seat, "submit_order", {"side": side, "price": price}).records
    while core.ended is None:
        records += core.feed("clock_tick", None).records
    assert isinstance(core.market, OrderBook)
    return store(folder / f"{first}.trace", core, records), core.market


def test_under_the_free_clock_the_log_is_the_time_priority_and_re_executes(tmp_path: Path) -> None:
    for first, second in (("B1", "B2"), ("B2", "B1")):
        path, market = _live(tmp_path, first, second)
        assert [(trade.taker, trade.price) for trade in market.state.trades] == [(first, 80)]
        assert verify_file(path).verdict == "reproduced"
    scripted = played(tmp_path / "scripted.trace", "order_book/live", "zip", 3, periods=2)
    assert verify_file(scripted).verdict == "reproduced"


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
