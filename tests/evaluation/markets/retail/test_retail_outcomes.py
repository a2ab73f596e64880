from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tradefair.evaluation.judge.evaluate import Evaluation, evaluate_file
from tradefair.evaluation.markets.retail.evaluator import EVALUATOR
from tradefair.evaluation.markets.retail.outcomes import RetailSeat, share_of_oracle
from tradefair.runner.commands import evaluate_command as commands

Evaluated = Callable[..., Evaluation]
MakeDay = Callable[..., Any]
PlayRetail = Callable[..., Path]


def manager_of(evaluation: Evaluation) -> RetailSeat:
    assert evaluation.outcome is not None, evaluation.problem
    return evaluation.outcome.seats["manager"]


def test_every_outcome_has_the_formula_of_the_specification(evaluated: Evaluated, day: MakeDay) -> None:
    first = (
        day()
        .has(on_shelf={0: 1, 1: 1}, opening_stock={0: 4}, demand={0: 6}, units={0: 4, 2: 1}, returned={0: 1})
        .is_(funds_cents=-500, short_units=2, empty_demand=1.5, net_lost_units=2.5)
    )
    first.stock_outs, first.empty_shelf = ["P001"], ["P002"]
    first.call("view_inventory").call("execute_code").call("view_inventory", inner=True).call("add_note", text="x")
    first.price("P001", 0, status="invalid").order("supplier_1", "P001", status="rejected")
    second = day().has(expired={3: 5}, on_shelf={0: 1}).order("supplier_1", "P001", "P002").order("supplier_2", "P001")
    seat = manager_of(evaluated([first, second]))
    assert (seat.survival_days, seat.units_sold, seat.sold_products_per_day) == (2, 5, 1.0)
    assert (seat.return_ratio, seat.expired_ratio) == (0.2, 0.5)
    assert (seat.stockout_days, seat.empty_shelf_rate, seat.short_units) == (1, pytest.approx(1 / 3), 2)
    assert (seat.empty_demand, seat.net_lost_units, seat.lost_sales_rate) == (1.5, 2.5, pytest.approx(2.5 / 7.5))
    assert (seat.lowest_funds, seat.lowest_funds_day) == (-5.0, 1)
    # Six direct calls and end_today, then two orders and end_today; the seventh call of day 1 ran inside the code.
    assert (seat.direct_calls_per_day, seat.total_calls_per_day) == (4.5, 5.0)
    # The rejected order and the invalid price were no decisions that the store saw.
    assert (seat.order_lines, seat.price_distance, seat.price_close) == (3, None, None)
    assert (seat.note_calls, seat.rejected_actions, seat.invalid_actions) == (1, 1, 1)
    assert (seat.input_tokens, seat.tokens_per_day, seat.lapsed_days) == (None, None, 0)


def test_tokens_a_day_are_those_of_all_calls_and_unknown_where_one_does_not_say(
    play_retail: PlayRetail, tmp_path: Path
) -> None:
    path = tmp_path / "noted.trace"
    shutil.copy(play_retail("passive"), path)
    # The notes of both turns stand in the trace when it is read for the second time.
    for output, expected in ((20, pytest.approx(120 / 14)), (None, None)):
        call = orjson.dumps({"kind": "model_call", "input_tokens": 100, "output_tokens": output})
        with closing(sqlite3.connect(path)) as database:
            database.execute("INSERT INTO agent_events (seat, body) VALUES (?, ?)", ("manager", call))
            database.commit()
        assert manager_of(evaluate_file(path)).tokens_per_day == expected


def test_an_episode_without_a_closed_day_has_no_numbers(evaluated: Evaluated) -> None:
    evaluation = evaluated([])
    seat = manager_of(evaluation)
    assert (seat.survival_days, seat.net_worth_final, seat.gain, seat.profit) == (0, None, None, None)
    assert evaluation.diagnosis is not None
    assert evaluation.diagnosis.raised == []
    own = [finding for finding in evaluation.diagnosis.findings if finding.id.startswith("retail.")]
    assert {finding.status for finding in own} == {"unchecked"}


