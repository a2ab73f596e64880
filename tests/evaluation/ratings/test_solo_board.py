"""The leaderboard of labels that play alone, of results made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import orjson
import pytest

from tradefair.catalog import load_scenario
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.ratings.charts import leaderboard_charts
from tradefair.evaluation.ratings.leaderboards import leaderboards
from tradefair.evaluation.ratings.ranking import ranking_verdict
from tradefair.evaluation.ratings.rating import Leaderboards, SoloBoard, SoloRow
from tradefair.evaluation.ratings.results import GameResult, Results, SeatResult, rules_of, seat_fields
from tradefair.evaluation.ratings.tables import board_tables
from tradefair.evaluation.report.boards import figure_of_boards

RULES = rules_of("retail")
assert RULES is not None
FIELDS = seat_fields(RULES)


@cache
def _shape(preset: str) -> str:
    assert RULES is not None
    content: Mapping[str, Any] = load_scenario("retail", preset).model_dump(mode="json")
    return orjson.dumps({name: value for name, value in content.items() if name not in RULES.varies}).decode()


def _game(label: str, seed: int, gain: float | None, preset: str = "middle", **figures: float) -> GameResult:
    """A month of a store: a policy where the label says so, else an agent of the framework before the slash."""
    policy = label.removeprefix("policy:") if label.startswith("policy:") else ""
    framework, _, model = ("", "", "") if policy else label.partition("/")
    numbers = tuple({"gain": gain, **figures}.get(name) for name in FIELDS)
    seat = SeatResult("manager", "manager", label, False, numbers, (), policy, framework, model)
    return GameResult(
        path=f"{label}-{seed}.trace",
        market="retail",
        scenario=f"retail/{preset}",
        shape=_shape(preset),
        rules_version="1",
        seed=seed,
        head=f"{label}{seed}{gain}{figures}",
        foreign=False,
        seats=(seat,),
        figures=(),
        potential=None,
        unusable="",
    )


def _made(games: Sequence[GameResult]) -> Leaderboards:
    return leaderboards(Results(list(games), []))


def _rows(games: Sequence[GameResult]) -> dict[str, SoloRow]:
    return {row.label: row for row in _board(games).rows}


def _board(games: Sequence[GameResult]) -> SoloBoard:
    (board,) = _made(games).boards
    assert isinstance(board, SoloBoard)
    return board


def _references(seeds: int) -> list[GameResult]:
    naive = [_game("policy:reorder_point", seed, 100.0 + seed) for seed in range(seeds)]
    return [*naive, *(_game("policy:careful_reader()", seed, 300.0 + seed) for seed in range(seeds))]


def test_labels_stand_in_the_order_of_their_mean_over_seeds() -> None:
    games = [_game("react/x", seed, gain) for seed, gain in ((1, 10.0), (1, 20.0), (2, 45.0))]
    rows = _rows([*games, *(_game("tools/x", seed, 20.0 * seed) for seed in (1, 2))])
    # Two episodes of seed 1 share their luck: (15 + 45)/2, not (10 + 20 + 45)/3.
    assert [(label, row.score, row.seeds, row.episodes) for label, row in rows.items()] == [
        ("react/x", 30.0, 2, 3),
        ("tools/x", 30.0, 2, 2),
    ]
    assert rows["react/x"].low == 15.0
    assert rows["react/x"].high == 45.0


def test_the_headline_is_the_gain_between_both_references_on_the_same_seeds() -> None:
    rows = _rows([*_references(10), *(_game("react/x", seed, 250.0 + seed) for seed in range(10))])
    assert (rows["policy:reorder_point"].headline, rows["policy:careful_reader()"].headline) == (0, 1)
    row = rows["react/x"]
    assert (row.headline, row.headline_low, row.headline_high, row.headline_seeds) == (0.75, 0.75, 0.75, 10)
    # A seed that no reference played cannot be placed between them.
    board = _board([*_references(9), *(_game("react/x", seed, 200.0 + seed) for seed in range(11))])
    row = next(row for row in board.rows if row.label == "react/x")
    assert (row.headline, row.headline_low, row.headline_seeds, row.seeds) == (0.5, None, 9, 11)
    assert any("play both into this folder" in caution for caution in board.cautions)
    assert "labels were played on different seeds: their means differ by luck too" in board.cautions


def test_there_is_no_headline_without_its_references_or_on_another_scenario() -> None:
    assert _rows([_game("react/x", 1, 5.0)])["react/x"].headline is None
    easy = [game._replace(scenario="retail/easy", shape=_shape("easy")) for game in _references(10)]
    board = _board(easy)
    assert board.headline == ""
    assert all(row.headline is None for row in board.rows)
    assert "headline" not in next(board_tables(board)).columns
    assert "headline" in next(board_tables(_board(_references(10)))).columns


def test_a_model_is_reported_with_the_framework_that_survived_longest_then_earned_then_sold_most() -> None:
    figures: dict[str, tuple[float, float, float]] = {
        "react/m": (90, 500.0, 9),
        "plan/m": (120, -40.0, 3),
        "tools/m": (120, -40.0, 4),
        "react/n": (60, 1.0, 1),
    }
    games = [
        _game(label, 1, worth, survival_days=days, net_worth_final=worth, units_sold=units)
        for label, (days, worth, units) in figures.items()
    ]
    board = _board([*games, _game("policy:passive", 1, -9.0, survival_days=180.0)])
    assert [(best.model, best.label, best.frameworks) for best in board.best] == [
        ("m", "tools/m", 3),
        ("n", "react/n", 1),
    ]
    table = list(board_tables(board))[-1]
    assert table.title == "Best framework per model, by days survived, then final net worth, then units sold"
    assert table.rows[0][:3] == ("m", "tools", "3")


def test_price_closeness_is_relative_to_the_runs_on_the_board() -> None:
    near = [_game("react/x", seed, 1.0, price_distance=distance) for seed, distance in ((1, 5.0), (2, 10.0))]
    far = [_game("tools/x", seed, 1.0, price_distance=20.0) for seed in (1, 2)]
    rows = _rows([*near, *far, _game("policy:passive", 1, 0.0)])
    assert rows["react/x"].figures["price_close"] == pytest.approx((0.75 + 0.5) / 2)
    assert rows["tools/x"].figures["price_close"] == 0
    assert rows["policy:passive"].figures["price_close"] is None
    assert _rows(near)["react/x"].figures["price_close"] == pytest.approx((0.5 + 0) / 2)


def test_games_without_the_score_are_left_out_and_boards_stand_on_pages() -> None:
    made = _made([*_references(3), _game("react/x", 1, None)])
    (board,) = made.boards
    assert [(left.reason, left.count) for left in board.left_out] == [("gain is not known", 1)]
    assert [chart.id for chart in leaderboard_charts(board)] == ["score", "headline"]
    assert ranking_verdict(made).sentences[0].startswith("policy:careful_reader() 301 (300 to 302) leads")
    assert Leaderboards.model_validate_json(orjson.dumps(figure_of_boards(made).data)) == made


def test_the_figures_that_need_several_runs_are_fields_of_the_outcome() -> None:
    assert set(evaluator_of("retail").closeness) <= set(FIELDS)
