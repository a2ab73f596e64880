"""The report of experiments as a figure: choices by rank, shares beside the control text, welfare by page size."""

from __future__ import annotations

from collections.abc import Iterator

from tradefair.evaluation.charts import Axis, BarChart, Bars, Chart, Line, XYChart
from tradefair.evaluation.markets.marketplace.experiments.model import BiasRow, ExperimentReport, OverloadRow, SearchRow
from tradefair.evaluation.markets.marketplace.experiments.search import BASELINES
from tradefair.evaluation.markets.marketplace.experiments.show import parts_of
from tradefair.evaluation.report.outputs import FigurePage
from tradefair.evaluation.verdict.verdict import Verdict


def experiment_page(report: ExperimentReport, command: str) -> FigurePage:
    """A chart and a table per experiment that the traces are of; what was left out stands in the notes."""
    parts = parts_of(report)
    return FigurePage(
        title=f"experiments in a marketplace, {report.episodes:,} episodes",
        verdict=Verdict(kind="comparison", status="played", market="marketplace", scenario="").saying(
            sentence for part in parts for sentence in part.found
        ),
        charts=[*_ranks(report), *_shares(report), *_sizes(report), *_searches(report)],
        tables=[part.table.titled(part.title) for part in parts],
        notes=[f"left out {path}: {why}" for path, why in report.left_out.items()],
        method=" ".join(note for part in parts for note in part.notes),
        data=report.model_dump(mode="json"),
        command=command,
    )


def _ranks(report: ExperimentReport) -> Iterator[Chart]:
    if report.bias:
        yield XYChart(
            id="bias",
            title="Choices by rank",
            note="Without bias each rank has the same share of choices: one over the number of ranks.",
            x=Axis(label="rank that the arm gave"),
            y=Axis(label="share of choices"),
            lines=[
                Line(name=_name(row, row.by), x=list(range(1, row.bias.ranks + 1)), y=list(row.bias.rates))
                for row in report.bias
            ],
        )


def _shares(report: ExperimentReport) -> Iterator[Chart]:
    cells = [cell for cell in report.manipulation if cell.share is not None]
    if cells:
        control = [cell.against_control.get("share") for cell in cells]
        yield BarChart(
            id="manipulation",
            title="Payments to the business with the planted text",
            note="The mark is the same business with the control text, on the seeds that have both.",
            x=Axis(label="share of payments"),
            y=Axis(label="surface and condition"),
            names=[f"{cell.agent}: {cell.surface}/{cell.condition}" for cell in cells],
            bars=Bars(name="planted text", values=[cell.share for cell in cells]),
            marks=Bars(name="control text", values=[found.control if found else None for found in control]),
        )


def _sizes(report: ExperimentReport) -> Iterator[Chart]:
    if report.overload:
        yield XYChart(
            id="overload",
            title="Welfare by results per page",
            note="A line that falls to the right is overload.",
            x=Axis(label="results per page"),
            y=Axis(label="mean welfare", unit="currency units"),
            lines=[
                Line(
                    name=_name(row, row.where),
                    x=[size.search_limit for size in row.sizes],
                    y=[size.welfare for size in row.sizes],
                )
                for row in report.overload
            ],
        )


def _searches(report: ExperimentReport) -> Iterator[Chart]:
    """A chart per scenario: agents by search, then what simple choices earn; the mark is the optimum."""
    for place, scenario in enumerate(dict.fromkeys(row.scenario for row in report.search)):
        rows = [row for row in report.search if row.scenario == scenario]
        bars = {f"{_name(row, row.where)}: {name}": value for row in rows for name, value in row.welfare.items()}
        simple = {name.replace("_", " "): rows[0].baselines[name] for name in BASELINES}
        optimum = rows[0].baselines["optimal"]
        yield BarChart(
            id=f"welfare_by_search_{place}" if place else "welfare_by_search",
            title=f"Welfare by search, {scenario.partition('/')[2] or scenario}",
            note="Below the agents stands what simple choices would earn; the mark is the optimum.",
            x=Axis(label="mean welfare", unit="currency units"),
            y=Axis(label="agent and search"),
            names=[*bars, *simple],
            bars=Bars(name="welfare", values=[*bars.values(), *simple.values()]),
            marks=Bars(name="optimum", values=[optimum] * (len(bars) + len(simple))),
        )


def _name(row: BiasRow | OverloadRow | SearchRow, more: str) -> str:
    return ", ".join(filter(None, (row.agent, row.scenario.partition("/")[2], more)))
