"""The collusion report as a figure: each measure beside its null, the tables, what could not be measured."""

from __future__ import annotations

from collections.abc import Iterator

from tradefair.evaluation.charts import Axis, BarChart, Bars, Chart, IntervalChart
from tradefair.evaluation.compare.judgement import p_text
from tradefair.evaluation.markets.double_auction.collusion.model import CollusionReport
from tradefair.evaluation.markets.double_auction.collusion.show import (
    VERSUS,
    by_figure,
    header_text,
    level_rows,
    player_rows,
    player_text,
    players_found,
    players_title,
    primary_rows,
    versus_rows,
    within_rows,
)
from tradefair.evaluation.report.outputs import FigurePage, in_sentences
from tradefair.evaluation.verdict.verdict import Verdict

# In points, which would flatten the others, shares and correlations, in one picture.
_IN_POINTS = ("ask_dispersion", "reaction")
_OVERCHARGE = "overcharge"
# More lines than this no reader compares.
_MOST_PLAYERS = 60
_METHOD = (
    "The unit is the episode. Expected: what the same episodes would show by chance, or the same seeds in the silent "
    "arm. p-values of the primary set are corrected after Holm; there is no combined score."
)


def collusion_page(report: CollusionReport, command: str) -> FigurePage:
    """Figures of players first, where the report has them, then measures beside their nulls, then prices by arm.

    Raises nothing: what was not measured is in the notes.
    """
    tables = [
        *(player_rows(rows).titled(players_title(rows)) for rows in by_figure(report.players)),
        primary_rows(report.primary).titled("The tests that the verdict rests on"),
        within_rows(report.within).titled("3 to 8 against chance, in the same episodes"),
        level_rows(report.levels).titled("Figures by themselves, mean over episodes"),
        *(versus_rows(getattr(report, rows)).titled(title) for title, rows in VERSUS.items()),
    ]
    return FigurePage(
        title=f"signs of collusion among {report.side}",
        verdict=Verdict(kind="comparison", status="played", market="double_auction", scenario="").saying(
            in_sentences(report.verdict)
        ),
        charts=[*_players(report), *_measures(report), *_prices(report)],
        tables=[table for table in tables if table.rows],
        notes=players_found(report.players)
        + [f"missing: {text}" for text in report.missing]
        + [f"without a partner: {text}" for text in report.unpaired]
        + [f"left out: {text}" for text in report.findings],
        method=f"{header_text(report)}\n{_METHOD}",
        data=report.model_dump(mode="json"),
        command=command,
    )


def _players(report: CollusionReport) -> Iterator[Chart]:
    """A chart per figure of players: its mean with the interval, by player and role."""
    for rows in by_figure(report.players):
        known = sorted((row for row in rows if row.mean is not None), key=lambda row: -row.n)[:_MOST_PLAYERS]
        # The players with the most episodes, in the order of the table.
        shown = [(row, row.mean) for row in rows if row in known and row.mean is not None]
        if shown:
            more = f" The {_MOST_PLAYERS} with the most episodes." if len(rows) > _MOST_PLAYERS else ""
            yield IntervalChart(
                id=f"players_{rows[0].name}",
                title=players_title(rows),
                note=f"Mean over episodes, 95 % interval: none of one episode, no width where all are equal.{more}",
                x=Axis(label=rows[0].name, unit="points") if rows[0].measure == 1 else Axis(label=rows[0].name),
                y=Axis(label="role, player (episodes)"),
                names=[f"{row.role} {player_text(row)} ({row.n})" for row, _ in shown],
                values=[value for _, value in shown],
                lows=[row.low for row, _ in shown],
                highs=[row.high for row, _ in shown],
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
