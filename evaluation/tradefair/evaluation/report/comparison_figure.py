"""A comparison as a figure: what `tradefair compare A B -o pair.html` writes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from tradefair.evaluation.charts import Axis, Chart, PairChart
from tradefair.evaluation.compare.comparison import Comparison, Metric, Pair
from tradefair.evaluation.compare.metric_tables import (
    differs_table,
    means_table,
    metric_title,
    pairs_table,
    spent_table,
    spread_table,
)
from tradefair.evaluation.report.outputs import FigurePage
from tradefair.evaluation.verdict.amounts import name

_METHOD = (
    "A pair is the same market, scenario, seed, compared seats and opponents, played by A and by B; differences are "
    "B − A. Interval: Student's t over pairs. p: sign flips of the pairs, corrected after Holm over the starred "
    "metrics. Chains and seals were checked, nothing was re-executed: that is tradefair verify."
)

# A terminal has room for the letter only.
_SPELT = {"n": "pairs", "p": "p-value", "p Holm": "p-value (Holm)"}


def figure_of(found: Comparison) -> FigurePage:
    """The pairs of each primary metric as a chart, the tables, and what was left out. File names lose their folders."""
    # A page is passed on, and folders name people.
    folders = [Path(arm.name).name for arm in (found.a, found.b)]
    charts = [chart for metric in found.metrics if metric.primary for chart in _pairs(found, metric)]
    means = means_table(found)
    means = means._replace(columns=[_SPELT.get(column, column) for column in means.columns])
    tables = [means, pairs_table(found), spread_table(found), spent_table(found), differs_table(found)]
    left_out = [f"left out: {Path(row.path).name}, {row.reason}" for row in found.dropped]
    return FigurePage(
        title=f"B ({name(found.b.label or folders[1])}) against A ({name(found.a.label or folders[0])})",
        # Its next steps name folders of this machine.
        verdict=found.verdict.model_copy(update={"next": ()}),
        charts=charts,
        tables=[table for table in tables if table.rows] if found.pairs else [],
        notes=[*found.notes, *left_out],
        method=_METHOD,
        data=found.to_json(),
        command=shlex.join(["tradefair", "compare", *folders]),
    )


def _pairs(found: Comparison, metric: Metric) -> Iterator[Chart]:
    """The differences of one metric; nothing where no pair has it."""
    known = [(pair, value) for pair in found.pairs if (value := pair.differences.get(metric.name)) is not None]
    if not known:
        return
    several = len({pair.scenario for pair in found.pairs}) > 1
    low, high = metric.interval or (None, None)
    yield PairChart(
        id=f"pairs_{metric.name}",
        title=f"{metric_title(found.market, metric.name)}: B − A on the same luck",
        note="One dot a pair: right of the line B has more. Hollow: nothing to win there. The bar is the mean's 95 % "
        "interval.",
        x=Axis(label="B − A", unit=metric.unit or ""),
        y=Axis(label="pair"),
        names=[f"{pair.scenario} {pair.seed}" if several else f"seed {pair.seed}" for pair, _ in known],
        differences=[value for _, value in known],
        muted=[_idle(pair) for pair, _ in known],
        mean=metric.mean_difference,
        low=low,
        high=high,
        ties=metric.ties,
    )


def _idle(pair: Pair) -> bool:
    """Whether a side had nothing to win; False where the market does not say."""
    return any(run.at_stake == 0 for run in (*pair.a, *pair.b))
