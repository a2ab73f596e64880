"""Outcomes of the supply chain: formulas with their edge cases, and whole traces (supply-chain page, 9 and 13).

Also here:
- Figures of a supply chain beside those of the `skill` population on the same scenario and seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import JsonValue
from tests.calling import seating
from tests.evaluation.mutations import Mutation, mutated_parts, mutations, parts_of, write_parts
from tests.evaluation.playing import played_by, played_out

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.charts.chart import HeatChart, XYChart
from tradefair.evaluation.figures import figure_of
from tradefair.evaluation.judge.evaluate import evaluate_file, tables_of
from tradefair.evaluation.judge.population import Populations
from tradefair.evaluation.markets.supply_chain import seat
from tradefair.evaluation.markets.supply_chain.evaluator import EVALUATOR
from tradefair.evaluation.markets.supply_chain.market import inequality, mobility
from tradefair.evaluation.markets.supply_chain.outcomes import SupplyChainOutcome
from tradefair.evaluation.report import episode_page
from tradefair.evaluation.table import number_text
from tradefair.evaluation.verdict.amounts import did, number
from tradefair.evaluation.verdict.of_trace import verdict_of_file
from tradefair.evaluation.verdict.terminal import show_series
from tradefair.supply_chain.model import BuyerFacts, PassFacts, RoundFacts, SeatFacts, SupplyChainScenario
from tradefair.tracestore import open_trace

A, B, C, D = "retailer_01", "retailer_02", "retailer_03", "retailer_04"


# --- one seat -----------------------------------------------------------------------------------------------------


def test_the_worked_figures_of_a_seat() -> None:
    """π (100, 50, 0), revenue (500, 400, 300), sold (10, 8, 6), ends (2, 0, 4), 12 requested each round."""
    sold, requested = [10, 8, 6], [12, 12, 12]
    assert seat.net_profit_margin([100, 50, 0], [500, 400, 300]) == 0.125
    assert round(seat.risk_adjusted_return([100, 50, 0]), 6) == 1.224745
    assert round(seat.inventory_efficiency(sold, [2, 0, 4]), 6) == 0.923077
    assert round(seat.variation(sold), 6) == 0.204124
    assert round(seat.order_stability(requested, sold, "abs"), 6) == 0.830479
    assert seat.order_stability(requested, sold, "one_sided") == 1
    assert seat.order_stability(requested, sold, "orders_only") == 1
    assert round(seat.bid_efficiency(30, 36, 1_000, 1_020), 6) == 0.816993


def test_nothing_is_not_a_division_by_zero() -> None:
    assert seat.net_profit_margin([-5], [0]) == 0
    assert seat.risk_adjusted_return([7]) == seat.risk_adjusted_return([7, 7]) == seat.risk_adjusted_return([]) == 0
    assert seat.inventory_efficiency([0], [0]) == seat.inventory_efficiency([], []) == 0
    assert seat.stockout_rate(0, 0, ever_stocked=False) == 1
    assert seat.stockout_rate(0, 0, ever_stocked=True) == 0
    assert seat.stockout_rate(1, 4, ever_stocked=False) == 0.25
    assert seat.bid_efficiency(0, 0, 0, 0) == seat.bid_efficiency(0, 9, 0, 0) == 0
    assert seat.order_stability([4], [1], "abs") == 1
    assert seat.order_stability([1, 3], [0, 0], "orders_only") == round(1 / 1.5, 9)
    assert seat.variation([0, 0]) == seat.variation([]) == 0


# --- the whole market ---------------------------------------------------------------------------------------------


def test_the_worked_indices_of_inequality() -> None:
    """Wealth (10, 20, 30, 40)."""
    found = inequality([10, 20, 30, 40])
    assert [round(one, 6) for one in (found.gini, found.theil, found.cv)] == [0.25, 0.106440, 0.447214]
    assert (found.hhi, found.cr4) == (0.30, 1)


def test_inequality_of_nothing_and_of_everything_in_one_hand() -> None:
    assert inequality([0, 0, 0]) == (0, 0, 0, None, None)
    assert inequality([0, 0, 0, 0, 8])[0] == 0.8
    assert inequality([5, 5, 5, 5, 5]) == (0, 0, 0, 0.2, 0.8)


def test_equal_seats_share_their_rank() -> None:
    assert mobility({A: 5, B: 9, C: 5, D: 1}, {A: 9, B: 1, C: 5, D: 5}) == (1.5 + 3 + 0 + 1.5) / 4
    assert mobility({A: 1, B: 2}, {A: 3, B: 4}) == 0


# --- regrets --------------------------------------------------------------------------------------------------------


def _seat_facts(sold: int, revenue: int) -> SeatFacts:
    none = [0]
    return SeatFacts(
        active=True, opening=none, spend=0, available=none, prices=[None], slogan=None, similarity=None, attempts=none,
        failed=none, directed=none, sold=[sold], revenue=[revenue], cost_of_goods=none, holding=0, holding_paid=0,
        profit=0, write_off=0, bankrupt=False, funds=0, units=none, book=none,
    )  # fmt: skip


def test_regrets_are_those_of_the_worked_auction(luxury: SupplyChainScenario) -> None:
    """6.9 with r̄ = 1,000: A 360, C 0, B 45 and a lost 4,725."""
    bids = {A: (40, 820, 40), B: (30, 810, 5), C: (30, 810, 30), D: (20, 800, 0)}
    facts = RoundFacts(
        round=1,
        supply=[75],
        passes=[
            PassFacts(
                bid_pass=1,
                lines={one: [(0, units, price * 100, won)] for one, (units, price, won) in bids.items()},
                forfeited={},
                marginal=[81_000],
                sold_out=[True],
                requested=[120],
                won=[75],
            )
        ],
        seats={one: _seat_facts(1, 100_000) for one in bids},
        buyers=BuyerFacts(tribe=[], text=[], item=[], quantity=[], limit=[], arrival=[], noticed=[], visits=[]),
        new_slogans=[],
    )
    found = {one: seat.bid_regret([facts], one, luxury) for one in bids}
    assert [found[one].overpaid // 100 for one in (A, B, C, D)] == [360, 45, 0, 0]
    assert found[B].underbid / 100 == 4_725
    assert found[A].underbid == 0


# --- whole traces ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def luxury() -> SupplyChainScenario:
    item: dict[str, JsonValue] = {"id": "item6", "category": "luxury", "quantity": 75, "base": 800}
    found = load_scenario("supply_chain", "duel", {"items": [item], "seats": 4})
    assert isinstance(found, SupplyChainScenario)
    return found


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("duel") / "duel.trace"
    return played_by(path, "supply_chain/duel", {A: "adaptive", B: "overspender", C: "hoarder"}, others="cost_plus")


def _outcome(path: Path) -> SupplyChainOutcome:
    with open_trace(path) as trace:
        return EVALUATOR.outcomes(trace)


def test_a_trace_gives_every_figure(duel: Path) -> None:
    outcome = _outcome(duel)
    assert outcome.findings == []
    assert (outcome.rounds_closed, outcome.censored, outcome.market_outcome.partial) == (4, False, False)
    learner, spender, hoarder = (outcome.seats[one] for one in (A, B, C))
    assert learner.pi == round(sum(learner.profits), 2) == round(learner.wealth - 1_450, 2)
    assert learner.units_sold == sum(learner.sold) > 0
    assert 0 < learner.share_fill < 1
    assert learner.mms is not None
    assert learner.mms01 == pytest.approx((1 + learner.mms) / 2)
    assert (spender.units_won, spender.overspends, spender.bid_eff, spender.stockout) == (0, 8, 0, 1)
    assert (hoarder.npm, hoarder.fill, hoarder.mms, hoarder.directed) == (0, 0, None, 0)
    assert hoarder.wealth == 1_450
    assert hoarder.cash_delta < 0 == hoarder.pi
    assert hoarder.stockout == 0


def test_the_verdict_says_the_figure_that_it_names_with_its_unit_and_as_a_total(tmp_path: Path) -> None:
    core = Core.create(market_type("supply_chain"), load_scenario("supply_chain", "duel"), 1)
    who = seating(core.market.seats, {B: "cost_plus", C: "cost_plus"})
    path = played_out(tmp_path / "agent.trace", core, {A: "adaptive", B: "cost_plus", C: "cost_plus"}, who)
    figure = figure_of("supply_chain", "pi")
    assert figure is not None
    assert (figure.title, figure.unit) == ("profit", "currency units")
    # Of the score alone: without the diagnosis.
    verdict = verdict_of_file(path, evaluation=evaluate_file(path)._replace(diagnosis=None))
    learner = _outcome(path).seats[A]
    (score,) = [seat.score for seat in verdict.seats]
    assert (score.metric, score.value, score.unit) == ("pi", learner.pi, figure.unit)
    # The sum over four rounds; their mean is another number.
    whole = f"made a profit of {number(sum(learner.profits))} {figure.unit} in 4 rounds, rank "
    assert len(learner.profits) == 4
    assert score.said.startswith(whole)
    assert whole in verdict.text
    assert "per round" not in verdict.text
    assert did(score, -3.0, figure.unit) == ("made a loss of", "3 currency units")


def test_the_market_is_summed_over_all_seats(duel: Path) -> None:
    outcome = _outcome(duel)
    market = outcome.market_outcome
    assert market.profit == round(sum(one.pi for one in outcome.seats.values()), 2)
    assert len(market.wealth_by_round) == 4
    assert market.wealth_mobility_by_round[0] is None
    assert market.wealth_gini == market.wealth_by_round[-1].gini
    assert (market.equal_hhi, market.equal_cr4) == (round(1 / 3, 9), 1)
    assert sum(one.share_fill for one in outcome.seats.values()) <= 1
    assert market.embedder is not None
    assert market.embedder.startswith("lexical-1/")
    assert "word overlap, not meaning" in EVALUATOR.tables_beside(outcome, None)[0].title


def test_profit_is_also_told_beside_floor_and_oracle(duel: Path) -> None:
    outcome = _outcome(duel)
    labels = {"policy:floor_bidder": 10.0, "policy:oracle": 50.0, "agent": 40.0, "all:skill": 20.0}
    given = {
        label: outcome.model_copy(update={"seats": {A: outcome.seats[A].model_copy(update={"pi": profit})}})
        for label, profit in labels.items()
    }
    assert {label: row["pi_norm"] for label, row in EVALUATOR.relative(A, given).items()} == {
        "policy:floor_bidder": 0, "policy:oracle": 1, "agent": 0.75, "all:skill": None,
    }  # fmt: skip
    assert EVALUATOR.relative(A, {"agent": given["agent"]}) == {"agent": {"pi_norm": None}}


def test_pictures_are_drawn_from_closed_rounds(duel: Path) -> None:
    with open_trace(duel) as trace:
        drawn = EVALUATOR.charts(trace)
    assert [one.id for one in drawn] == ["money", "profits", "bid_ladders", "lorenz", "slogan_map"]
    tribes = drawn[-1]
    assert isinstance(tribes, HeatChart)
    assert (tribes.levels, tribes.ordered) == (["thrifty", "ethical", "hype", "quality"], False)


def test_more_seats_than_styles_of_lines_have_a_frame_each_and_ladders_share_their_scale(tmp_path: Path) -> None:
    path = played_by(tmp_path / "many.trace", "supply_chain/gated", {}, others="skill", rounds=1, seats=26)
    with open_trace(path) as trace:
        money, ladders, *_ = EVALUATOR.charts(trace)
    assert isinstance(money, XYChart)
    assert isinstance(ladders, XYChart)
    assert len({line.panel for line in money.lines}) == len(money.lines) == 24
    assert "Of 26 seats" in money.note
    assert [line.panel for line in ladders.lines] == [f"item{number}" for number in range(1, 9)]
    for line in ladders.lines:
        assert line.y[0] is not None
        assert 0 <= line.y[0] < 10


@settings(max_examples=25, deadline=None)
@given(changes=mutations())
def test_whatever_stands_in_a_trace_gives_an_outcome(
    duel: Path, tmp_path_factory: pytest.TempPathFactory, changes: Sequence[Mutation]
) -> None:
    target = tmp_path_factory.mktemp("odd") / "odd.trace"
    mutated = write_parts(mutated_parts(parts_of(duel), changes), target)
    with open_trace(mutated) as trace:
        EVALUATOR.outcomes(trace)


def play(path: Path, first: str = "skill", seed: int = 3, rounds: int = 2, **overrides: Any) -> Path:
    """A duel of `skill` retailers and whoever has the first seat."""
    seats = {"retailer_01": first}
    return played_by(path, "supply_chain/duel", seats, seed, others="skill", rounds=rounds, **overrides)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace and what `play` leaves beside it: the population, on this seed and as one of several, and a rival."""
    folder = tmp_path_factory.mktemp("population")
    beside = folder / "references"
    beside.mkdir()
    play(folder / "game.trace", "adaptive")
    play(beside / "all-skill.trace")
    play(beside / "all-skill-4.trace", seed=4)
    play(beside / "passive.trace", "passive")
    return folder


