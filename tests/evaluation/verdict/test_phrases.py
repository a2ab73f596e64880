"""Units and aggregation of what a verdict says come from `figure(...)` alone."""

from __future__ import annotations

import pytest

from tradefair.catalog import market_names, market_type
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.figures import figure_of
from tradefair.evaluation.modes.table import NO_MODES
from tradefair.evaluation.phrases import missing, phrases_for

MARKETS = sorted(market_names())


@pytest.mark.parametrize(
    ("phrase", "stated"),
    [
        ("{verb} {value} per round", "per round"),
        ("{verb} {value} on average", "on average"),
        ("{verb} {value} in all", "in all"),
        ("{verb} {value} currency units", "currency units"),
        ("{verb} {value} ticks", "ticks"),
        ("{verb} {value} by day {days}", "day"),
        ("{verb} {value}, ending with {days}", None),
        ("{verb} {value}, 40 % of it", "4"),
        ("{verb} {value} in 14 days", "1"),
    ],
)
def test_a_phrase_that_states_a_unit_or_an_aggregation_is_refused(phrase: str, stated: str | None) -> None:
    complaints = [*missing({"all": {"scored": phrase}}, ["buyer"], NO_MODES, {"days"})]
    expected = f"the phrase scored of buyer states {stated!r}, which figure(...) has to say"
    assert complaints == ([] if stated is None else [expected])


@pytest.mark.parametrize("market", MARKETS)
def test_figures_say_what_phrases_leave_out(market: str) -> None:
    evaluator = evaluator_of(market)
    roles = {role for spec in market_type(market).policies.values() for role in spec.roles}
    assert evaluator.missing_phrases(roles) == []
    metrics = {metric.name: figure_of(market, metric.name) for metric in evaluator.primary_metrics}
    assert all(figure is not None and figure.aggregation for figure in metrics.values())
    first = evaluator.primary_metrics[0]
    assert figure_of(market, first.name).unit == first.unit  # pyright: ignore[reportOptionalMemberAccess]
    for role in sorted(roles):
        part = phrases_for(evaluator.phrases, role).get("part")
        figures = [figure_of(market, part), figure_of(market, part, "relative")] if part else []
        assert [figure.unit for figure in figures if figure] == ["share"] * bool(part)
