from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.fidelity.__main__ import figures

from tradefair.evaluation.charts.chart import XYChart
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.evaluate import Evaluation
from tradefair.evaluation.modes.diagnosis import Diagnosis
from tradefair.evaluation.ratings.leaderboards import leaderboards
from tradefair.evaluation.ratings.results import read_results
from tradefair.tracestore import open_trace

Evaluated = Callable[..., Evaluation]
MakeDay = Callable[..., Any]


def diagnosis_of(evaluation: Evaluation) -> Diagnosis:
    assert evaluation.diagnosis is not None, evaluation.problem
    assert evaluation.outcome is not None
    assert evaluation.outcome.findings == []
    return evaluation.diagnosis


@pytest.fixture
def fixture_days(day: MakeDay) -> list[Any]:
    """T = 10 of section 10: P1 acted on 1 and 5, P2 on 2; only P1 sells; a stock-out and two returns."""
    days = [day().has(units={0: 5}) for _ in range(10)]
    days[0].price("P001")
    days[4].price("P001")
    days[1].price("P002")
    days[2].stock_outs.append("P001")
    for at in (1, 5):
        days[at].has(returned={1: 1})
    return days


def test_the_fixture_of_the_specification_comes_out(evaluated: Evaluated, fixture_days: list[Any]) -> None:
    found = diagnosis_of(evaluated(fixture_days))
    counts = {
        name: (found.figure(name).numerator, found.figure(name).denominator)
        for name in ("acted_per_day", "missed_high_demand", "follow_up_rate", "follow_up_rate_uncensored")
    }
    assert counts == {
        "acted_per_day": (3, 10),
        "missed_high_demand": (2, 10),
        "follow_up_rate": (1, 2),
        "follow_up_rate_uncensored": (1, 3),
    }
    assert found.figure("hhi").value == pytest.approx(5 / 9)
    assert found.figure("high_demand_cov").value == 0.8
    assert found.figure("follow_up_rate").note == "1 censored"
    assert found.figure("unresolved_rate").value == 0.5
    assert found.figure("unresolved_rate_uncensored").value == pytest.approx(2 / 3)
    assert found.figure("unresolved_rate").parts == {"stock_out": 0.0, "return": 1.0, "expiry": None}
    assert found.figure("latency").value == 2.0


def test_figures_cite_the_events_behind_them(evaluated: Evaluated, fixture_days: list[Any]) -> None:
    found = diagnosis_of(evaluated(fixture_days))
    # Events: start 1; day 1 has price 2, end 3, close 4; day 2 price 5, end 6, close 7; days 3, 4 two each; price 12.
    assert found.figure("acted_per_day").events == [2, 5, 12]
    assert found.figure("follow_up_rate").events == [5]
    assert found.figure("unresolved_rate").events == [7]
    assert found.figure("missed_high_demand").events == [22, 24]


def test_a_figure_without_cases_is_null(evaluated: Evaluated, day: MakeDay) -> None:
    found = diagnosis_of(evaluated([day() for _ in range(3)]))
    for stage in found.stages:
        for figure in stage.figures:
            assert (figure.value is None) == (not figure.denominator), figure.id


def test_an_action_rests_on_what_was_looked_at_for_that_product_on_that_day_before_it(
    evaluated: Evaluated, day: MakeDay
) -> None:
    full = (
        day()
        .call("view_inventory")
        .call("view_product_prices", product_ids=["P001"])
        .call("view_product_inventory_cost", product_ids=["P001", "P002"], inner=True)
        .call("view_sales_profit_history", product_ids=["P001"], start_date="1991-08-01", end_date="1991-09-06")
        .price("P001")
        .price("P002")
    )
    late = day().price("P001").call("view_inventory")
    refused = day().call("view_inventory", "rejected").price("P001")
    found = diagnosis_of(evaluated([full, late, refused]))
    # Needs: price, cost, inventory, sales. P002 lacks price and sales; yesterday's reads count for nothing.
    assert found.figure("query_depth").numerator == pytest.approx(1 + 0.5)
    assert (found.figure("completeness").numerator, found.figure("completeness").denominator) == (1, 4)
    assert found.figure("match_rate").numerator == 2
    assert found.figure("missing_rate").parts["modify_product_price.inventory"] == 0.5
    # P001: four tools, the last right before it; P002: two, one read and one price between.
    assert found.figure("tool_variety").numerator == 4 + 2
    assert (found.figure("query_gap").numerator, found.figure("query_gap").denominator) == (0 + 2, 2)


