"""What the failure modes read of a real episode: who set which price when, what was asked, what the scenario says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.corpus.forge import Forge
from tests.evaluation.markets.pricing.test_pricing_modes import played

from tradefair.evaluation.markets.pricing.modes.play import Game, read_game
from tradefair.tracestore import open_trace


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


def test_the_world_is_the_scenarios(tmp_path: Path) -> None:
    changes = {"rounds": 3, "consumers": 5_000, "price_max": 3_000, "shock_size": 40}
    world = read(tmp_path, "shocks", "nash", "nash", changes)[0].world
    assert world is not None
    assert (world.quality, world.cost, world.mu, world.outside) == ((2000, 2000), (1000, 1000), 250, 0)
    assert (world.consumers, world.price_max, world.shock_size, world.rounds) == (5_000, 3_000, 40, 3)
    assert world.demand_known
    (tmp_path / "plain").mkdir()
    plain = read(tmp_path / "plain", "models", "hill_climber", "hill_climber", {"rounds": 3})[0].world
    assert plain is not None
    assert (plain.demand_known, plain.shock_size, plain.consumers) == (False, 0, 1_000_000)


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


def test_what_a_scenario_leaves_out_is_as_by_default(tmp_path: Path) -> None:
    path = played(tmp_path / "game.trace", "textbook", "nash", "nash", {"rounds": 1})

    def without(forge: Forge) -> None:
        forge.edit_core(lambda core: [core["scenario"].pop(name) for name in left])

    left = ("consumers", "price_max", "shock", "rounds")
    world = forged(path, without).world
    assert world is not None
    assert (world.consumers, world.price_max, world.shock_size, world.rounds) == (1_000_000, 4_000, 0, 0)


@pytest.mark.parametrize(
    ("name", "least", "most"), [("mu", 34, 100_000), ("consumers", 1, 10**9), ("price_max", 1, 10**6)]
)
def test_a_world_beyond_what_can_be_computed_is_not_judged(tmp_path: Path, name: str, least: int, most: int) -> None:
    path = played(tmp_path / "game.trace", "textbook", "nash", "nash", {"rounds": 1})

    def known(value: int) -> bool:
        def change(forge: Forge) -> None:
            forge.edit_core(lambda core: core["scenario"].update({name: value}))
            if name == "mu":
                forge.edit(forge.seq_of(event="round_closed"), lambda event: event["facts"]["opening"].update(mu=value))

        return forged(path, change).world is not None

    # A quality is at most sixty times mu: 2000 of 34, not of 33.
    assert [known(value) for value in (least - 1, least, most, most + 1)] == [False, True, True, False]


def test_a_refused_price_is_posted_by_nobody(tmp_path: Path) -> None:
    path = played(tmp_path / "game.trace", "textbook", "nash", "nash", {"rounds": 1})
    found = forged(path, lambda forge: forge.change(forge.seq_of(tool="set_price", seat="F1"), status="rejected"))
    assert [period.posted.keys() for period in found.periods] == [{"F2"}]
