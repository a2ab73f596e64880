"""Steps, closures, arrival and the free clock of the order book, and what scenarios set by themselves."""

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
from tradefair.contract import ScenarioError
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.prove.verify import verify_file
from tradefair.order_book import MARKET
from tradefair.order_book.answers.results import PeriodClosed, PeriodFacts, Placed, StepClosed
from tradefair.order_book.model import OrderBookScenario
from tradefair.order_book.policies import POLICIES
from tradefair.order_book.rules import OrderBook
from tradefair.testing import play_scripted

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
