"""The order book's rules: benchmarks of zero intelligence, shares, refusals, queues; both ways of play are one.

Also here:
- The book trades as a list that is scanned for the best order would: in random streams and the sample sequences.
- The worked example of the page, to the digit.
"""

from __future__ import annotations

import json
import math
import os
import random
import statistics
from pathlib import Path
from typing import Any, Literal, cast

import pytest
from benchmarks import zero_intelligence
from benchmarks.bubbles import deviations
from benchmarks.order_book_fast import play_fast
from benchmarks.zero_intelligence import FILE, known, read_schedules, sessions_of
from tests.evaluation.playing import played_by

from tradefair.catalog import load_scenario
from tradefair.contract import IllegalAction, ScenarioError
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.markets.order_book.modes.play import read_game
from tradefair.evaluation.markets.order_book.outcomes import OrderBookMarket, OrderBookSeat
from tradefair.order_book.engine.book import Book, Fill, Side
from tradefair.order_book.model import OrderBookScenario
from tradefair.order_book.rules import OrderBook
from tradefair.tracestore import open_trace

DATA = os.environ.get("TRADEFAIR_DATA")


def scenario(preset: str = "smith", **changes: Any) -> OrderBookScenario:
    found = load_scenario("order_book", preset, changes)
    assert isinstance(found, OrderBookScenario)
    return found


def turn(market: OrderBook, seat: str) -> None:
    """Let everybody pass until it is this seat's step."""
    while seat not in market.awaited():
        for waiting in market.awaited():
            market.end_step(waiting)
        market.advance()


def _zero_intelligence(sessions: int, after_trade: Literal["clear", "keep"]) -> None:
    assert DATA is not None
    rows = read_schedules(Path(DATA) / FILE)
    assert len(rows) == 12
    for row in rows:
        expected = row["expected"]
        possible, found = sessions_of(row, sessions, after_trade)
        wanted = (expected["max_surplus"], expected["q_star"], expected["p_lo"], expected["p_hi"])
        assert tuple(possible) == wanted, row["name"]
        independent = known(row, "zi_c", after_trade)
        assert independent is not None
        assert found.apart(independent) <= 4, (row["name"], found, independent)


@pytest.mark.skipif(DATA is None, reason="TRADEFAIR_DATA names no sample data")
def test_zero_intelligence_is_as_efficient_as_on_the_sample_schedules() -> None:
    _zero_intelligence(12, "clear")


@pytest.mark.many
@pytest.mark.parametrize("after_trade", ["clear", "keep"])
@pytest.mark.skipif(DATA is None, reason="TRADEFAIR_DATA names no sample data")
def test_zero_intelligence_over_two_hundred_sessions(after_trade: Literal["clear", "keep"]) -> None:
    _zero_intelligence(200, after_trade)


# Of the page: schedules without a file. ZI-U trades every unit that it has.
_LONG_TAIL: dict[str, Any] = {"values": [[140], [110]], "costs": [[60], [90]], "price_max": 200}


def test_unconstrained_traders_are_as_efficient_as_the_schedule_is_whatever_they_draw() -> None:
    _, found = sessions_of(_LONG_TAIL, 20, "clear", "zi_u")
    assert (found.mean, found.sd) == (1.0, 0.0)
    crowded = {**_LONG_TAIL, "values": [[140], [110], [70], [65]], "costs": [[60], [90], [130], [135]]}
    _, losing = sessions_of(crowded, 20, "clear", "zi_u")
    # All four pairs trade: (385 - 415) of 100 possible.
    assert (losing.mean, losing.sd) == (-0.3, 0.0)


def test_the_file_of_a_stranger_is_played_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"name": "pair", "values": [[90]], "costs": [[10]], "price_max": 100}]
    (tmp_path / "own.json").write_text(json.dumps({"schedules": rows}))
    zero_intelligence.main([str(tmp_path / "own.json"), "--sessions", "4", "--json"])
    (line,) = json.loads(capsys.readouterr().out)
    assert (line["max_surplus"], line["trades"], line["p_lo"], line["p_hi"]) == (80, 1, 10, 90)
    assert line["zi_c, clear"]["sessions"] == 4
    (tmp_path / "own.json").write_text(json.dumps({"schedules": [{**rows[0], "values": [[90, 95]]}]}))
    with pytest.raises(SystemExit, match=r"values\.1: must fall"):
        zero_intelligence.main([str(tmp_path / "own.json")])


