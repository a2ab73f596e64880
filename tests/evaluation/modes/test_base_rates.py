"""What competent policies do too: intervals, conditions of the market, and the order of findings."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.references import PRESETS, shipped_file
from tests.evaluation.modes.test_merged import case, sight

from tradefair.catalog import market_type
from tradefair.evaluation.modes.base_rates import (
    MOST_FALSE,
    ModeRate,
    Played,
    References,
    conditions,
    mode_rates,
    ranked,
    rate,
    wilson,
)
from tradefair.evaluation.modes.diagnosis import Finding

BASE: dict[str, Any] = {
    **{"preset": "p", "scenario_digest": "", "rules_version": "1", "seeds": 4},
    **{"competent": ["zip"], "best": "zip", "naive": "n", "rows": {}},
}


def references(**modes: ModeRate) -> References:
    return References(**BASE, modes=modes)


def finding(name: str, seat: str = "A", **fields: Any) -> Finding:
    said = {
        "status": "raised",
        "says": "",
        "counts": "",
        "threshold": "",
        "count": 1,
        "of": 9,
        "amount": 1,
        "share": 0.1,
    }
    return Finding.model_validate({**said, "id": name, "seats": [seat], **fields})


@pytest.mark.parametrize(
    ("raised", "of", "low", "high"),
    # Newcombe (1998), table I: 81/263, 15/148, 0/20 and 1/29 by the score method.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilsons_interval(raised: int, of: int, low: float, high: float) -> None:
    assert wilson(raised, of) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("raised", "count", "status"), [(3, 1, "raised"), (4, 1, "condition"), (8, 3, "condition"), (8, 4, "raised")]
)
def test_what_competent_seats_do_as_well_is_a_condition(raised: int, count: int, status: str) -> None:
    seen = sight("x", [case(n) for n in range(count)])
    rate([seen], references(x=ModeRate(version=1, raised=raised, of=10, p95=3)))
    assert seen.status == status
    assert seen.rate is not None
    assert (seen.rate.raised, seen.rate.of) == (raised, 10)


def test_the_modes_raised_most_are_conditions_until_the_others_make_few_findings_a_seat() -> None:
    raised = {"a": 10, "b": 8, "c": 3, "d": 2, "e": 1, "f": 0}
    rates = {name: ModeRate(version=1, raised=of, of=10, p95=3) for name, of in raised.items()}
    # Without a and b, which most seats raise, c, d and e make 0.6 findings a seat; without c they make 0.3.
    assert conditions(rates) == {"a", "b", "c"}
    assert conditions({"never looked at": ModeRate(version=1, raised=0, of=0, p95=0)}) == set()


def test_competent_seats_of_a_preset_have_few_findings_as_their_verdicts_stand() -> None:
    usual = {
        preset: shipped.usual.findings for preset in PRESETS if (shipped := shipped_file(preset)) and shipped.usual
    }
    assert ([preset for preset, found in usual.items() if found > MOST_FALSE], [*usual]) == ([], [*PRESETS])


def test_a_control_is_no_example_of_competent_play() -> None:
    controls = {name for name, spec in market_type("retail").policies.items() if spec.control}
    assert {"price_first", "sealed_ears"} <= controls
    assert all(controls.isdisjoint(shipped.competent) for preset in PRESETS if (shipped := shipped_file(preset)))


def test_a_clear_seat_stays_clear_and_rates_of_another_row_are_left_out() -> None:
    clear = sight("x", [])
    clear.status = "clear"
    rate([clear], references(x=ModeRate(version=1, raised=10, of=10, p95=0)))
    assert clear.status == "clear"
    for rates in (references(x=ModeRate(version=2, raised=9, of=9, p95=9)), references(), None):
        seen = sight("x", [case(1)])
        rate([seen], rates)
        assert (seen.status, seen.rate) == ("raised", None)


def test_what_one_of_two_policies_does_on_the_same_seed_is_no_mistake_of_that_seat() -> None:
    once = {"x": ModeRate(version=1, raised=1, of=2, p95=2)}
    for rates, count, status in (({"A": once}, 2, "condition"), ({"A": once}, 3, "raised"), ({"B": once}, 1, "raised")):
        seen = sight("x", [case(n) for n in range(count)])
        rate([seen], None, Played(["gd", "zip"], rates))
        assert seen.status == status
    never = sight("x", [case(1)])
    rate([never], None, Played(["gd", "zip"], {"A": {"x": ModeRate(version=1, raised=0, of=2, p95=0)}}))
    assert (never.status, never.rate and never.rate.of) == ("raised", 2)


def test_the_rate_of_a_mode_counts_what_another_one_tells_and_knows_what_was_never_looked_for() -> None:
    found = [
        ("zip", finding("x", count=2)),
        ("zip", finding("x", status="merged", count=5)),
        ("gd", finding("x", status="clear", count=0)),
        ("gd", finding("x", status="unchecked", count=0)),
    ]
    rates = mode_rates(found, {"x": 3, "y": 1})
    assert rates["x"] == ModeRate(version=3, raised=2, of=3, p95=5, by={"zip": (2, 2)})
    assert rates["y"] == ModeRate(version=1, raised=0, of=0, p95=0)


def order(*findings: Finding, agents: Any = ()) -> list[str]:
    placed = ranked(findings, agents)
    return [f.id for f in sorted((f for f in placed if f.rank), key=lambda f: f.rank or 0)]


def test_what_kept_a_seat_from_acting_comes_first_then_what_its_turns_lost() -> None:
    assert order(finding("a", lost=10), finding("b", lost=11)) == ["b", "a"]
    assert order(finding("a", lost=10), finding("b", protocol=True)) == ["b", "a"]
    # Of equals the one that its table lists first; without a ledger nothing is known to be lost.
    assert order(finding("a", lost=-4), finding("b"), finding("c", lost=0), finding("d", lost=1)) == list("dbca")


def test_only_what_is_raised_has_a_rank_and_the_agents_seats_come_first() -> None:
    clear = finding("a", status="clear")
    assert order(clear, finding("b")) == ["b"]
    assert order(finding("a", lost=100), finding("b", "B"), agents=["B"]) == ["b", "a"]
