"""References that are shipped: which presets have them, and what they say of competent seats."""

from __future__ import annotations

import pytest
from benchmarks.references import PRESETS, Judged, place, spread, stale, usual_of

from tests.evaluation.test_ledger_text import ledger, turn
from tradefair.catalog import load_scenario, market_names, market_type, scenario_ids
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.modes.base_rates import References

TRUE = {"retail/smoke": 1.2, "retail/paper": 0.5, "supply_chain/duel": 0.5, "order_book/mixed": 0.6}
"""Presets in which competent policies have flaws that they make often, with findings of a seat that are true."""


def test_the_presets_with_references_are_those_that_are_measured() -> None:
    shipped = [
        scenario
        for market in market_names()
        for scenario in scenario_ids(market)
        if place(scenario, evaluator_of(market)).exists()
    ]
    assert sorted(PRESETS) == sorted(shipped)


@pytest.mark.parametrize("preset", PRESETS)
def test_competent_seats_are_looked_at_and_raise_little(preset: str) -> None:
    file = place(preset, evaluator_of(preset.partition("/")[0]))
    found = References.model_validate_json(file.read_bytes())
    assert file.stat().st_size < 12_000
    assert found.usual is not None
    assert bool(PRESETS[preset].ledgers) >= bool(found.usual.ledgers)
    assert found.usual.ledgers <= found.usual.seats
    assert found.usual.findings <= TRUE.get(preset, 0.3)
    assert (found.usual.noise is None) == (not found.usual.ledgers)
    market, _, name = preset.partition("/")
    policies, scenario = market_type(market).policies, load_scenario(market, name)
    known = {policy: row.mean for policy, row in found.rows.items() if not policies[policy].knows_hidden(scenario)}
    assert known[found.best] == max(known.values())
    assert known.keys() >= {*found.competent}


def test_ledgers_are_spread_over_policies_and_seeds() -> None:
    episodes = [(seed, policy) for seed in range(4) for policy in "abcd"]
    assert spread(episodes, 4, 4) == [(0, "a"), (1, "b"), (2, "c"), (3, "d")]
    assert spread(episodes, 4, 1) == episodes
    assert len(spread(episodes, 4, 2)) == 8


def test_noise_is_what_95_of_100_turns_do_not_pass_and_a_stretch_is_shared_by_its_turns() -> None:
    made = ledger(turn(1, 30.0), turn(2, -12.0), turn(3, 36.0, until=20), known={"gd": 54.0})
    found = usual_of([Judged(2, made), Judged(1, None)])
    assert (found.seats, found.findings, found.ledgers) == (2, 1.5, 1)
    # 18 turns of a stretch lost 2 each; of 20 turns one may pass the noise.
    assert (found.median_gap, found.noise) == (54.0, 12.0)


def test_a_seat_with_nothing_to_win_has_no_part_in_gap_and_noise() -> None:
    idle = ledger(turn(1, 0.0), known={"gd": 0.0, "zip": 0.0})
    lost = ledger(turn(1, 6.0), known={"gd": 6.0})
    found = usual_of([Judged(0, idle), Judged(0, idle), Judged(0, lost)])
    assert (found.seats, found.ledgers, found.median_gap, found.noise) == (3, 1, 6.0, 6.0)
    none = usual_of([Judged(0, idle)])
    assert (none.ledgers, none.median_gap, none.noise) == (0, None, None)


def test_a_file_of_other_modes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = evaluator_of("bargaining").modes.rows
    assert isinstance(rows, dict)
    name, mode = next(iter(rows.items()))
    before = stale("bargaining/smoke") or ""
    monkeypatch.setitem(rows, name, mode.model_copy(update={"version": mode.version + 1}))
    assert f"bargaining.{name}" not in before
    assert f"bargaining.{name}" in (stale("bargaining/smoke") or "")
