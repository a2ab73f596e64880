"""Charts of retailers by step: what a line is of, and that every published picture is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.fidelity.__main__ import figures
from tests.evaluation.markets.supply_chain.conftest import GATED, Episode, play_game

from tradefair.cli import run
from tradefair.evaluation.charts.chart import XYChart
from tradefair.evaluation.markets.supply_chain import steps
from tradefair.evaluation.markets.supply_chain.outcomes import supply_chain_outcome
from tradefair.evaluation.markets.supply_chain.steps import Episode as Steps
from tradefair.evaluation.markets.supply_chain.steps import population_charts
from tradefair.tracestore import open_trace


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play_game(tmp_path_factory.mktemp("steps") / "skill.trace", Episode(GATED, {}, "skill", 70_001))


@pytest.fixture(scope="module")
def charts(trace: Path) -> dict[str, XYChart]:
    return {chart.id: chart for chart in population_charts([trace]) if isinstance(chart, XYChart)}


def test_every_picture_of_the_source_is_drawn(charts: dict[str, XYChart]) -> None:
    drawn = {name for (source, _), of in figures().items() if source == "market_bench" for name in of.draws}
    assert drawn == {*charts}


def test_lines_of_one_label_are_the_quartiles_of_its_retailers(trace: Path, charts: dict[str, XYChart]) -> None:
    with open_trace(trace) as opened:
        outcome = supply_chain_outcome(opened, "")
    profits = [sorted(seat.profits[step] for seat in outcome.seats.values()) for step in range(6)]
    low, middle, high = charts["profit_by_round"].lines
    assert middle.y == pytest.approx([(step[9] + step[10]) / 2 for step in profits], abs=1e-3)
    assert all(a <= b <= c for a, b, c in zip(low.y, middle.y, high.y, strict=True) if a is not None and b and c)
    assert (low.name, low.x) == ("25 %", [1, 2, 3, 4, 5, 6])
    # Stability is of the rounds so far: of one round alone it would always be 1.
    osi = [line for line in charts["operations"].lines if line.panel == "osi"]
    seats = list(outcome.seats.values())
    assert osi[1].y[-1] == pytest.approx(sum(sorted(seat.osi for seat in seats)[9:11]) / 2, abs=1e-3)
    assert charts["indices"].lines[0].y == pytest.approx(
        [row.gini for row in outcome.market_outcome.wealth_by_round], abs=1e-3
    )


def test_few_labels_have_a_line_each() -> None:
    episode = Steps("x", [("a", {"pi": [1.0, 3.0]}), ("b", {"pi": [5.0]}), ("a", {"pi": [3.0, None]})], {}, {}, [])
    lines = steps.lines_of(episode.seats, "pi")
    assert [(line.name, line.y) for line in lines] == [("a", [2, 3]), ("b", [5])]
    many = [(f"l{place}", {"pi": [float(place)]}) for place in range(21)]
    assert [(line.name, line.y) for line in steps.lines_of(many, "pi")] == [
        ("25 %", [5]),
        ("50 %", [10]),
        ("75 %", [15]),
    ]


@pytest.mark.parametrize("rows", [[[1.0, 0.0], [0.0, 0.0]], [[0.0, 2.0], [0.0, 0.0]]])
def test_the_map_of_slogans_has_the_longest_axis_first_and_one_sign(rows: Sequence[Sequence[float]]) -> None:
    first, last = steps.slogan_map([Steps("x", [], {}, {}, [rows[:1], rows[1:]])], "").lines
    size = max(map(max, rows))
    # The first row has the larger weight: it lies on the positive side.
    assert (first.x, last.x) == ([size / 2], [-size / 2])
    assert [abs(value or 0.0) for line in (first, last) for value in line.y] == [0, 0]
    assert steps.spread_of(rows) == size / 2


def test_the_command_writes_the_page(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "population", str(trace), "-o", str(tmp_path / "steps.csv")]) == 0
    assert "steps.csv" in capsys.readouterr().err
    assert (tmp_path / "steps.csv").read_text(encoding="utf-8").splitlines()[0] == "series,step,index"
