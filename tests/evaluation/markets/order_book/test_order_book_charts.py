"""Charts of the order book, against a small game whose every trade is known, and against the outcomes of shares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.calling import seating
from tests.evaluation.playing import played, store

from tradefair.catalog import load_scenario
from tradefair.contract import Chance
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.charts import BarChart, Chart, Line, XYChart
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.evaluate import charts_of, evaluate
from tradefair.evaluation.markets.order_book import charts as charts_module
from tradefair.order_book import MARKET
from tradefair.tracestore import open_trace

SCHEDULES = {"buyers": 2, "sellers": 2, "values": [[140, 100], [110, 50]], "costs": [[60, 120], [90, 130]]}


def drawn(path: Path) -> dict[str, Chart]:
    with open_trace(path) as trace:
        charts, problem = charts_of(trace, evaluator_of("order_book"))
    assert problem is None
    return {chart.id: chart for chart in charts}


def line(chart: Chart, name: str) -> Line:
    assert isinstance(chart, XYChart)
    return next(line for line in chart.lines if line.name == name)


def bars(chart: Chart) -> BarChart:
    assert isinstance(chart, BarChart)
    return chart


@pytest.fixture
def charts(tmp_path: Path) -> dict[str, Chart]:
    """Two sweeps in rotation: S1 sells to B2 at its bid of 100, B1 gives up its bid of 70 and buys from S2 at 105."""
    changes: dict[str, Any] = {**SCHEDULES, "units": 2, "periods": 1, "sweeps": 2, "arrival": "rotation", "seats": {}}
    core = Core.create(MARKET, load_scenario("order_book", "smith", changes), 1)
    records = list(core.start(seating(core.market.seats, dict.fromkeys(("B2", "S1", "S2"), "zip"))).records)
    first = [("B1", "buy", 70), ("B2", "buy", 100), ("S1", "sell", 80), ("S2", "sell", 105)]
    second = [("B2", "buy", 85), ("S1", "", 0), ("S2", "", 0), ("B1", "buy", 105)]
    for seat, side, price in [*first, *second]:
        tool, arguments = ("submit_order", {"side": side, "price": price}) if side else ("pass_turn", {})
        records += core.call(seat, tool, arguments).records
    assert core.ended == "terminated:rounds_completed"
    return drawn(store(tmp_path / "game.trace", core, records))


def test_the_path_shows_own_trades_apart_and_the_range_of_best_quotes(charts: dict[str, Chart]) -> None:
    path = charts["path"]
    own, others = line(path, "B1 traded"), line(path, "trades")
    assert ((own.x, own.y), (others.x, others.y)) == (([8], [105]), ([3], [100]))
    bid, ask = line(path, "best bid"), line(path, "best ask")
    assert bid.y == [None, 70, 100, 70, 70, 85, 85, 85]
    assert ask.y == [None, None, None, None, 105, 105, 105, 105]
    assert ask.shade_to == "best bid"
    assert isinstance(path, XYChart)
    assert [(band.low, band.high) for band in path.bands] == [(100, 110)]


def test_a_dot_stands_in_the_middle_of_each_traded_unit(charts: dict[str, Chart]) -> None:
    chart = charts["supply_and_demand"]
    assert line(chart, "demand (values)").y == [140, 110, 100, 50, 50]
    assert line(chart, "supply (costs)").y == [60, 90, 120, 130, 130]
    bought, sold = line(chart, "bought"), line(chart, "sold")
    assert (bought.x, bought.y) == ([0.5, 1.5], [140, 110])
    assert (sold.x, sold.y) == ([0.5, 1.5], [60, 90])


def test_of_more_units_than_a_line_may_have_the_last_periods_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = played(tmp_path / "long.trace", "order_book/smith", "truthful", seed=2, periods=4, seats={})
    whole = drawn(path)["supply_and_demand"]
    # Twelve units a side: there is room for two periods.
    monkeypatch.setattr(charts_module, "MAX_POINTS", 24)
    cut = drawn(path)["supply_and_demand"]
    assert (whole.note[-22:], cut.note[-22:]) == ("of the last 4 periods.", "of the last 2 periods.")
    assert len(line(cut, "bought").x) == len(line(cut, "sold").x)
    assert 0 < len(line(cut, "bought").x) < len(line(whole, "bought").x)
    with open_trace(path) as trace:
        assert len(line(whole, "bought").x) == evaluate(trace).market_outcome.trades


def test_the_ladder_is_the_fullest_book_that_the_seat_met_with_its_own_order_marked(charts: dict[str, Chart]) -> None:
    assert [name for name in charts if name.startswith("book_")] == ["book_B1"]
    ladder = bars(charts["book_B1"])
    assert ladder.names == ["ask 105", "bid 85", "bid 70, own"]
    assert ladder.bars.values == [1, 1, 1]
    assert ladder.marks is not None
    assert ladder.marks.values == [None, None, 1]
    assert "step 8 of period 1" in ladder.note


def test_earnings_stand_beside_those_at_competitive_prices(charts: dict[str, Chart]) -> None:
    chart = bars(charts["earned"])
    assert (chart.names, chart.bars.values) == (["B1", "B2", "S1", "S2"], [35, 10, 40, 15])
    assert chart.marks is not None
    assert chart.marks.values == [35, 5, 45, 15]


def test_the_gap_and_the_holdings_of_shares_are_those_of_the_outcome(tmp_path: Path) -> None:
    path = played(tmp_path / "asset.trace", "order_book/asset_short", "zi_c", seed=4, seats={})
    charts = drawn(path)
    assert "supply_and_demand" not in charts
    price, worth = line(charts["mispricing"], "mean price"), line(charts["mispricing"], "fundamental value")
    gaps = [abs(p - v) for p, v in zip(price.y, worth.y, strict=True) if p is not None and v is not None]
    level = sum(value for value in worth.y if value is not None) / len(worth.y)
    holdings = charts["holdings"]
    assert isinstance(holdings, XYChart)
    with open_trace(path) as trace:
        outcome = evaluate(trace)
    assert sum(gaps) / len(gaps) / level == pytest.approx(outcome.market_outcome.rad)
    assert bars(charts["earned"]).bars.values == [outcome.seats[seat].gain for seat in outcome.seats]
    held = [sum(line.y[at] or 0 for line in holdings.lines) for at in range(len(worth.y) + 1)]
    assert len({*held}) == 1


@pytest.mark.parametrize("after_trade", ["keep", "clear"])
def test_the_ladder_is_the_fullest_book_that_the_seat_could_see_before_it_acted(
    tmp_path: Path, after_trade: str
) -> None:
    # Several orders a seat, each of several units: filled in part, cancelled and lapsed on the way.
    changes: dict[str, Any] = {
        "one_order": False,
        "max_quantity": 3,
        "traders": 4,
        "seats": {},
        "after_trade": after_trade,
    }
    core = Core.create(MARKET, load_scenario("order_book", "asset_short", changes), 5)
    records = list(core.start(seating(core.market.seats, dict.fromkeys(("T2", "T3", "T4"), "zi_c"))).records)
    luck = Chance(5)

    def ask(seat: str, tool: str, **arguments: Any) -> dict[str, Any]:
        done = core.call(seat, tool, arguments)
        records.extend(done.records)
        assert done.answer is not None
        return orjson.loads(done.answer.body or b"{}")

    seen: list[dict[str, tuple[int, int]]] = []
    while core.ended is None:
        (seat,) = core.market.awaited()
        step = core.seq
        book, own = ask(seat, "view_book", levels=50), ask(seat, "view_my_orders")["orders"]
        kept = {("ask" if row["side"] == "sell" else "bid", row["price"]): 0 for row in own}
        for row in own:
            kept["ask" if row["side"] == "sell" else "bid", row["price"]] += row["quantity"]
        cancels = bool(own) and luck.uniform("cancel", step) < 0.2
        if cancels:
            ask(seat, "cancel_order", order=own[0]["order"])
        side = "buy" if luck.uniform("side", step) < 0.5 else "sell"
        price, quantity = 45 + int(luck.uniform("price", step) * 11), 1 + int(luck.uniform("quantity", step) * 3)
        acted = ask(seat, "submit_order", side=side, price=price, quantity=quantity) or ask(seat, "pass_turn")
        if seat == "T1" and (cancels or "order" in acted):
            levels = [(kind, row) for kind in ("ask", "bid") for row in book[f"{kind}s"]]
            seen.append({f"{k} {r['price']}": (r["quantity"], kept.get((k, r["price"]), 0)) for k, r in levels})
    ladder = bars(drawn(store(tmp_path / "game.trace", core, records))["book_T1"])
    assert ladder.marks is not None
    marks = [int(own or 0) for own in ladder.marks.values]
    shown = {
        name.removesuffix(", own"): (units, own)
        for name, units, own in zip(ladder.names, ladder.bars.values, marks, strict=True)
    }
    fullest = max(seen, key=lambda levels: sum(units for units, _ in levels.values()))
    assert shown == fullest
    assert any(marks)
    assert len(shown) >= 2