def near(found: list[float], mean: float, error: float) -> bool:
    """Whether two means lie within four joint standard errors."""
    joint = math.hypot(statistics.stdev(found) / math.sqrt(len(found)), error)
    return abs(statistics.fmean(found) - mean) <= 4 * joint


# Of the page: RAD and RD with their standard errors over 100 seeds, one unit and one resting order a seat.
ASSET = {
    "fundamentalist": (["fundamentalist"] * 9, 0.006, 0.0002, -0.001, 0.001),
    "zi_c": (["zi_c"] * 9, 0.152, 0.004, 0.008, 0.006),
    "three": (["trend_follower"] * 3 + ["fundamentalist"] * 6, 0.087, 0.006, 0.060, 0.006),
    "six": (["trend_follower"] * 6 + ["fundamentalist"] * 3, 0.481, 0.008, 0.378, 0.012),
    "trend": (["trend_follower"] * 9, 0.530, 0.005, 0.305, 0.010),
}


def _bubbles(name: str, seeds: int) -> None:
    field, rad, rad_error, rd, rd_error = ASSET[name]
    made = scenario("asset", one_order=True, max_quantity=1, seats={})
    paths = [deviations(play_fast(made, seed, dict(zip(made.roster, field, strict=True)))) for seed in range(seeds)]
    # The page prints three digits.
    for found, mean, error in (([p[0] for p in paths], rad, rad_error), ([p[1] for p in paths], rd, rd_error)):
        assert near(found, mean, math.hypot(error, 0.0005)), (name, statistics.fmean(found), mean)


@pytest.mark.parametrize("name", ["fundamentalist", "trend"])
def test_bubbles_of_a_few_seeds_are_those_of_the_page(name: str) -> None:
    _bubbles(name, 6)


@pytest.mark.many
@pytest.mark.parametrize("name", ASSET)
def test_bubbles_are_those_of_the_page(name: str) -> None:
    _bubbles(name, 200)


def test_dividends_are_all_that_comes_in() -> None:
    made = scenario("asset", seats={})
    market = play_fast(made, 3, dict.fromkeys(made.roster, "zi_c"))
    market.check()
    endowed = market.state.endowed.values()
    paid = sum(market.state.dividends) * sum(shares for _, shares in endowed)
    assert sum(market.state.cash.values()) - sum(cash for cash, _ in endowed) == paid


def test_refusals_say_what_is_allowed_and_change_nothing() -> None:
    market = OrderBook(scenario("smoke"), 1)
    turn(market, "B1")
    before = market.digest()
    for arguments, code in (
        (("sell", 100, 1), "wrong_side"),
        (("buy", 201, 1), "price_off_grid"),
        (("buy", 100, 2), "quantity_above_max"),
    ):
        with pytest.raises(IllegalAction) as refused:
            market.submit("B1", *arguments)  # pyright: ignore[reportArgumentType]
        assert refused.value.info.code == code
    with pytest.raises(IllegalAction) as refused:
        market.cancel("B1", 99)
    assert refused.value.info.code == "unknown_id"
    with pytest.raises(IllegalAction) as refused:
        market.submit("B1", "buy", 100, guard=2)
    assert refused.value.info.code == "stale_round"
    with pytest.raises(IllegalAction) as refused:
        market.submit("B2", "buy", 100)
    assert refused.value.info.code == "wrong_phase"
    assert market.digest() == before


def test_shares_are_backed() -> None:
    market = OrderBook(scenario("asset", seats={}), 1)
    turn(market, "T1")
    for arguments, code in ((("buy", 226, 1), "insufficient_funds"), (("sell", 300, 4), "insufficient_shares")):
        with pytest.raises(IllegalAction) as refused:
            market.submit("T1", *arguments)  # pyright: ignore[reportArgumentType]
        assert refused.value.info.code == code
    receipt = market.submit("T1", "sell", 300, 3)
    assert (receipt.resting, market.state.free_shares("T1")) == (3, 0)


def test_an_own_order_is_not_met_and_an_equal_one_keeps_its_place() -> None:
    market = OrderBook(scenario("asset", seats={}), 1)
    turn(market, "T1")
    market.submit("T1", "sell", 100, 1)
    market.advance()
    turn(market, "T1")
    with pytest.raises(IllegalAction) as refused:
        market.submit("T1", "buy", 100, 1)
    assert refused.value.info.code == "own_order"
    one = OrderBook(scenario("smoke"), 1)
    turn(one, "B1")
    first = one.submit("B1", "buy", 70).order
    one.advance()
    turn(one, "B1")
    assert one.submit("B1", "buy", 70).order == first


