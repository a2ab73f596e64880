"""What the pictures show, against small games whose numbers are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.evaluation.markets.marketplace.playing import play as play_marketplace
from tests.evaluation.playing import played

from tradefair.evaluation.charts import Axis, BarChart, Bars, Chart, HeatChart, Line, XYChart
from tradefair.evaluation.evaluator import Evaluator, evaluator_of
from tradefair.evaluation.judge.evaluate import charts_of, evaluate
from tradefair.evaluation.report import episode_page
from tradefair.tracestore import Trace, open_trace


def drawn(path: Path) -> dict[str, Chart]:
    with open_trace(path) as trace:
        charts, problem = charts_of(trace, evaluator_of(trace.manifest.core.market))
    assert problem is None
    return {chart.id: chart for chart in charts}


def xy(charts: dict[str, Chart], name: str) -> XYChart:
    chart = charts[name]
    assert isinstance(chart, XYChart)
    return chart


def bars(charts: dict[str, Chart], name: str) -> BarChart:
    chart = charts[name]
    assert isinstance(chart, BarChart)
    return chart


def test_supply_demand_and_prices_of_a_known_game(play_quotes: Callable[..., Path]) -> None:
    charts = drawn(play_quotes([90, 50], [20, 60], [{"B1": 80, "B2": 30, "S1": 40, "S2": 70}]))
    demand, supply, trades = xy(charts, "supply_and_demand").lines
    assert (demand.x, demand.y) == ([0, 1, 2], [90, 50, 50])
    assert (supply.x, supply.y) == ([0, 1, 2], [20, 60, 60])
    # One trade, so that it stands at one unit; bid and ask meet half way.
    assert (trades.x, trades.y) == ([1], [60])
    (band,) = xy(charts, "prices").bands
    assert (band.low, band.high) == (50, 60)
    (overcharge,), (band,) = xy(charts, "overcharge").lines, xy(charts, "overcharge").bands
    assert (overcharge.y, band.low, band.high) == ([5], -5, 5)


def test_offsets_are_mirrored_for_sellers_and_empty_where_nothing_was_quoted(play_quotes: Callable[..., Path]) -> None:
    quotes: Sequence[dict[str, int]] = [{"B1": 80, "S1": 40}, {"B1": 95}]
    charts = drawn(play_quotes([90], [20], quotes))
    lines = {line.panel: line.y for line in xy(charts, "offsets").lines}
    assert lines == {"B1 · value 90": [10, -5], "S1 · cost 20": [20, None]}
    gains = bars(charts, "gains")
    assert (gains.names, gains.bars.values) == (["B1", "S1"], [30, 40])
    trading = charts["trading"]
    assert isinstance(trading, HeatChart)
    assert trading.cells == [(0, 1, 1), (1, 1, 1), (0, 2, 2), (1, 2, 3)]


def test_the_pictures_of_a_store_are_its_outcome(tmp_path: Path) -> None:
    path = played(tmp_path / "store.trace", "retail/smoke", "bare_shelf", seed=3)
    charts = drawn(path)
    with open_trace(path) as trace:
        outcome = evaluate(trace)
    paths = outcome.market_outcome
    worth, cash = xy(charts, "worth").lines
    assert [round(100 * value) for value in worth.y if value is not None] == paths.net_worth_path
    assert [round(100 * value) for value in cash.y if value is not None] == paths.funds_path
    assert sum(value for value in xy(charts, "sales").lines[0].y if value) == outcome.seats["manager"].units_sold
    empty = charts["empty_shelves"]
    assert isinstance(empty, HeatChart)
    assert len({day for _, day, level in empty.cells if level == 1}) == outcome.seats["manager"].stockout_days
    parts = bars(charts, "gain").bars.values
    assert sum(value for value in parts[:-1] if value is not None) == pytest.approx(parts[-1])


class Breaks(Evaluator):
    def charts(self, trace: Trace) -> Sequence[Chart]:
        raise ZeroDivisionError("of a stranger")


def test_a_picture_that_cannot_be_drawn_is_a_problem_on_the_page(play_quotes: Callable[..., Path]) -> None:
    with open_trace(play_quotes([90], [20], [{"B1": 80, "S1": 40}])) as trace:
        charts, problem = charts_of(trace, Breaks())
        assert charts == []
        assert problem is not None
        assert "of a stranger" in problem
        assert charts_of(trace, Evaluator()) == ([], None)


def test_a_picture_says_what_is_wrong_with_its_numbers() -> None:
    with pytest.raises(ValidationError, match="2 x and 1 y"):
        Line(name="short", x=[1, 2], y=[1])
    with pytest.raises(ValidationError):
        Line(name="endless", x=[1], y=[float("inf")])
    lines = [Line(name="ask", x=[1, 2], y=[5, 6], shade_to="bid"), Line(name="bid", x=[1, 3], y=[4, 4])]
    with pytest.raises(ValidationError, match="no line 'bid' has the same positions"):
        XYChart(id="q", title="q", x=Axis(label="x"), y=Axis(label="y"), lines=lines)
    with pytest.raises(ValidationError, match="1 values for 2 names"):
        BarChart(
            id="b", title="b", x=Axis(label="x"), y=Axis(label="y"), names=["a", "b"], bars=Bars(name="n", values=[1])
        )


def test_looks_before_actions_are_counted_by_round(tmp_path: Path) -> None:
    episode = episode_page(played(tmp_path / "store.trace", "retail/smoke", "careful_reader", seed=3), check=False)
    orders = next(row for row in episode.evidence if row.action == "place_order")
    assert {"inventory", "sales", "supplier_price", "quality"} == set(orders.needed)
    assert 0 < orders.looked["inventory"] <= orders.count
    used = {row.tool: row for row in episode.audit}
    assert used["view_inventory"].rounds == 14
    assert used["view_news_history"].answered == 0
    assert used["view_news_history"].offered
    (looks,) = episode.looks
    counted = sum(value for row, _, value in looks.cells if looks.rows[row] == "inventory")
    shown = [row for row in episode.audit if "inventory" in row.evidence]
    assert counted == sum(row.answered for row in shown)


def test_the_evidence_of_an_action_is_what_tools_of_the_seats_role_can_give(tmp_path: Path) -> None:
    episode = episode_page(play_marketplace(tmp_path / "services.trace"), check=False)
    needed = {(row.seat, row.action): set(row.needed) for row in episode.evidence}
    assert needed["customer_0001", "send_message"] == {"market_listing", "counterpart_profile"}
    assert needed["business_0001", "send_message"] == set()
    assert needed["business_0001", "send_proposal"] == {"own_catalogue", "counterpart_message"}
