"""Figures as files: numbers as they are, names that are never run, and a page that a browser shows."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import pytest
import typer
from tests.evaluation.browsing import watched
from tests.waiting import LONG

from tradefair.evaluation.charts import (
    Axis,
    BarChart,
    Bars,
    Chart,
    HeatChart,
    IntervalChart,
    Line,
    MatrixCell,
    MatrixChart,
    PairChart,
    Strip,
    StripChart,
    XYChart,
    chart_csv,
    chart_tex,
    table_tex,
)
from tradefair.evaluation.report.outputs import FigurePage, write
from tradefair.evaluation.table import Table
from tradefair.evaluation.verdict.verdict import Verdict

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HOSTILE = '=HYPERLINK("x") \\input{/etc/passwd} $ & % # _ ^ ~ 50 % [x] * <b> \u202e 中'
X, Y = Axis(label="difference", unit="points"), Axis(label="seed")
PAIRS = PairChart(
    id="pairs", title="B − A", note="One dot per seed.", x=X, y=Y, names=["1", "2", "3"],
    differences=[-2.5, 0, 1234.5678], muted=[False, True, False], mean=410.6892, low=-3, high=None, ties=1,
)  # fmt: skip
SHAPES: list[Chart] = [
    XYChart(id="xy", title="Prices", x=Axis(label="round"), y=Axis(label="price", unit="points"), lines=[
        Line(name="price", x=[1, 2, 3], y=[41, None, 43.25]), Line(name=HOSTILE, x=[1, 3], y=[40, 45], mark="dots")]),
    BarChart(id="bars", title="Gains", x=X, y=Y, names=["B1", HOSTILE], bars=Bars(name="gain", values=[3, -1.5]),
             marks=Bars(name="best", values=[None, 4])),
    HeatChart(id="heat", title="Days", x=Axis(label="day"), y=Axis(label="item"), rows=["a", HOSTILE], first_column=1,
              last_column=4, cells=[(0, 1, 1), (1, 3, 2)], levels=["low", "empty"]),
    IntervalChart(id="intervals", title="Skill", x=X, y=Y, names=["a", HOSTILE], values=[1, 2.125], lows=[0.5, None],
                  highs=[1.5, None]),
    MatrixChart(id="matrix", title="Who won", x=X, y=Y, names=["a", HOSTILE], cells=[
        MatrixCell(row=0, column=1, value=0.5, note="4 games"), MatrixCell(row=1, column=0, value=-0.5)]),
    PAIRS,
    StripChart(id="strips", title="Every game", x=X, y=Y, strips=[
        Strip(name="a", values=[-1.5, 0, 0, 2], of=9, mean=0.25), Strip(name=HOSTILE, values=[], of=0)]),
]  # fmt: skip


def page(**changed: object) -> FigurePage:
    verdict = Verdict(
        status="played", market="m", scenario="s", sentences=("B earned 37 points more than A.", "7 pairs."),
        text="", versions={"rules": "3"},
    )  # fmt: skip
    table = Table("Seats", ["seat", "points earned"], [["B1", "-404.5"], [HOSTILE, "–"]])
    made = FigurePage("A and B", verdict, [PAIRS, *SHAPES], [table], [HOSTILE], "Paired.", {"mean": 410.6892},
                      "tradefair compare A B")  # fmt: skip
    return made._replace(**changed)


def rows_of(content: bytes) -> list[list[str]]:
    return list(csv.reader(content.decode().splitlines()))


def tex_cells(content: bytes) -> list[list[str]]:
    """Rows of a tabular; fails where a sign of TeX stands that is not escaped, or a row has too few cells."""
    lines = content.decode().splitlines()
    comments = [line for line in lines if line.startswith("%")]
    (opened, top, *rows, bottom, closed) = lines[len(comments) :]
    columns = re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", opened)
    assert columns
    assert (top, rows[1], bottom, closed) == (r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}")
    known = r"\\(?:textbackslash|textasciicircum|textasciitilde|textless|textgreater|textbar|textasciigrave|dots"
    known += r"|textperiodcentered)\{\}|\\[{}$&#_%]|\{[\[\]*]\}|\$(?:-|\\leq|\\geq|\\times|\\pm|\\alpha|\\to)\$"
    known += r"|\\texttt\{U\+[0-9A-F]{4,6}\}"
    found: list[list[str]] = []
    for row in [rows[0], *rows[2:]]:
        body = row.removesuffix(r" \\")
        assert body != row
        left = re.sub(known, "", body)
        assert not re.search(r"[\\{}$#_%^\[\]*]", left), left
        assert left.isascii()
        assert "~" not in left
        cells = body.split(" & ")
        assert len(cells) == len(columns[1])
        found.append(cells)
    return found


@pytest.mark.parametrize("chart", SHAPES, ids=lambda chart: chart.shape)
def test_files_of_numbers_are_whole_and_harmless(chart: Chart) -> None:
    head, *rows = rows_of(chart_csv(chart))
    assert {len(row) for row in rows} == {len(head)}
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@"))]
    assert len(tex_cells(chart_tex(chart, caption="one\ntwo"))) == len(rows) + 1


def tex_engine() -> str:
    """A TeX engine with the package that our tables use; the test skips without."""
    engine, finder = shutil.which("pdflatex"), shutil.which("kpsewhich")
    if engine is None or finder is None:
        pytest.skip("pdflatex is not installed")
    if subprocess.run([finder, "booktabs.sty"], capture_output=True, check=False).returncode:
        pytest.skip("this TeX has no booktabs")
    return engine


def test_tex_compiles_and_prints_every_sign(tmp_path: Path) -> None:
    engine = tex_engine()
    # Whatever may stand in a name: the signs of the first blocks, and those that our own texts use.
    signs = "".join(map(chr, (*range(0x20, 0x180), *range(0x2010, 0x2027), 0x2212, 0x2264, 0x3B1, 0x4E2D)))
    table = Table("signs", ["signs", HOSTILE], [[signs[at : at + 16], "1"] for at in range(0, len(signs), 16)])
    tables = [*(chart_tex(chart, caption=HOSTILE) for chart in SHAPES), table_tex(table, HOSTILE)]
    body = b"\\par\n".join(tables)
    document = rb"\documentclass{article}\usepackage{booktabs}\begin{document}\tiny" + b"\n" + body + rb"\end{document}"
    (tmp_path / "t.tex").write_bytes(document)
    run = [engine, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "t.tex"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, timeout=LONG, check=False)
    told = done.stdout.decode(errors="replace")
    assert done.returncode == 0, told[-2000:]
    log = (tmp_path / "t.log").read_text(encoding="utf-8", errors="replace")
    assert "Missing character" not in log
    assert "Undefined" not in log


def test_numbers_are_those_of_the_chart() -> None:
    assert rows_of(chart_csv(PAIRS)) == [
        ["seed", "difference (points)", "low", "high", "informative"],
        ["3", "1234.5678", "", "", "true"],
        ["2", "0", "", "", "false"],
        ["1", "-2.5", "", "", "true"],
        ["mean", "410.6892", "-3", "", ""],
    ]
    assert tex_cells(chart_tex(PAIRS))[1:4] == [
        ["3", "1,234.568", "--", "--", "yes"],
        ["2", "0", "--", "--", "no"],
        ["1", "$-$2.5", "--", "--", "yes"],
    ]


def test_a_name_that_a_spreadsheet_would_run_gets_an_apostrophe_and_a_number_none() -> None:
    names = ["=1+1", "+1", "-3.5", "-x", "@x", "＝1", " =1"]
    chart = BarChart(id="b", title="b", x=X, y=Y, names=names, bars=Bars(name="n", values=[-1.0] * len(names)))
    cells = [row[0] for row in rows_of(chart_csv(chart))[1:]]
    assert cells == ["'=1+1", "+1", "-3.5", "'-x", "'@x", "'＝1", "'=1"]


def test_the_suffix_decides(tmp_path: Path) -> None:
    write(page(), tmp_path / "new" / "p.csv")
    assert (tmp_path / "new" / "p.csv").read_bytes() == chart_csv(PAIRS)
    write(page(charts=[]), tmp_path / "p.CSV")
    assert rows_of((tmp_path / "p.CSV").read_bytes())[1] == ["B1", "-404.5"]
    write(page(), tmp_path / "p.tex")
    tex = (tmp_path / "p.tex").read_bytes()
    assert tex_cells(tex)[1] == ["B1", "$-$404.5"]
    assert tex_cells(table_tex(Table("t", ["surplus_share"], [["1"]])))[0] == ["surplus share"]
    assert "rules 3" in tex.decode()
    assert "% tradefair compare A B" in tex.decode()
    write(page(), tmp_path / "p.json")
    assert list(orjson.loads((tmp_path / "p.json").read_bytes())) == ["verdict", "mean"]


@pytest.mark.parametrize("name", ["p.xlsx", "p", "p.json.gz"])
def test_another_suffix_is_refused_with_the_five(tmp_path: Path, name: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"\.html, \.svg, \.csv, \.tex, \.json"):
        write(page(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.browser
def test_the_page_shows_what_was_found_first(browser: Browser, folder: Path) -> None:
    path = folder / "figures.html"
    write(page(), path)
    with watched(browser) as seen:
        shown = seen.show(path.as_uri())
        shown.wait_for_selector("figure svg.plot")
        assert shown.locator("h1").inner_text() == "B earned 37 points more than A."
        assert shown.locator("figure.chart").count() == 1 + len(SHAPES)
        assert "Points earned" in shown.locator("table").last.inner_text()
        # The true minus, as in charts; and remarks keep their bullets off the bar beside them.
        assert shown.locator("td.num").last.inner_text() == "–"
        assert "−404.5" in shown.locator("table").last.inner_text()
        assert shown.locator("ul.warning").evaluate("(list) => parseFloat(getComputedStyle(list).paddingLeft)") > 24
        shown.screenshot(path=folder / "figures.png", full_page=True)
        assert [address for address in seen.asked if not address.startswith("data:")] == [path.as_uri()]
        assert (seen.errors, seen.violations) == ([], [])