flows = st.dictionaries(st.integers(0, 11), st.integers(0, 10**6), max_size=4)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    days=st.lists(st.tuples(flows, flows, flows, flows), min_size=1, max_size=3),
    held=st.lists(st.tuples(st.integers(0, 9_999), st.integers(0, 9_999)), min_size=12, max_size=12),
    rent=st.integers(0, 60_000),
)
def test_profits_of_products_and_categories_sum_to_the_gain_to_the_cent(
    evaluated: Evaluated, day: MakeDay, days: list[Any], held: list[tuple[int, int]], rent: int
) -> None:
    names = ("revenue_cents", "refunds_cents", "cost_of_goods_cents", "expiry_cost_cents")
    made = [day().has(**dict(zip(names, columns, strict=True))).is_(rent_cents=rent) for columns in days]
    costs, values = [max(pair) for pair in held], [min(pair) for pair in held]
    trade = sum(
        (1 if place == 0 else -1) * amount
        for columns in days
        for place, flow in enumerate(columns)
        for amount in flow.values()
    )
    gain = trade - rent * len(days) - (sum(costs) - sum(values))
    ending = {
        "product_stock_cost_cents": costs,
        "product_stock_value_cents": values,
        "stock_cost_cents": sum(costs),
        "stock_value_cents": sum(values),
        "net_worth_cents": 300_000 + gain,
    }
    evaluation = evaluated(made, ending=ending)
    profit = manager_of(evaluation).profit
    assert evaluation.outcome is not None
    assert profit is not None
    assert evaluation.outcome.findings == []
    assert (profit.gain_cents, profit.unexplained_cents) == (gain, 0)
    for group in (profit.by_product, profit.by_category):
        assert sum(goods.profit_cents or 0 for goods in group.values()) - profit.rent_cents == gain
    assert len(profit.by_product) == 12
    assert len(profit.by_category) == 4


def test_a_gain_that_the_books_do_not_explain_is_a_finding(evaluated: Evaluated, day: MakeDay) -> None:
    evaluation = evaluated([day()], ending={"net_worth_cents": 300_007})
    assert evaluation.outcome is not None
    assert [finding.message for finding in evaluation.outcome.findings] == [
        "7 cents of the gain are not explained by the books"
    ]


@pytest.mark.parametrize("policy", ["passive", "random_legal", "careful_reader", "oracle", "stockpiler"])
def test_the_decomposition_of_played_episodes_is_exact(play_retail: PlayRetail, policy: str) -> None:
    for seed in (1, 2):
        evaluation = evaluate_file(play_retail(policy, seed))
        seat = manager_of(evaluation)
        profit = seat.profit
        assert profit is not None
        assert evaluation.outcome is not None
        assert evaluation.outcome.findings == []
        assert profit.unexplained_cents == 0
        assert seat.net_worth_final == pytest.approx(3_000 + profit.gain_cents / 100)
        parts = sum(goods.profit_cents or 0 for goods in profit.by_product.values())
        assert parts - profit.rent_cents == profit.gain_cents


def test_an_unfinished_episode_counts_its_closed_days(evaluated: Evaluated, day: MakeDay) -> None:
    sold = day().has(revenue_cents={0: 500}, units={0: 5}, cost_of_goods_cents={0: 200}).is_(net_worth_cents=300_300)
    evaluation = evaluated([sold], ended=False)
    seat = manager_of(evaluation)
    assert evaluation.outcome is not None
    assert evaluation.outcome.censored
    assert (seat.gain, seat.survival_days) == (3.0, 1)
    assert seat.profit is not None
    assert seat.profit.unexplained_cents == 0
    assert seat.profit.by_product["P001"].profit_cents is None


@pytest.mark.parametrize(
    "broken",
    [
        {"day": 7},
        {"product": {}},
        {"supplier": {"suppliers": 3, "quote_e4": [], "quality_milli": [], "units": [], "returned": []}},
        {"stock_outs": None},
    ],
)
def test_facts_of_another_store_are_a_finding_and_the_days_before_them_count(
    evaluated: Evaluated, day: MakeDay, broken: dict[str, Any]
) -> None:
    evaluation = evaluated([day().has(units={0: 3}), day().is_(**broken) if "day" in broken else _spoilt(day, broken)])
    assert evaluation.outcome is not None
    assert evaluation.outcome.findings
    assert manager_of(evaluation).units_sold == 3
    assert evaluation.diagnosis is not None


