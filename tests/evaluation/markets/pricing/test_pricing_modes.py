"""Every failure mode of pricing: its control provokes it, and a competent firm in the same place does not.

Also here:
- What the failure modes read of a real episode: who set which price when, what was asked, what the scenario says.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.corpus.forge import Forge
from tests.evaluation.playing import played_by

from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.markets.pricing.modes.detectors import MODES
from tradefair.evaluation.markets.pricing.modes.play import Game, read_game
from tradefair.evaluation.modes.diagnosis import Diagnosis
from tradefair.tracestore import open_trace

# mode, preset, the firm under test, its rivals, changes of the scenario
POSITIVE: list[tuple[str, str, str, str, dict[str, Any]]] = [
    ("closed_round", "textbook", "passive", "nash", {"rounds": 4}),
    ("priced_out", "textbook", "fixed_markup(percent=150)", "nash", {"rounds": 8}),
    ("undercut_endured", "textbook", "monopoly", "undercutter(step=400)", {"rounds": 20}),
    ("stuck_price", "textbook", "stuck", "edgeworth(step=50)", {"rounds": 24}),
    ("shock_ignored", "shocks", "stuck", "follower", {"rounds": 60}),
    ("war_joined", "textbook", "joiner", "edgeworth", {"rounds": 30}),
    ("no_experiment", "models", "sleeper", "best_reply", {"rounds": 24}),
    ("endless_experiment", "textbook", "jumpy", "nash", {"rounds": 24}),
    ("contradicted_analysis", "textbook", "contrary", "nash", {"rounds": 6}),
]
NEGATIVE: list[tuple[str, str, str, str, dict[str, Any]]] = [
    ("closed_round", "textbook", "nash", "nash", {"rounds": 4}),
    ("priced_out", "textbook", "best_reply", "nash", {"rounds": 8}),
    ("undercut_endured", "textbook", "best_reply", "undercutter(step=400)", {"rounds": 20}),
    ("stuck_price", "textbook", "best_reply", "edgeworth(step=50)", {"rounds": 24}),
    ("shock_ignored", "shocks", "follower", "follower", {"rounds": 60}),
    ("war_joined", "textbook", "matcher", "edgeworth", {"rounds": 30}),
    ("no_experiment", "models", "prober", "best_reply", {"rounds": 48}),
    ("endless_experiment", "textbook", "prober", "nash", {"rounds": 48}),
]


def played(path: Path, preset: str, own: str, rivals: str, changes: dict[str, Any], seed: int = 1) -> Path:
    return played_by(path, f"pricing/{preset}", {"F1": own}, seed, rivals, **changes)


@cache
def _kept() -> dict[Any, Diagnosis]:
    return {}


def diagnosis(folder: Path, preset: str, own: str, rivals: str, changes: dict[str, Any]) -> Diagnosis:
    key = (preset, own, rivals, tuple(sorted(changes.items())))
    if key not in _kept():
        evaluation = evaluate_file(played(folder / "game.trace", preset, own, rivals, changes))
        assert evaluation.diagnosis is not None, evaluation.problem
        assert evaluation.outcome is not None
        assert evaluation.outcome.findings == []
        _kept()[key] = evaluation.diagnosis
    return _kept()[key]


@pytest.mark.parametrize("case", POSITIVE, ids=lambda case: case[0])
def test_the_control_shows_it(tmp_path: Path, case: Any) -> None:
    mode, *asked = case
    finding = diagnosis(tmp_path, *asked).of_seat("F1")[f"pricing.{mode}"]
    # Some of these are told by another finding of the same decision; what counts is that it was seen.
    assert finding.status in ("raised", "condition", "merged"), finding
    assert finding.cases or finding.status == "merged"
    for told in finding.cases:
        assert len(told.because) <= 160
        assert told.shown_by is not None


@pytest.mark.parametrize("case", NEGATIVE, ids=lambda case: case[0])
def test_a_competent_firm_does_not(tmp_path: Path, case: Any) -> None:
    mode, *asked = case
    finding = diagnosis(tmp_path, *asked).of_seat("F1")[f"pricing.{mode}"]
    assert finding.status == "clear", finding


def test_every_mode_has_a_control() -> None:
    assert {case[0] for case in POSITIVE} == set(MODES.rows)


def test_sales_below_cost_are_found(tmp_path: Path) -> None:
    finding = diagnosis(tmp_path, "textbook", "below_cost", "nash", {"rounds": 5}).of_seat("F1")["below_cost"]
    assert finding.raised
    assert (finding.count, finding.of) == (5, 5)


def test_prices_without_a_look_lack_their_evidence(tmp_path: Path) -> None:
    finding = diagnosis(tmp_path, "textbook", "blind", "nash", {"rounds": 6}).of_seat("F1")["missing_evidence"]
    assert finding.raised


def read(folder: Path, preset: str, own: str, rivals: str, changes: dict[str, Any]) -> tuple[Game, list[Any]]:
    path = played(folder / "game.trace", preset, own, rivals, changes)
    with open_trace(path) as trace:
        return read_game(trace), list(trace.decoded())


def test_prices_are_of_the_calls_that_set_them_and_of_lapses(tmp_path: Path) -> None:
    game, events = read(tmp_path, "textbook", "contrary", "sleeper", {"rounds": 3, "consumers": 5_000})
    assert game.problem is None
    assert [period.number for period in game.periods] == [1, 2, 3]
    calls = {(e["seat"], e["round"]): e["seq"] for e in events if e.get("tool") == "set_price"}
    lapses = {(e["seat"], e["round"]): e["seq"] for e in events if e["event"] == "seat_lapsed"}
    closures = [e["seq"] for e in events if e["event"] == "round_closed"]
    assert set(calls) == {("F1", 1), ("F1", 2), ("F1", 3), ("F2", 1)}
    assert set(lapses) == {("F2", 2), ("F2", 3)}
    for period, closed in zip(game.periods, closures, strict=True):
        number = period.number
        assert period.seq == closed
        assert period.posted == {seat: seq for (seat, of), seq in calls.items() if of == number}
        assert period.acted == {seat: seq for (seat, of), seq in {**lapses, **calls}.items() if of == number}
    # A price that a lapse kept was set by the call that posted it.
    assert game.firms["F2"].set_by == [calls["F2", 1]] * 3
    assert game.firms["F1"].set_by == [calls["F1", number] for number in (1, 2, 3)]


def test_only_what_a_firm_asked_before_it_posted_is_its_analysis(tmp_path: Path) -> None:
    game, events = read(tmp_path, "textbook", "contrary", "nash", {"rounds": 3})
    asked = [event for event in events if event.get("tool") == "profit_if"]
    assert [period.asked.keys() for period in game.periods] == [set(), {"F1"}, {"F1"}]
    for event, period in zip(asked, game.periods[1:], strict=True):
        rows = {row["price"]: (event["seq"], row["profit"]) for row in event["result"]["rows"]}
        assert period.asked["F1"] == [rows]
        assert len(rows) > 3


def test_the_world_is_the_scenario_with_what_was_drawn(tmp_path: Path) -> None:
    game, events = read(tmp_path, "hidden_cost", "nash", "nash", {"rounds": 3, "consumers": 5_000, "drawn": True})
    opening = next(event["facts"]["opening"] for event in events if event["event"] == "round_closed")
    world = game.world
    assert world is not None
    assert (list(world.quality), list(world.cost)) == ([*opening["quality"].values()], [*opening["cost"].values()])
    assert (world.mu, world.outside, world.scenario.mu) == (opening["mu"], 0, opening["mu"])
    assert (world.scenario.consumers, world.scenario.rounds) == (5_000, 3)


def forged(path: Path, *changes: Callable[[Forge], object]) -> Game:
    """The game of a trace that was changed."""
    forge = Forge.load(path)
    for change in changes:
        change(forge)
    with open_trace(forge.save(path.with_name("forged.trace"))) as trace:
        return read_game(trace)


def test_a_closure_that_does_not_tell_every_firm_is_no_round(tmp_path: Path) -> None:
    path = played(tmp_path / "game.trace", "textbook", "nash", "nash", {"rounds": 3})

    def told(skip: int, **changes: Any) -> Callable[[Forge], object]:
        def change(forge: Forge) -> None:
            forge.edit(forge.seq_of(skip, event="round_closed"), lambda event: event["facts"].update(changes))

        return change

    whole = forged(path)
    seqs = [period.seq for period in whole.periods]
    assert len(seqs) == 3
    lacks: list[dict[str, Any]] = [
        {"prices": {"F1": 1473}},
        {"prices": {"F2": 1473, "F1": 1473}},
        {"units": {"F1": 1}},
        {"costs": {"F2": 1000}},
        {"profits": {}},
        {"profits": "none"},
    ]
    for lacking in lacks:
        found = forged(path, told(2, **lacking))
        assert found.problem is None
        assert [period.seq for period in found.periods] == seqs[:2], lacking
    for nothing in (forged(path, told(0, opening=None)), forged(path, *(told(at, units={}) for at in range(3)))):
        assert nothing.problem == "no closed round tells demand and costs"
        assert (nothing.world, nothing.periods) == (None, [])


def test_demand_that_no_scenario_may_have_is_not_judged(tmp_path: Path) -> None:
    path = played(tmp_path / "game.trace", "textbook", "nash", "nash", {"rounds": 1})

    def known(mu: int) -> bool:
        def change(forge: Forge) -> None:
            forge.edit(forge.seq_of(event="round_closed"), lambda event: event["facts"]["opening"].update(mu=mu))

        return forged(path, change).world is not None

    # A quality is at most sixty times mu: 2000 of 34, not of 33.
    assert [known(mu) for mu in (33, 34, 100_000, 100_001)] == [False, True, True, False]


def test_a_scenario_that_the_market_refuses_is_a_problem_in_a_sentence(tmp_path: Path) -> None:
    path = played(tmp_path / "game.trace", "textbook", "nash", "nash", {"rounds": 1})
    found = forged(path, lambda forge: forge.edit_core(lambda core: core["scenario"].update(consumers=True)))
    assert (found.problem or "").startswith("the scenario cannot be read: manifest: consumers = True")
    assert (found.world, found.periods) == (None, [])


@pytest.mark.parametrize(
    "change", [{"status": "rejected"}, {"tool": []}, {"tool": ""}, {"round": True}, {"round": "1"}, {"round": None}]
)
def test_a_call_that_is_refused_or_does_not_fit_is_nobodys(tmp_path: Path, change: dict[str, Any]) -> None:
    path = played(tmp_path / "game.trace", "textbook", "nash", "nash", {"rounds": 2})
    found = forged(path, lambda forge: forge.change(forge.seq_of(tool="set_price", seat="F1"), **change))
    assert [period.acted.keys() for period in found.periods] == [{"F2"}, {"F1", "F2"}]
