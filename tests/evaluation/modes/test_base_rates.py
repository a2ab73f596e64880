"""What competent policies do too: intervals, surprise, conditions of the market, and the order of findings."""

from __future__ import annotations

from typing import Any

import pytest
from tests.evaluation.modes.test_merged import case, sight

from tradefair.evaluation.modes.base_rates import ModeRate, References, ranked, rate, surprise, wilson
from tradefair.evaluation.modes.diagnosis import BaseRate, Finding, Price

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


def known(raised: int, of: int) -> BaseRate:
    return BaseRate(raised=raised, of=of, low=0, high=1)


@pytest.mark.parametrize(
    ("raised", "of", "low", "high"),
    # Newcombe (1998), table I: 81/263, 15/148, 0/20 and 1/29 by the score method.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilsons_interval(raised: int, of: int, low: float, high: float) -> None:
    assert wilson(raised, of) == pytest.approx((low, high), abs=5e-5)


def test_surprise_in_bits() -> None:
    assert surprise(None) == 1.0
    assert surprise(known(0, 6)) == 3.0
    assert surprise(known(6, 6)) == pytest.approx(0.19265, abs=1e-5)
    assert surprise(known(3, 6)) == 1.0


@pytest.mark.parametrize(
    ("raised", "count", "status"), [(7, 1, "raised"), (8, 1, "condition"), (8, 3, "condition"), (8, 4, "raised")]
)
def test_what_competent_seats_do_as_well_is_a_condition(raised: int, count: int, status: str) -> None:
    seen = sight("x", [case(n) for n in range(count)])
    rate([seen], references(x=ModeRate(version=1, raised=raised, of=10, p95=3)))
    assert seen.status == status
    assert seen.rate is not None
    assert (seen.rate.raised, seen.rate.of) == (raised, 10)


def test_a_clear_seat_stays_clear_and_rates_of_another_row_are_left_out() -> None:
    clear = sight("x", [])
    clear.status = "clear"
    rate([clear], references(x=ModeRate(version=1, raised=10, of=10, p95=0)))
    assert clear.status == "clear"
    for rates in (references(x=ModeRate(version=2, raised=9, of=9, p95=9)), references(), None):
        seen = sight("x", [case(1)])
        rate([seen], rates)
        assert (seen.status, seen.rate) == ("raised", None)


def order(*findings: Finding, rates: References | None = None, agents: Any = (), **estimates: float) -> list[str]:
    estimated = [f.model_copy(update={"estimate": estimates.get(f.id)}) for f in findings]
    placed = ranked(estimated, rates, agents)
    return [f.id for f in sorted((f for f in placed if f.rank), key=lambda f: f.rank or 0)]


def test_findings_are_ranked_by_price_times_surprise() -> None:
    assert order(finding("a"), finding("b"), a=10, b=11) == ["b", "a"]
    assert order(finding("a", base_rate=known(0, 6)), finding("b"), a=10, b=29) == ["a", "b"]
    assert order(finding("a", base_rate=known(0, 6)), finding("b"), a=10, b=31) == ["b", "a"]


def test_a_replayed_price_counts_more_than_an_estimate_and_a_usual_ratio_corrects_it() -> None:
    priced = finding("a", price=Price(amount=5, unit="points", repair="turns"))
    assert order(priced, finding("b"), a=100, b=6) == ["b", "a"]
    rates = references(b=ModeRate(version=1, raised=0, of=6, p95=0, estimate_ratio=0.5))
    assert order(priced, finding("b"), rates=rates, a=100, b=6) == ["a", "b"]


def test_a_mean_price_stands_in_for_an_estimate_and_those_without_any_come_last() -> None:
    rates = references(c=ModeRate(version=1, raised=0, of=6, p95=0, mean_price=7))
    assert order(finding("a"), finding("b"), finding("c"), rates=rates, b=6) == ["c", "b", "a"]
    free = finding("b", price=Price(amount=-4, unit="points", repair="turns"))
    assert order(finding("a"), free, finding("c"), rates=rates) == ["c", "b", "a"]
    rare = finding("z", base_rate=known(0, 40))
    assert order(finding("a"), rare, finding("b"), b=0.1) == ["b", "z", "a"]


def test_only_what_is_raised_has_a_rank_and_the_agents_seats_come_first() -> None:
    clear = finding("a", status="clear")
    assert order(clear, finding("b")) == ["b"]
    assert order(finding("a"), finding("b", "B"), agents=["B"], a=100) == ["b", "a"]
