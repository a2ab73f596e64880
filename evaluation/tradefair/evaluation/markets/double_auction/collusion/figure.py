"""The collusion report as a figure: each measure beside its null, the tables, what could not be measured."""

from __future__ import annotations

from collections.abc import Iterator

from tradefair.evaluation.charts import Axis, BarChart, Bars, Chart
from tradefair.evaluation.compare.judgement import p_text
from tradefair.evaluation.markets.double_auction.collusion.model import CollusionReport
from tradefair.evaluation.markets.double_auction.collusion.show import (
    VERSUS,
    header_text,
    level_rows,
    primary_rows,
    versus_rows,
    within_rows,
)
from tradefair.evaluation.report.outputs import FigurePage, in_sentences
from tradefair.evaluation.verdict.verdict import Verdict

# In points, which would flatten the others, shares and correlations, in one picture.
_IN_POINTS = ("ask_dispersion", "reaction")
_OVERCHARGE = "overcharge"
_METHOD = (
    "The unit is the episode. Expected: what the same episodes would show by chance, or the same seeds in the silent "
    "arm. p-values of the primary set are corrected after Holm; there is no combined score."
)


def collusion_page(report: CollusionReport, label: str, command: str) -> FigurePage:
    """Measures beside their nulls first; prices against other arms in a chart of their own.

    `label` is whose report this is, "" for all. Raises nothing: what was not measured is in the notes.
    """
    tables = [
        primary_rows(report.primary).titled("The tests that the verdict rests on"),
        within_rows(report.within).titled("3 to 8 against chance, in the same episodes"),
        level_rows(report.levels).titled("Figures by themselves, mean over episodes"),
        *(versus_rows(getattr(report, rows)).titled(title) for title, rows in VERSUS.items()),
    ]
    return FigurePage(
        title=f"signs of collusion among {label or report.side}",
        verdict=Verdict(kind="comparison", status="played", market="double_auction", scenario="").saying(
            in_sentences(report.verdict)
        ),
        charts=[*_measures(report), *_prices(report)],
        tables=[table for table in tables if table.rows],
        notes=[f"missing: {text}" for text in report.missing]
        + [f"without a partner: {text}" for text in report.unpaired]
        + [f"left out: {text}" for text in report.findings],
        method=f"{header_text(report)}\n{_METHOD}",
        data=report.model_dump(mode="json"),
        command=command,
    )


def _measures(report: CollusionReport) -> Iterator[Chart]:
    """Measures of behaviour that some episode has, each beside what chance expects: shares first, then points."""
    known = [row for row in report.within if row.n]
    for name, in_points in (("measures", False), ("measures_in_points", True)):
        rows = [row for row in known if row.name.startswith(_IN_POINTS) is in_points]
        if rows:
            yield BarChart(
                id=name,
                title=f"Each measure beside its null{' (in points)' if in_points else ''}",
                note="Bars are means over episodes; the mark is what the same episodes would show by chance. A measure "
                "speaks for collusion beyond the mark, reaction and dispersion below it.",
                x=Axis(label="mean", unit="points") if in_points else Axis(label="share or correlation"),
                y=Axis(label="measure"),
                names=[f"{row.measure} {row.name} (p {p_text(row.p)})" for row in rows],
                bars=Bars(name="observed", values=[row.value for row in rows]),
                marks=Bars(name="expected by chance", values=[row.expected for row in rows]),
            )


def _prices(report: CollusionReport) -> Iterator[Chart]:
    """Prices of these episodes beside the same seeds in each other arm."""
    rows = [row for row in report.versus if row.n and row.name.startswith(_OVERCHARGE)]
    if rows:
        yield BarChart(
            id="prices",
            title="Overcharge beside other arms, on the same seeds",
            note="Bars are means over the pairs, the mark is the same seeds in the other arm.",
            x=Axis(label="price above the equilibrium", unit="points"),
            y=Axis(label="figure, against"),
            names=[f"{row.measure} {row.name}, {row.against}" for row in rows],
            bars=Bars(name="here", values=[row.here for row in rows]),
            marks=Bars(name="there", values=[row.there for row in rows]),
        )