def test_the_population_of_the_same_scenario_and_seed_is_found_beside_a_trace(folder: Path) -> None:
    evaluation = evaluate_file(folder / "game.trace")
    population = evaluation.population
    assert population is not None
    assert {one.label for one in population.seats.values()} == {"policy:skill"}
    assert population == evaluate_file(folder / "references" / "all-skill.trace").outcome
    assert evaluate_file(folder / "references" / "passive.trace").population == population
    assert evaluate_file(folder / "references" / "all-skill.trace").population == population


def test_every_table_has_the_populations_figures_in_a_column_of_their_own(folder: Path) -> None:
    evaluation = evaluate_file(folder / "game.trace")
    assert evaluation.outcome is not None
    assert evaluation.population is not None
    inequality, market, more = tables_of(evaluation.outcome, evaluation.population)
    assert list(inequality.columns) == ["figure", "value", "equal split", "skill population"]
    assert list(market.columns) == ["figure", "value", "skill population"]
    assert more.columns[0] == "seat"
    gini = next(row for row in inequality.rows if row[0] == "Gini of wealth")
    both = (evaluation.outcome, evaluation.population)
    assert [gini[1], gini[3]] == [number_text(one.market_outcome.wealth_gini) for one in both]
    profit = next(row for row in market.rows if row[0] == "profit, mean")
    assert [*profit[1:]] == [
        number_text(round(sum(seat.pi for seat in one.seats.values()) / len(one.seats), 9)) for one in both
    ]
    assert profit[1] != profit[2]
    assert tables_of(*both, brief=True) == [inequality, market]
    assert evaluation.to_json()["population"]["seed"] == 3
    shown = {table.title: table.rows for table in episode_page(folder / "game.trace", check=False).tables}
    assert shown[market.title] == [list(row) for row in market.rows]