def test_a_read_that_ended_too_long_ago_is_no_evidence(evaluated: Evaluated, day: MakeDay) -> None:
    def read(end: str) -> Any:
        return day().call("view_sales_profit_history", product_ids=["P001"], start_date="1991-07-01", end_date=end)

    # Day 1 is 1991-09-07: 30 days before it still counts.
    found = diagnosis_of(evaluated([read("1991-08-08").price("P001"), read("1991-08-08").price("P001")]))
    assert found.figure("missing_rate").parts["modify_product_price.sales"] == 0.5


def test_scopes_follow_the_shelf_and_the_supplier(evaluated: Evaluated, day: MakeDay) -> None:
    shelf = day().call("set_shelf_products", product_ids=["P001"]).call("view_shelf_status")
    shelf.price("P001").price("P002")
    found = diagnosis_of(evaluated([shelf]))
    assert found.figure("missing_rate").parts["modify_product_price.price"] == 0.5

    rate = {"supplier_id": "supplier_3", "start_date": "1991-08-08", "end_date": "1991-09-06"}
    asked = (
        day().call("view_supplier_returns_avg_rate", **rate, product_ids=["P001"]).order("supplier_3", "P001", "P002")
    )
    found = diagnosis_of(evaluated([asked]))
    assert found.figure("missing_rate").parts["place_order.quality"] == 0.5
    # Without ids: every product ever ordered from that supplier, and yesterday P002 was.
    rest = day().order("supplier_3", "P002")
    again = day().call("view_supplier_returns_avg_rate", **rate).order("supplier_3", "P002")
    found = diagnosis_of(evaluated([rest, again]))
    assert found.figure("missing_rate").parts["place_order.quality"] == 0.5


def test_quality_is_not_needed_where_there_is_no_feedback(evaluated: Evaluated, day: MakeDay) -> None:
    found = diagnosis_of(evaluated([day().order("supplier_1", "P001")], feedback={"enabled": False}))
    assert "place_order.quality" not in found.figure("missing_rate").parts
    assert "place_order.supplier_price" in found.figure("missing_rate").parts


def test_attention_is_naming_a_product_or_acting_on_it(evaluated: Evaluated, day: MakeDay) -> None:
    days = [
        day().call("view_inventory").call("set_shelf_products", product_ids=["P001"]),
        day().call("view_product_prices", product_ids=["P001", "P002"]).price("P003"),
    ]
    found = diagnosis_of(evaluated(days))
    assert found.figure("attended_per_day").numerator == 3
    assert (found.figure("overlap").numerator, found.figure("overlap").denominator) == (0, 2)


def test_a_price_is_held_against_the_most_profitable_one_in_sight(evaluated: Evaluated, day: MakeDay) -> None:
    # 6.10: 1.20 sold 30, 31, 29, 30, 30 and 1.05 sold 44, 40, 42 a day, unit cost .56: p* = 1.05.
    quotes = dict.fromkeys(range(60), 5600)
    sold = [(120, units) for units in (30, 31, 29, 30, 30)] + [(105, units) for units in (44, 40, 42)]
    days = [day() for _ in range(22)]
    for cents, units in sold:
        traded = day().has(price_cents={0: cents}, units={0: units}, on_shelf={0: 1}, opening_stock={0: 99})
        traded.pairs["units"] = {0: units}
        days.append(traded)
    today = day().price("P001", 1.05).price("P001", 1.2).price("P002", 60.0).price("P003", 2.0)
    today.pairs["quote_e4"] = quotes
    evaluation = evaluated([*days, today])
    found = diagnosis_of(evaluation)
    distance = found.figure("price_distance")
    assert evaluation.outcome is not None
    assert evaluation.outcome.seats["manager"].price_distance == distance.value
    assert (distance.numerator, distance.denominator) == (pytest.approx(100 * 15 / 105), 2)
    assert distance.note == "2 without a p* and 0 above 50.00 left out"
    assert found.figure("price_correct").value == 0.5


