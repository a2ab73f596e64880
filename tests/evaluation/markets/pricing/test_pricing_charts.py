"""Charts of posted prices, against games whose prices, profits and best replies are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.playing import played_by

from tradefair.evaluation.charts import BarChart, Chart, XYChart
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.evaluate import charts_of, evaluate
from tradefair.evaluation.markets.pricing.modes.play import read_game
from tradefair.pricing.engine import equilibrium
from tradefair.tracestore import open_trace


def played(folder: Path, scenario: str, seats: dict[str, str], others: str, **changes: Any) -> Path:
    return played_by(folder / "game.trace", f"pricing/{scenario}", seats, 3, others, seats={}, **changes)


def drawn(path: Path) -> dict[str, Chart]:
    with open_trace(path) as trace:
        charts, problem = charts_of(trace, evaluator_of("pricing"))
    assert problem is None
    return {chart.id: chart for chart in charts}


def xy(chart: Chart) -> XYChart:
    assert isinstance(chart, XYChart)
    return chart


def test_prices_stand_between_the_textbook_benchmarks(tmp_path: Path) -> None:
    charts = drawn(played(tmp_path, "textbook", {}, "nash", rounds=4))
    assert set(charts) == {"prices", "profits", "reactions"}
    prices = xy(charts["prices"])
    assert {line.name: line.y for line in prices.lines} == {"F1": [1473] * 4, "F2": [1473] * 4}
    competitive, joint = prices.bands
    assert (competitive.low, competitive.high) == pytest.approx([1472.92666] * 2, abs=1e-5)
    assert (joint.low, joint.high) == pytest.approx([1924.98092] * 2, abs=1e-5)


def test_profits_stand_beside_both_benchmarks(tmp_path: Path) -> None:
    chart = drawn(played(tmp_path, "textbook", {"F2": "monopoly"}, "nash", rounds=4))["profits"]
    assert isinstance(chart, BarChart)
    values = dict(zip(chart.names, chart.bars.values, strict=True))
    for seat in ("F1", "F2"):
        assert values[f"{seat} at competitive prices"] == pytest.approx(4 * 222_926_660, rel=1e-7)
        assert values[f"{seat} at joint profit"] == pytest.approx(4 * 337_490_460, rel=1e-7)
    # Whoever stays at the high price while the other undercuts earns less than both would at competitive prices.
    earned = [values[seat] for seat in ("F1", "F2")]
    assert earned[0] is not None
    assert earned[1] is not None
    assert earned[0] > 4 * 337_490_460 > 4 * 222_926_660 > earned[1]


def test_where_costs_move_the_benchmarks_are_lines_and_the_index_has_a_chart(tmp_path: Path) -> None:
    path = played(tmp_path, "shocks", {}, "follower", rounds=30)
    charts = drawn(path)
    prices, (index,) = xy(charts["prices"]), xy(charts["index"]).lines
    competitive = next(line for line in prices.lines if line.name == "competitive")
    assert prices.bands == []
    assert len({*index.y}) > 2
    # A common shock moves the competitive price with it: levels of one have the order of the other.
    moved = sorted({(level, round(price or 0, 6)) for level, price in zip(index.y, competitive.y, strict=True)})
    assert [price for _, price in moved] == sorted(price for _, price in moved)
    with open_trace(path) as trace:
        assert len(index.y) == len(competitive.y) == evaluate(trace).rounds_closed
        game = read_game(trace)
    # A curve is that of the last round's costs, which are not those of the first.
    curve, costs = xy(charts["reactions"]).lines[2], game.periods[-1].costs
    assert costs != game.periods[0].costs
    assert game.world is not None
    for price, answer in zip(curve.x, curve.y, strict=True):
        world = game.world
        assert answer == equilibrium.best_reply(0, [0, price], world.quality, costs, world.mu, world.outside)


def test_best_reply_curves_cross_where_nobody_gains_by_another_price(tmp_path: Path) -> None:
    charts = drawn(played(tmp_path, "asymmetric", {"F1": "matcher"}, "best_reply", rounds=12))
    lines = {line.name: line for line in xy(charts["reactions"]).lines}
    with open_trace(tmp_path / "game.trace") as trace:
        nash = list(evaluate(trace).market_outcome.nash_prices.values())

    def reply(seat: str, price: float) -> float:
        """The curve at a price, between its points."""
        curve = lines[f"best reply of {seat}"]
        at = next(place for place, x in enumerate(curve.x) if x >= price)
        (left, right), (low, high) = curve.x[at - 1 : at + 1], curve.y[at - 1 : at + 1]
        assert low is not None
        assert high is not None
        return low + (high - low) * (price - left) / (right - left)

    assert reply("F1", nash[1]) == pytest.approx(nash[0], abs=0.05)
    assert reply("F2", nash[0]) == pytest.approx(nash[1], abs=0.05)
    bands = {band.label: (band.low, band.high) for band in xy(charts["prices"]).bands}
    assert bands["competitive"] == pytest.approx((min(nash), max(nash)), abs=1e-6)
    assert min(nash) < max(nash) - 10
    # The rival of 12 rounds answers the last price: all its dots lie on its own curve, rounded to the grid.
    dots = lines["F2"]
    assert len(dots.x) == 11
    assert [reply("F2", x) for x in dots.x] == pytest.approx(dots.y, abs=1)


@pytest.mark.parametrize(("firms", "others"), [(1, "monopoly"), (3, "best_reply")])
def test_one_firm_or_three_have_no_reaction_plot(tmp_path: Path, firms: int, others: str) -> None:
    charts = drawn(played(tmp_path, "textbook", {}, others, firms=firms, rounds=4))
    assert set(charts) == {"prices", "profits"}
    assert len(xy(charts["prices"]).lines) == firms


def test_a_closed_firm_is_a_gap(tmp_path: Path) -> None:
    charts = drawn(played(tmp_path, "textbook", {"F1": "passive"}, "best_reply", rounds=4))
    prices = {line.name: line.y for line in xy(charts["prices"]).lines}
    assert prices["F1"] == [None] * 4
    assert xy(charts["reactions"]).lines[0].x == []
    assert None not in prices["F2"]


def test_a_curve_is_the_exact_best_reply(tmp_path: Path) -> None:
    curve = xy(drawn(played(tmp_path, "textbook", {}, "nash", rounds=4))["reactions"]).lines[2]
    for price, answer in zip(curve.x, curve.y, strict=True):
        assert answer == equilibrium.best_reply(0, [0, price], [2000, 2000], [1000, 1000], 250, 0)
