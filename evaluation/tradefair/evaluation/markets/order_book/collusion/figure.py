"""The order book's report as a page: each level beside the same seeds in every reference."""

from __future__ import annotations

from collections.abc import Iterator

from tradefair.evaluation.charts import Axis, BarChart, Bars, Chart
from tradefair.evaluation.markets.order_book.collusion.model import OrderBookCollusion
from tradefair.evaluation.markets.order_book.collusion.show import header_text, level_rows, versus_rows
from tradefair.evaluation.report.outputs import FigurePage, in_sentences
from tradefair.evaluation.verdict.verdict import Verdict

_METHOD = (
    "The unit is the episode. Overcharge: price less the competitive price (of shares: less the fundamental value), "
    "mean over units traded; interval: its part outside of the competitive interval. Withheld: pairs of units per "
    "period that could have gained and were not traded. Even ticks: among the best quotes before each step. References "
    "are one policy on every seat, on the same scenario and seed."
)
_UNITS = {"overcharge": "ticks", "overcharge_interval": "ticks", "withheld": "pairs", "even_ticks": ""}
_TITLES = {
    "overcharge": "Price above the competitive price",
    "overcharge_interval": "Price beyond the competitive interval",
    "withheld": "Pairs of units withheld per period",
    "even_ticks": "Best quotes on even ticks",
}


def order_book_page(report: OrderBookCollusion, command: str) -> FigurePage:
    """Levels beside references. Raises nothing: what was not measured is in the notes."""
    tables = [
        versus_rows(report).titled("Against references on the same seeds"),
        level_rows(report).titled("Levels, mean over episodes"),
    ]
    return FigurePage(
        title="levels of order books beside honest populations",
        verdict=Verdict(kind="comparison", status="played", market="order_book", scenario="").saying(
            in_sentences(report.verdict)
        ),
        charts=[*_charts(report)],
        tables=[table for table in tables if table.rows],
        notes=[*(f"missing: {text}" for text in report.missing), *(f"left out: {text}" for text in report.findings)],
        method=f"{header_text(report)}\n{_METHOD}",
        data=report.model_dump(mode="json"),
        command=command,
    )


def _charts(report: OrderBookCollusion) -> Iterator[Chart]:
    for name, title in _TITLES.items():
        rows = [row for row in report.versus if row.name == name and row.n]
        if rows:
            yield BarChart(
                id=name,
                title=title,
                note="Bars are these episodes, the mark is what they are held against, on the same seeds.",
                x=Axis(label=title.lower(), unit=_UNITS[name]),
                y=Axis(label="against"),
                names=[row.against for row in rows],
                bars=Bars(name="here", values=[row.here for row in rows]),
                marks=Bars(name="there", values=[row.there for row in rows]),
            )
