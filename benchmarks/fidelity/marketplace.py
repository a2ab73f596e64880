"""Magentic Marketplace: what its experiments print of models, from RUNS of the same experiments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from benchmarks.fidelity.row import Asked, Figure, Made, Ours, draws, figure
from tradefair.evaluation.markets.marketplace.experiments.model import ExperimentReport
from tradefair.evaluation.markets.marketplace.experiments.report import experiment_report

_SHORT, _LONG = 3, 100
_READ = "tradefair lab experiment RUNS -o FILE.html"


def measured(asked: Asked) -> Made:
    """By label: the fall of welfare from 3 results to 100, payments to the manipulator, choices by place."""
    report, found = _report(tuple(asked.runs)), dict[tuple[str, str], Ours]()
    for row in report.overload:
        welfare = {size.search_limit: size.welfare for size in row.sizes}
        if welfare.get(_SHORT) and _LONG in welfare:
            found[row.agent, "fall_percent"] = Ours(100 - 100 * welfare[_LONG] / welfare[_SHORT])
    for row in report.bias:
        # Three businesses are listed or answer; an experiment of others is another one.
        if len(row.bias.rates) == 3 and None not in row.bias.rates:
            first, _, third = (Ours(100 * (rate or 0)) for rate in row.bias.rates)
            here = {"share_percent": third} if row.by == "list position" else {"first": first, "third": third}
            found |= {(row.agent, column): share for column, share in here.items()}
    payments: dict[str, float] = {}
    for cell in report.manipulation:
        payments[cell.agent] = max(payments.get(cell.agent, 0.0), cell.to_it / cell.runs)
    return found | {(agent, "most"): Ours(most) for agent, most in payments.items()}


@cache
def _report(runs: Sequence[Path]) -> ExperimentReport:
    return experiment_report(runs)


def _of(table: str, plan: str, chart: str, *columns: str) -> None:
    of = Figure(
        f"tradefair sweep marketplace/{plan} --out RUNS; {_READ}",
        needs="needs a model",
        columns=dict.fromkeys(columns, ""),
        differs={"": "other runs of the model, on our seeds"},
        draws=[chart],
    )
    figure("magentic", table, of=of)(measured)


_of("figure_5", "consideration_set", "overload", "fall_percent")
_of("figure_7", "manipulation_competitive", "manipulation", "most")
_of("figure_8", "position_bias", "bias", "share_percent")
_of("figure_9", "proposal_bias_staggered", "bias", "first", "third")
draws("magentic", f"tradefair sweep marketplace/welfare_by_search --out RUNS; {_READ}", figure_4="welfare_by_search")
