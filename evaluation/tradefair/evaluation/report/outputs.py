"""Figures as files: one page of charts, tables and words, written as HTML, SVG, CSV, LaTeX or JSON by the suffix."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from tradefair.evaluation.charts import Chart
    from tradefair.evaluation.read.whole_files import WholeFile
    from tradefair.evaluation.report.page_data import PageData
    from tradefair.evaluation.table import Table
    from tradefair.evaluation.verdict.verdict import Verdict

SUFFIXES = (".html", ".svg", ".csv", ".tex", ".json")


class FigurePage(NamedTuple):
    """What a command found: the verdict, charts (the first is the main figure), tables (the first the main one).

    `notes` are cautions, one sentence each; `method` says how the numbers were made; `data` is the JSON that the
    command prints; `command` is the command line that makes it again.
    """

    title: str
    verdict: Verdict | None
    charts: Sequence[Chart]
    tables: Sequence[Table]
    notes: Sequence[str]
    method: str
    data: Mapping[str, Any]
    command: str = ""

    def to_json(self) -> dict[str, Any]:
        """`data` with the verdict as its first key."""
        return ({"verdict": self.verdict.to_json()} if self.verdict else {}) | dict(self.data)


def ending(*suffixes: str) -> Callable[[Path | None], Path | None]:
    """A check of `-o` for a command that writes files of these kinds: typer.BadParameter lists `suffixes`."""

    def checked(path: Path | None) -> Path | None:
        if path is not None and path.suffix.lower() not in suffixes:
            raise typer.BadParameter(f"{path.name[:60]}: a name ends in {', '.join(suffixes)}")
        return path

    return checked


def known_output(path: Path | None) -> Path | None:
    """The path, if its suffix is one of the five. Raises typer.BadParameter, a usage error that lists them.

    Likewise for `.svg` without the extra that draws: nothing is played or read first.
    """
    path = ending(*SUFFIXES)(path)
    if path is not None and path.suffix.lower() == ".svg" and find_spec("quickjs") is None:
        from tradefair.evaluation.charts.draw import MISSING_ENGINE

        raise typer.BadParameter(MISSING_ENGINE)
    return path


# Checked while the command line is parsed: a long computation must not end in a wrong name.
Output = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="FILE", callback=known_output, help="Write to FILE: .html, .svg, .csv, .tex or .json."
    ),
]
"""The option `-o` of each command that makes a `FigurePage`."""


def write(page: FigurePage, path: Path) -> WholeFile:
    """Write the page in the form that the suffix names, whole or not at all; returns path and size.

    `.html` all of it · `.svg` the first chart · `.csv` its numbers, else the first table · `.tex` the first table, else
    the first chart's numbers · `.json` the data. Raises typer.BadParameter for another suffix, or where the page has
    nothing of that form, or `.svg` lacks its extra; StorageUnavailable.
    """
    from tradefair.evaluation.read.whole_files import write_whole

    known_output(path)
    return write_whole(path, [content_of(page, path.suffix.lower())])


def only_chart(page: FigurePage, name: str) -> FigurePage:
    """The page with this chart and nothing else. Raises typer.BadParameter, which lists the charts there are."""
    found = [chart for chart in page.charts if chart.id == name]
    if not found:
        known = ", ".join(chart.id for chart in page.charts) or "no charts"
        raise typer.BadParameter(f"there is no chart {name[:60]!r}; there are {known}", param_hint="--chart")
    return page._replace(charts=found, tables=[])


def command_line(*words: str | Path) -> str:
    """A command as it is typed; of paths the name alone, since a page is passed on, and folders name people."""
    return shlex.join(["tradefair", *(word.name if isinstance(word, Path) else word for word in words)])


def in_sentences(text: str) -> tuple[str, ...]:
    """A paragraph as its sentences."""
    return tuple(re.split(r"(?<=[.!?])\s+(?=[A-Z])", text.strip()))


def content_of(page: FigurePage, suffix: str) -> bytes:
    """The page as the bytes of a file of this suffix. Raises as `write` does."""
    from tradefair.cli.terminal import json_bytes
    from tradefair.evaluation.charts import chart_csv, chart_tex, draw_svg, table_csv, table_tex

    match suffix, list(page.charts), list(page.tables):
        case ".json", _, _:
            return json_bytes(page.to_json())
        case ".html", _, _:
            return _html(page)
        case ".svg", [chart, *_], _:
            return draw_svg(chart)
        case ".csv", [chart, *_], _:
            return chart_csv(chart)
        case ".csv", _, [table, *_]:
            return table_csv(table)
        case ".tex", _, [table, *_]:
            return table_tex(table, _caption(page))
        case ".tex", [chart, *_], _:
            return chart_tex(chart, _caption(page))
        case _:
            raise typer.BadParameter(f"there is nothing to draw; {suffix} would be empty (.html and .json are not)")


def _caption(page: FigurePage) -> str:
    """Lines for a comment: what was found, versions and command."""
    from importlib.metadata import version

    versions = {"tradefair": version("tradefair"), **(page.verdict.versions if page.verdict else {})}
    named = ", ".join(f"{name} {number}" for name, number in versions.items())
    return "\n".join([page.title, *(page.verdict.sentences if page.verdict else ()), named, page.command])


def _html(page: FigurePage) -> bytes:
    from tradefair.evaluation.report.page import html_page

    return html_page(page_of(page))


def page_of(page: FigurePage) -> PageData:
    """The data of its HTML page."""
    from importlib.metadata import version

    from tradefair.evaluation.report.page_data import FigureRecord, PageData, TablePage

    figure = FigureRecord(
        title=page.title,
        verdict=page.verdict,
        charts=list(page.charts),
        tables=[TablePage.of(table) for table in page.tables],
        notes=list(page.notes),
        method=page.method,
    )
    return PageData(mode="figure", version=version("tradefair"), figure=figure)