@pytest.mark.parametrize("other", [{"seed": 4}, {"rounds": 1}, {"demand_ratio": 1.1}], ids=["seed", "rounds", "demand"])
def test_a_population_of_another_market_or_luck_is_none(folder: Path, tmp_path: Path, other: dict[str, Any]) -> None:
    path, beside = play(tmp_path / "game.trace", "adaptive", **other), tmp_path / "references"
    beside.mkdir()
    (beside / "all-skill.trace").write_bytes((folder / "references" / "all-skill.trace").read_bytes())
    evaluation = evaluate_file(path)
    assert evaluation.outcome is not None
    assert evaluation.population is None
    assert "population" not in evaluation.to_json()
    inequality, *_ = tables_of(evaluation.outcome)
    assert "no skill population beside it" in inequality.title
    assert {row[3] for row in inequality.rows} == {"–"}
    assert tables_of(evaluation.outcome, brief=True) == ()


def test_a_population_can_be_named_and_damaged_files_among_them_are_passed_over(folder: Path, tmp_path: Path) -> None:
    path = play(tmp_path / "game.trace", "adaptive")
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "a.trace").write_bytes(b"no trace")
    play(tmp_path / "sweep" / "b.trace", record="digests")
    assert evaluate_file(path).population is None
    found = evaluate_file(path, Populations([tmp_path / "sweep"])).population
    assert found is not None
    beside = evaluate_file(folder / "references" / "all-skill.trace").population
    assert beside is not None
    assert found.seats == beside.seats


def test_several_episodes_show_the_means_of_their_markets_beside_the_population(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = evaluate_file(folder / "game.trace")
    assert evaluation.outcome is not None
    assert evaluation.population is not None
    show_series([evaluation, evaluation], [["retailer_01"]] * 2)
    shown = capsys.readouterr().out
    assert "the market, means over 2 episodes" in shown
    unmet = next(line for line in shown.splitlines() if line.startswith("unmet demand"))
    both = (evaluation.outcome, evaluation.population)
    assert unmet.split()[2:] == [number_text(one.market_outcome.unmet) for one in both]


def test_a_population_whose_facts_break_the_formulas_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(trace: object) -> None:
        raise ZeroDivisionError

    with open_trace(folder / "references" / "all-skill.trace") as trace:
        assert Populations().of(trace) is not None
        monkeypatch.setattr(EVALUATOR, "outcomes", broken)
        assert Populations().of(trace) is None
