"""The order book's rules: benchmarks of zero intelligence, shares, refusals, queues; both ways of play are one."""

from __future__ import annotations

import json
import math
import os
import statistics
from pathlib import Path
from typing import Any, Literal

import pytest
from benchmarks import zero_intelligence
from benchmarks.bubbles import deviations
from benchmarks.order_book_fast import play_fast
from benchmarks.zero_intelligence import FILE, known, read_schedules, sessions_of

from tradefair.catalog import load_scenario
from tradefair.contract import IllegalAction, ScenarioError
from tradefair.order_book.model import OrderBookScenario
from tradefair.order_book.rules import OrderBook

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