def _ladder(seeds: int) -> dict[str, float]:
    """Mean profits of B1 among `zip`; what it earns never passes its ceiling."""
    made = scenario("smith", seats={})
    means: dict[str, float] = {}
    for name in ("truthful", "zip", "gd", "kaplan"):
        won: list[int] = []
        for seed in range(seeds):
            market = play_fast(made, seed, {**dict.fromkeys(made.roster, "zip"), "B1": name})
            for seat in market.seats:
                assert market.state.profit[seat] <= _ceiling(market, seat)
            won.append(market.state.profit["B1"])
        means[name] = statistics.fmean(won)
    return means


def _ceiling(market: OrderBook, seat: str) -> int:
    own, sign = market.state.values[seat], 1 if seat[0] == "B" else -1
    partners = sorted(
        (unit for other, units in market.state.values.items() if other[0] != seat[0] for unit in units),
        reverse=sign < 0,
    )
    return market.scenario.periods * sum(max(0, sign * (v - c)) for v, c in zip(own, partners, strict=False))


def test_nobody_passes_the_ceiling_and_the_ladder_has_its_order() -> None:
    means = _ladder(10)
    assert means["truthful"] < means["zip"] < means["gd"]
    assert means["truthful"] < means["kaplan"]


@pytest.mark.many
def test_the_ladder_over_sixty_seeds() -> None:
    means = _ladder(60)
    assert means["truthful"] < means["zip"] < means["gd"] < means["kaplan"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"values": [[100], [90]]}, "values, costs: both or neither"),
        ({"arrival": "ticks"}, "the free clock goes with ticks"),
        ({"kind": "asset", "values": [[1]], "costs": [[1]]}, "values: only with kind = schedules"),
        ({"buyers": 1, "sellers": 1, "values": [[90, 100]], "costs": [[50]]}, "values.1: must fall from unit to unit"),
        ({"focus": "B9"}, "focus = B9: no such seat"),
    ],
)
def test_wrong_content_names_key_value_and_bound(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario("smith", **changes)
    assert words in str(refused.value)


class Scanned:
    """The same rules over a plain list: every order is looked at for every message."""

    def __init__(self) -> None:
        self.count = 0
        self.orders: list[list[object]] = []

    def submit(self, owner: str, side: Side, price: int, quantity: int, *, rest: bool = True) -> list[Fill]:
        self.count += 1
        fills: list[Fill] = []
        sign = 1 if side == "buy" else -1
        while quantity:
            meets = [row for row in self.orders if row[2] != side and sign * (price - int(str(row[3]))) >= 0]
            if not meets:
                break
            front = min(meets, key=lambda row: (sign * int(str(row[3])), row[0]))
            traded = min(quantity, int(str(front[4])))
            fills.append(Fill(int(str(front[0])), str(front[1]), int(str(front[3])), traded))
            quantity -= traded
            front[4] = int(str(front[4])) - traded
            self.orders = [row for row in self.orders if row[4]]
        if quantity and rest:
            self.orders.append([self.count, owner, side, price, quantity])
        return fills

    def cancel(self, order: int) -> int:
        gone = [int(str(row[4])) for row in self.orders if row[0] == order]
        self.orders = [row for row in self.orders if row[0] != order]
        return sum(gone)


def test_the_example_of_the_page() -> None:
    book = Book()
    book.submit("S1", "sell", 101, 2)
    book.submit("S2", "sell", 101, 1)
    book.submit("S3", "sell", 103, 4)
    number, fills = book.submit("B1", "buy", 102, 5)
    assert (number, fills) == (4, [Fill(1, "S1", 101, 2), Fill(2, "S2", 101, 1)])
    assert (book.best("buy"), book.best("sell")) == (102, 103)
    assert book.depth("buy", 5) == [(102, 2)]


@pytest.mark.parametrize("seed", range(20))
def test_it_trades_as_a_scanned_list_does(seed: int) -> None:
    draw, book, naive = random.Random(seed), Book(), Scanned()
    for _ in range(3_000):
        if draw.random() < 0.2 and book.count:
            order = draw.randint(1, book.count)
            assert book.cancel(order) == naive.cancel(order)
            assert book.cancel(order) == 0
            continue
        side: Side = "buy" if draw.random() < 0.5 else "sell"
        price, quantity, rest = draw.randint(80, 120), draw.randint(1, 9), draw.random() < 0.8
        owner = draw.choice("ABCDE")
        assert book.submit(owner, side, price, quantity, rest=rest)[1] == naive.submit(
            owner, side, price, quantity, rest=rest
        )
        bid, ask = book.best("buy"), book.best("sell")
        assert bid is None or ask is None or bid < ask
    left = [[order.number, order.owner, order.side, order.price, order.quantity] for order in book.orders()]
    assert sorted(map(str, left)) == sorted(map(str, naive.orders))


def test_a_smaller_quantity_keeps_its_place() -> None:
    book = Book()
    book.submit("A", "sell", 100, 5)
    book.submit("B", "sell", 100, 5)
    assert book.reduce(1, 2)
    assert not book.reduce(1, 2)
    assert book.ahead(2) == 2
    assert book.submit("C", "buy", 100, 3)[1] == [Fill(1, "A", 100, 2), Fill(2, "B", 100, 1)]


@pytest.mark.skipif("TRADEFAIR_DATA" not in os.environ, reason="TRADEFAIR_DATA names no sample data")
def test_the_sample_sequences_to_the_last_fill() -> None:
    found = json.loads((Path(os.environ["TRADEFAIR_DATA"]) / "order_book" / "sequences.json").read_text())
    assert len(found["sequences"]) == 4
    for sequence in found["sequences"]:
        book, position, cash = Book(), dict[str, int](), dict[str, int]()
        for kind, *rest in sequence["events"]:
            if kind == "cancel":
                assert book.cancel(rest[0]) == rest[1]
                continue
            seat, price, quantity, wanted = rest
            _, fills = book.submit(seat, kind, price, quantity)
            assert [[fill.order, fill.price, fill.quantity] for fill in fills] == wanted
            for fill in fills:
                sign = 1 if kind == "buy" else -1
                for owner, turned in ((seat, sign), (fill.owner, -sign)):
                    position[owner] = position.get(owner, 0) + turned * fill.quantity
                    cash[owner] = cash.get(owner, 0) - turned * fill.quantity * fill.price
        assert [[*level] for level in book.depth("buy", 100)] == sequence["bids"]
        assert [[*level] for level in book.depth("sell", 100)] == sequence["asks"]
        assert {seat: position.get(seat, 0) for seat in sequence["position"]} == sequence["position"]
        assert {seat: cash.get(seat, 0) for seat in sequence["cash"]} == sequence["cash"]


def _outcome(path: Path) -> tuple[dict[str, OrderBookSeat], OrderBookMarket]:
    outcome: Any = evaluate_file(path).outcome
    return outcome.seats, cast(OrderBookMarket, outcome.market_outcome)


def test_one_period_is_that_of_the_page(tmp_path: Path) -> None:
    path = played_by(tmp_path / "own.trace", "order_book/smoke", {}, 7, "truthful")
    seats, market = _outcome(path)
    with open_trace(path) as trace:
        fills = read_game(trace).fills
    assert [(fill.buyer, fill.seller, fill.taker, fill.price) for fill in fills] == [
        ("B2", "S2", "S2", 110),
        ("B1", "S1", "S1", 140),
    ]
    assert (market.max_surplus, market.q_star, market.p_lo, market.p_hi) == (100, 2, 90, 110)
    assert market.efficiency == 1
    assert market.alpha == pytest.approx(29.15, abs=0.005)
    assert {seat: own.profit for seat, own in seats.items()} == {"B1": 0, "B2": 0, "S1": 80, "S2": 20}
    assert [seats[seat].competitive_profit for seat in ("B1", "B2")] == [40, 10]
    assert [seats[seat].ceiling for seat in ("B1", "B2")] == [80, 50]


def test_a_sniper_in_the_same_seat_takes_its_ceiling(tmp_path: Path) -> None:
    path = played_by(tmp_path / "own.trace", "order_book/smoke", {"B1": "kaplan"}, 7, "truthful")
    own = _outcome(path)[0]["B1"]
    assert (own.profit, own.ceiling_share, own.taken, own.made) == (80, 1.0, 1, 0)
