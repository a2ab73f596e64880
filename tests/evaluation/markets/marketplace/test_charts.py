"""Pictures of a marketplace, as data and in a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.evaluation.browsing import browser as browser
from tests.evaluation.browsing import watched
from tests.evaluation.markets.marketplace.playing import C1, outcome, play
from tests.evaluation.mutations import parts_of, write_parts

from tradefair.evaluation.charts.chart import BarChart, Chart, IntervalChart, XYChart
from tradefair.evaluation.judge.evaluate import charts_of
from tradefair.evaluation.markets.marketplace.evaluator import EVALUATOR
from tradefair.evaluation.report import build_report
from tradefair.tracestore import open_trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ALL = ["funnel", "welfare", "losses", "rounds", "customers", "positions", "bargains"]


def _charts(path: Path) -> dict[str, Chart]:
    with open_trace(path) as trace:
        drawn, problem = charts_of(trace, EVALUATOR)
    assert problem is None
    return {chart.id: chart for chart in drawn}


def _bars(chart: Chart) -> dict[str, float | None]:
    assert isinstance(chart, BarChart)
    return dict(zip(chart.names, chart.bars.values, strict=True))


def _marks(chart: Chart) -> dict[str, float | None]:
    assert isinstance(chart, BarChart)
    assert chart.marks is not None
    return dict(zip(chart.names, chart.marks.values, strict=True))


def test_the_pictures_say_what_the_outcome_says(tmp_path: Path) -> None:
    path = play(tmp_path / "a.trace", seats={C1: "double_payer"})
    drawn, market = _charts(path), outcome(path).market_outcome
    assert list(drawn) == ALL
    assert _bars(drawn["funnel"]) == {step.step: step.fitting for step in market.funnel}
    assert _marks(drawn["funnel"]) == {step.step: step.customers for step in market.funnel}
    welfare = _bars(drawn["welfare"])
    assert (welfare["played"], welfare["optimal (maximum)"]) == (market.welfare, market.optimal)
    assert welfare["random items (mean)"] == market.random_items
    assert set(_marks(drawn["welfare"]).values()) == {market.welfare}
    losses = _bars(drawn["losses"])
    assert sum(worth or 0 for worth in losses.values()) == pytest.approx(market.loss)
    assert sum(_bars(drawn["customers"])[seat] or 0 for seat in (C1, "customer_0002", "customer_0003")) == (
        pytest.approx(market.welfare)
    )


def test_what_happened_is_counted_up_to_each_round(tmp_path: Path) -> None:
    rounds = _charts(play(tmp_path / "a.trace"))["rounds"]
    assert isinstance(rounds, XYChart)
    ends = {line.name: line.y[-1] for line in rounds.lines}
    assert ends == {"messages to businesses": 27, "proposals": 9, "payments": 3}
    assert all(line.x == [0, 1, 2, 3] and line.y[0] == 0 for line in rounds.lines)


def test_a_trade_lies_between_floor_and_value_unless_it_does_not_fit(tmp_path: Path) -> None:
    trades = _charts(play(tmp_path / "a.trace", "amenity_blind"))["bargains"]
    assert isinstance(trades, IntervalChart)
    rows = list(zip(trades.lows, trades.values, trades.highs, strict=True))
    assert (None, None) in [(low, high) for low, _, high in rows]
    inside = [(low, value, high) for low, value, high in rows if low is not None and high is not None]
    assert inside
    assert all(low <= value <= high for low, value, high in inside)


def test_what_was_bought_stands_at_the_position_where_it_was_shown(tmp_path: Path) -> None:
    given_values: dict[str, Any] = {"search_algorithm": "optimal", "search_limit": 3}
    chart = _charts(play(tmp_path / "a.trace", "position_taker", **given_values))["positions"]
    assert _bars(chart)["position 1"] == 3
    assert sum(worth or 0 for worth in _marks(chart).values()) == 3
    unseen = _charts(play(tmp_path / "b.trace", seats={C1: "oracle"}, search_limit=1))["positions"]
    assert _bars(unseen)["not listed"] == 1


def test_many_customers_are_shown_by_those_who_lost_most(tmp_path: Path) -> None:
    given_values: dict[str, Any] = {"data": {"customers": 40}, "rounds_max": 4}
    drawn = _charts(play(tmp_path / "a.trace", "window_shopper", **given_values))
    customers = drawn["customers"]
    assert isinstance(customers, BarChart)
    assert len(customers.names) == 30
    assert "The 30 of 40 who lost most" in customers.note
    assert "bargains" not in drawn


def test_a_trace_that_does_not_say_who_was_there_has_no_pictures(tmp_path: Path) -> None:
    parts = parts_of(play(tmp_path / "a.trace"))
    parts.core = parts.core.replace(b'"seed":1', b'"seed":2').replace(b'"id":"marketplace/test"', b'"id":7')
    del parts.bodies[1:], parts.numbers[1:]
    assert _charts(write_parts(parts, tmp_path / "b.trace")) == {}


@pytest.mark.browser
def test_a_report_shows_the_pictures_and_the_tables(browser: Browser, tmp_path: Path) -> None:
    trace = play(tmp_path / "a.trace", "amenity_blind")
    page_file = tmp_path / "a.html"
    page_file.write_bytes(build_report([trace], check=False).html)
    with watched(browser) as seen:
        page = seen.show(page_file.as_uri())
        page.locator("#market > summary").click()
        page.wait_for_selector("figure svg.plot")
        titles = page.locator("figure figcaption, figure h3, figure h4").all_inner_texts()
        assert any("From the market to the payment" in title for title in titles)
        assert page.locator("figure svg.plot").count() >= len(ALL)
        assert page.get_by_text("random items + amenities", exact=True).first.is_visible()
        assert seen.errors == []