def test_an_order_line_is_ranked_by_true_quality_and_quote(evaluated: Evaluated, day: MakeDay) -> None:
    days = [day().order("supplier_1", "P001", quantity=30).order("supplier_5", "P002", quantity=10)]
    found = diagnosis_of(evaluated(days))
    assert found.figure("supplier_score").value == 0.5
    assert found.figure("supplier_score").parts["by_units"] == 0.25
    assert (found.figure("quality_first").value, found.figure("price_first").value) == (0.5, 0.5)
    assert found.figure("price_first").parts["by_units"] == 0.75
    assert found.figure("quality_regret").value == pytest.approx(1.4)
    assert found.figure("quality_ratio").value == pytest.approx((2 / 4.8 + 1) / 2)


def test_ignored_returns_compares_suppliers_that_are_known(evaluated: Evaluated, day: MakeDay) -> None:
    # 6.11: 200 sold, 6 back and 40 sold, 9 back: r̂ .0365 and .1347; the past lies outside the 60 days.
    past = [day() for _ in range(60)]
    past[-1].pairs = {"units": {0: 200, 1: 40}, "returned": {0: 6, 1: 9}}
    past[-1].has(units={0: 240})
    bought = day().order("supplier_1", "P001", quantity=80).order("supplier_2", "P001").order("supplier_3", "P001")
    found = diagnosis_of(evaluated([*past, bought]))
    assert (found.figure("ignored_returns").numerator, found.figure("ignored_returns").denominator) == (1, 2)
    assert (found.figure("order_correct").numerator, found.figure("order_correct").denominator) == (1, 3)
    # 240 units in 30 days.
    assert found.figure("order_cover").numerator == pytest.approx((80 + 10 + 10) / 8)


def test_refused_lines_count_as_attempts_one_by_one(evaluated: Evaluated, day: MakeDay) -> None:
    tried = day().order("supplier_1", "P001", "P002", status="rejected").price("P001", 0, status="invalid")
    tried.price("P001").price("P002", status="denied")
    found = diagnosis_of(evaluated([tried]))
    assert (found.figure("blocked_rate").numerator, found.figure("blocked_rate").denominator) == (3, 4)


def test_repeated_events_without_attention_are_counted(evaluated: Evaluated, day: MakeDay) -> None:
    days = [day().has(expired={0: 1}), day().has(returned={0: 1}).price("P001"), day().has(returned={0: 1})]
    found = diagnosis_of(evaluated(days))
    assert (found.figure("repeated").numerator, found.figure("repeated").denominator) == (1, 3)
    assert found.figure("continuity").value == 0.0


def test_a_board_draws_the_conduct_of_each_label_as_its_stages_have_it(play_retail: Callable[..., Path]) -> None:
    path = play_retail("careful_reader")
    (board,) = leaderboards(read_results([path, play_retail("price_first")], series=True, proven=False)).boards
    charts = {chart.id: chart for chart in board.charts if isinstance(chart, XYChart)}
    assert {*charts} == {name for (source, _), of in figures().items() if source == "retailbench" for name in of.draws}
    with open_trace(path) as trace:
        stages = [row for stage in evaluator_of("retail").stages(trace) for row in stage.figures]
    known = {row.id.removeprefix("retail."): row.value or 0.0 for row in stages}
    at = {
        "evidence": (known["query_depth"], known["completeness"]),
        "attention": (known["acted_per_day"], known["high_demand_cov"]),
        "returning": (known["follow_up_rate"], 1 - known["unresolved_rate"]),
        "suppliers": (known["price_first"], known["quality_first"]),
        "decisions": (1.0, known["supplier_score"]),
    }
    far = max(charts["decisions"].lines, key=lambda line: line.x[0]).x[0]
    for name, (x, y) in at.items():
        (line,) = [line for line in charts[name].lines if line.name.startswith("policy:careful_reader")]
        assert (line.x[0], line.y[0]) == pytest.approx((far if name == "decisions" else x, y), abs=1e-3), name
    # Without series nothing of the stages is computed.
    assert all(not seat.conduct for game in read_results([path]).games for seat in game.seats)