def _spoilt(day: MakeDay, broken: dict[str, Any]) -> Any:
    spoilt = day()
    if "product" in broken:
        spoilt.columns["units"] = {0: "many"}
    elif "supplier" in broken:
        spoilt.pairs["units"] = {0: None}
    else:
        spoilt.stock_outs = None
    return spoilt


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("place_order", {"supplier_id": "supplier_77", "lines": []}),
        ("place_order", {"lines": []}),
        ("modify_product_price", {"product_id": ["P001"], "new_price": "dear"}),
        ("view_sales_profit_history", {"product_ids": {"P001": 1}, "end_date": "yesterday"}),
    ],
)
def test_calls_that_no_rules_have_executed_are_findings(
    evaluated: Evaluated, day: MakeDay, tool: str, arguments: dict[str, Any]
) -> None:
    evaluation = evaluated([day().call(tool, **arguments)])
    assert evaluation.outcome is not None
    assert "does not fit this market" in evaluation.outcome.findings[0].message
    assert manager_of(evaluation).survival_days == 1


def test_the_share_of_the_oracle_is_null_without_room_between_the_references() -> None:
    assert share_of_oracle(50.0, 0.0, 100.0) == 0.5
    assert share_of_oracle(50.0, 100.0, 100.0) is None
    assert share_of_oracle(None, 0.0, 100.0) is None
    assert share_of_oracle(50.0, None, 100.0) is None


def test_references_stand_beside_the_agent(play_retail: PlayRetail) -> None:
    outcomes = {
        f"policy:{name}": evaluate_file(play_retail(name)).outcome for name in ("careful_reader", "oracle", "passive")
    }
    relative = EVALUATOR.relative("manager", {label: outcome for label, outcome in outcomes.items() if outcome})
    shares = {label: numbers["share_of_oracle"] for label, numbers in relative.items()}
    assert (shares["policy:passive"], shares["policy:oracle"]) == (0.0, 1.0)
    assert (shares["policy:careful_reader"] or 0) > 0


def _command() -> typer.Typer:
    app = typer.Typer()
    app.command()(commands.evaluate)
    return app


def test_evaluate_prints_outcome_decomposition_stages_and_findings(play_retail: PlayRetail) -> None:
    shown = CliRunner().invoke(_command(), ["--all", str(play_retail("careful_reader"))]).output
    for words in (
        "profit decomposition",
        "= gain",
        "1 product selection",
        "2 evidence",
        "3 conversion",
        "4 follow-up",
        "found:",
        "checked, not found:",
    ):
        assert words in shown
    refunds = next(line for line in shown.splitlines() if line.startswith("− refunds"))
    assert "-" not in refunds
    passive = CliRunner().invoke(_command(), ["--all", str(play_retail("passive"))]).output
    assert "manager only closed the day on 14 of 14 days." in passive
    assert "#2 day 1: closed without an action" in passive


def test_evaluate_as_json_holds_everything(play_retail: PlayRetail, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    commands.evaluate([str(play_retail("oracle"))], as_json=True)
    (told,) = orjson.loads(capfdbinary.readouterr().out)["traces"]
    assert told["outcome"]["seats"]["manager"]["profit"]["unexplained_cents"] == 0
    assert len(told["diagnosis"]["stages"]) == 4
    assert sum(finding["id"].startswith("retail.") for finding in told["diagnosis"]["findings"]) == 10
    assert told["diagnosis"]["evidence_map"] == "paper-text-1"
    missing = next(item for item in told["diagnosis"]["findings"] if item["id"] == "missing_evidence")
    assert (missing["status"], missing["note"]) == ("unchecked", "privileged")


ODD: list[Any] = [None, {}, [], -5, 2**62, "P001", ["P001"], {"P001": 1}, [{"product_id": "P9"}], 1.5, True]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_odd_calls_and_facts_are_findings_not_exceptions(
    play_retail: PlayRetail, tmp_path: Path, editor: Callable[[Path], Any], data: st.DataObject
) -> None:
    path = tmp_path / "odd.trace"
    path.write_bytes(play_retail("careful_reader").read_bytes())
    forged = editor(path)
    events: list[dict[str, Any]] = [orjson.loads(body) for body in forged.bodies()]
    event = data.draw(st.sampled_from([event for event in events if event["event"] != "episode_started"]))
    inside = event.get("facts") or event.get("arguments") or event
    if data.draw(st.booleans()) and isinstance(inside.get("product"), dict):
        inside = inside["product"]
    inside[data.draw(st.sampled_from(sorted(inside)))] = data.draw(st.sampled_from(ODD))
    forged.rewrite([orjson.dumps(event) for event in events])
    evaluation = evaluate_file(path)
    assert evaluation.outcome is not None
    assert orjson.dumps(evaluation.to_json())
