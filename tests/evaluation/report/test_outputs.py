"""Figures as files: numbers as they are, names that are never run, and a page that a browser shows.

Also here:
- Pictures without a browser: the same marks as on the page, the same bytes each time, and nothing that runs.
"""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import orjson
import pytest
import typer
from pydantic import ValidationError
from tests.evaluation.browsing import watched
from tests.evaluation.markets.marketplace.playing import play as play_marketplace
from tests.evaluation.playing import played
from tests.waiting import LONG

from tradefair.cli import run
from tradefair.contract.errors import HarnessFailure, ScenarioError
from tradefair.evaluation.charts import (
    Axis,
    Band,
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
    draw,
    draw_svg,
    table_tex,
)
from tradefair.evaluation.charts.chart import with_accent
from tradefair.evaluation.evaluator import Evaluator, evaluator_of
from tradefair.evaluation.judge.evaluate import charts_of, evaluate
from tradefair.evaluation.report import episode_page
from tradefair.evaluation.report.outputs import FigurePage, write
from tradefair.evaluation.table import Table
from tradefair.evaluation.verdict.verdict import Verdict
from tradefair.tracestore import Trace, open_trace

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


if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SEATS = [f"{seat} · value {value}" for seat, value in (("B1", 90), ("B2", 80), ("B3", 70))]
PANELS = XYChart(
    id="offsets", title="Offsets", x=Axis(label="round"), y=Axis(label="offset", unit="points"),
    lines=[Line(name="offset", x=[1, 2, 3], y=[10 + at, 12, 11], panel=seat) for at, seat in enumerate(SEATS)],
    bands=[Band(label="even", low=11, high=11)],
)  # fmt: skip
# Lines that end close to each other, a band between them, and dots that fall together.
CROSSING = XYChart(
    id="crossing", title="Crossing", accent="one", x=Axis(label="round"), y=Axis(label="price", unit="points"),
    lines=[
        Line(name="one", x=[1, 2, 3], y=[1, 5, 3]), Line(name="two", x=[1, 2, 3], y=[5, 1, 3.1], mark="step"),
        Line(name="three", x=[1, 2, 3], y=[2, 2, 2.9]), Line(name="seen", x=[1, 1, 1, 3], y=[3, 3, 3, 5], mark="dots"),
    ],
    bands=[Band(label="equilibrium", low=2.8, high=3.2)],
)  # fmt: skip
# Shaded where both have a value: not at the gap in the middle.
SHADED = XYChart(
    id="shaded", title="Shaded", x=Axis(label="step"), y=Axis(label="price", unit="ticks"),
    lines=[
        Line(name="ask", x=[1, 2, 3, 4], y=[8, 7, None, 9], mark="step", shade_to="bid"),
        Line(name="bid", x=[1, 2, 3, 4], y=[5, 6, 6, 5], mark="step"),
    ],
)  # fmt: skip
ALL: list[Chart] = [*SHAPES, with_accent(PANELS, "B2"), CROSSING, SHADED]
GEOMETRY = """(figure) => [...figure.querySelectorAll('svg.plot, svg svg')].flatMap((plot) => {
  // The rectangle of an inner SVG is that of its content, not of its frame.
  const own = plot.ownerSVGElement, frame = (own ?? plot).getBoundingClientRect();
  const from = {x: frame.x + (own ? plot.x.baseVal.value : 0), y: frame.y + (own ? plot.y.baseVal.value : 0)};
  const shapes = [...plot.querySelectorAll('path, rect, circle, line, text')];
  return shapes.filter((shape) => !shape.closest('[aria-label=tip]')).map((shape) => {
    const box = shape.getBoundingClientRect();
    return [shape.tagName, shape.tagName === 'text' ? shape.textContent : '',
            [box.x - from.x, box.y - from.y, box.width, box.height]];
  });
})"""


def texts(content: bytes) -> list[str]:
    return ["".join(element.itertext()) for element in ElementTree.fromstring(content).iter() if "}t" in element.tag]


def test_a_picture_rounds_exact_halves_as_tables_do() -> None:
    # Their doubles lie below the decimals that print them; the last one is a tie in both.
    values = [1.0005, -61.4025, 10_405.5]
    none: list[float | None] = [None] * len(values)
    chart = IntervalChart(
        id="halves", title="Halves", x=Axis(label="amount"), y=Axis(label="name"), names=["a", "b", "c"],
        values=values, lows=none, highs=none,
    )  # fmt: skip
    assert {"1.001", "−61.403", "10,406"} <= set(texts(draw_svg(chart)))


@pytest.mark.parametrize("chart", ALL, ids=lambda chart: chart.id)
def test_a_picture_is_one_safe_file_with_the_same_bytes_each_time(chart: Chart) -> None:
    drawn = draw_svg(chart)
    assert draw_svg(chart) == drawn
    root = ElementTree.fromstring(drawn)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert [element.tag.partition("}")[2] for element in root[:2]] == ["title", "desc"]
    assert root[0].text == chart.title
    # Nothing is left to a style sheet.
    assert b"var(" not in drawn
    assert b"currentColor" not in drawn
    assert draw_svg(chart, theme="dark") != drawn
    # Plots lie in the file side by side or below each other; titles and legend stand above them, never on them.
    boxes = [
        [float(part.get(name, "")) for name in ("x", "y", "width", "height")] for part in root if part.tag == root.tag
    ]
    assert boxes
    for at, (left, top, wide, high) in enumerate(boxes):
        assert left + wide <= 720
        assert top + high <= float(root.get("height", ""))
        for x, y, w, h in boxes[:at]:
            assert x + w <= left or left + wide <= x or y + h <= top or top + high <= y
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            if text in list(root):
                x, y = float(text.get("x", "")), float(text.get("y", ""))
                assert not (left <= x < left + wide and top <= y < top + high), text.text


def test_hostile_names_stay_text() -> None:
    chart = BarChart(
        id="b", title="</title><script>1</script>", x=Axis(label="x"), y=Axis(label="y"),
        names=["<script>", "&amp;", "\ufffe", "url(http://a)"], bars=Bars(name=HOSTILE, values=[1, 2, 3, 4]),
        marks=Bars(name="]]>", values=[1, 1, 1, 1]),
    )  # fmt: skip
    shown = texts(draw_svg(chart))
    assert {"</title><script>1</script>", "<script>", "&amp;", "\ufffd", "url(http://a)", "]]>"} <= set(shown)
    assert any("U+202E" in text for text in shown)


@pytest.mark.parametrize(
    "markup",
    [
        "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>",
        "<svg xmlns='http://www.w3.org/2000/svg'><foreignObject/></svg>",
        "<svg xmlns='http://www.w3.org/2000/svg'><style>@import 'x'</style></svg>",
        "<svg xmlns='http://www.w3.org/2000/svg' onload='1'/>",
        "<svg xmlns='http://www.w3.org/2000/svg'><path fill='url(#a)'/></svg>",
        "<svg xmlns='http://www.w3.org/2000/svg'><path d='http://a'/></svg>",
        "<svg xmlns='http://www.w3.org/2000/svg' xmlns:x='http://www.w3.org/1999/xlink'><g x:href='#a'/></svg>",
        "<!DOCTYPE svg [<!ENTITY a 'b'>]><svg xmlns='http://www.w3.org/2000/svg'><text>&a;</text></svg>",
        "<svg xmlns='http://www.w3.org/2000/svg'>",
        "<svg/>",
    ],
)
def test_what_could_run_or_load_is_refused(markup: str) -> None:
    assert draw.what_is_unsafe(markup) is not None
    assert draw.what_is_unsafe("<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0' fill='#fff'/></svg>") is None


@pytest.mark.parametrize(
    "script",
    [
        "var draw = () => { for (;;); }",
        "var draw = () => { const all = []; for (;;) all.push(new Array(1e6).fill(0)); }",
        "var draw = () => { throw new Error('no'); }",
        'var draw = () => \'<svg xmlns="http://www.w3.org/2000/svg" onclick="1"/>\'',
        "var draw = () => require('fs')",
        "var draw = () => fetch('http://a')",
        "var draw = () => 3",
    ],
)
def test_drawing_ends_and_reaches_nothing(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(draw, "MAX_SECONDS", 0.2)
    monkeypatch.setattr(draw, "_script", lambda: script)
    with pytest.raises(HarnessFailure, match="'pairs'"):
        draw_svg(PAIRS)


def test_without_the_extra_the_line_to_run_is_named_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "quickjs", None)
    with pytest.raises(ScenarioError, match=r"pip install 'tradefair\[figures\]'"):
        draw_svg(PAIRS)
    with pytest.raises(typer.BadParameter, match=r"pip install 'tradefair\[figures\]'"):
        write(page(), tmp_path / "p.svg")
    assert run(["sweep", "no_such_plan", "-o", str(tmp_path / "p.svg")]) == 2
    assert "tradefair[figures]" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    # HTML, CSV and LaTeX need nothing.
    write(page(), tmp_path / "p.html")


def test_a_large_chart_is_drawn_and_one_beyond_the_limits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    count, x = 10_000, Axis(label="x")
    dots = Line(name="twice", x=[float(at // 2) for at in range(count)], y=[1.0] * count, mark="dots")
    chart = XYChart(id="dots", title="dots", x=x, y=x, lines=[dots])
    assert len(draw_svg(chart)) > count
    monkeypatch.setattr(draw, "MAX_MEMORY", 12 << 20)
    with pytest.raises(HarnessFailure, match=r"more than 12 MiB; its numbers can be written as \.csv"):
        draw_svg(chart)


def test_the_first_chart_is_what_svg_holds(tmp_path: Path) -> None:
    write(page(), tmp_path / "p.svg")
    assert (tmp_path / "p.svg").read_bytes() == draw_svg(PAIRS)
    with pytest.raises(ValueError, match="199 pixels"):
        draw_svg(PAIRS, width=199)


def test_the_area_between_two_lines_is_shaded_where_both_have_a_value() -> None:
    shaded = draw_svg(SHADED).decode()
    areas = [path for path in ElementTree.fromstring(shaded).iter() if path.get("fill-opacity") == "0.15"]
    shapes = [path.get("d", "") for area in areas for path in area.iter() if path.get("d")]
    # One area, in two pieces: each piece begins with a move and is closed.
    assert [(shape.count("M"), shape.count("Z")) for shape in shapes] == [(2, 2)]
    plain = SHADED.model_copy(update={"lines": [line.model_copy(update={"shade_to": None}) for line in SHADED.lines]})
    assert "0.15" not in draw_svg(plain).decode()
    # Which line the area reaches to is no series of its own: the numbers are those of the lines.
    assert chart_csv(SHADED) == chart_csv(plain)


def test_only_the_seat_under_test_is_the_accent() -> None:
    chart = with_accent(PANELS, "B2")
    assert chart.accent == SEATS[1]
    # One large picture on top, the others small and grey below it.
    plots = [element for element in ElementTree.fromstring(draw_svg(chart)) if element.tag.endswith("}svg")]
    assert [plot.get("width") for plot in plots] == ["720", "232", "232"]
    assert ["#0a5ca8" in ElementTree.tostring(plot).decode() for plot in plots] == [True, False, False]
    assert with_accent(PANELS, "B") == PANELS
    assert with_accent(chart, "B1") == chart


def test_an_axis_that_does_not_start_at_zero_says_so() -> None:
    assert "offset (points), axis does not start at 0 by round" in texts(draw_svg(PANELS))
    assert "price (points)" in texts(draw_svg(CROSSING))


def test_equal_dots_are_one_dot_with_its_count() -> None:
    assert texts(draw_svg(CROSSING)).count("3") == 3  # a tick of each axis, and the three equal dots


@pytest.fixture(scope="module")
def opened(browser: Browser, folder: Path) -> Any:
    """The page of all charts, open."""
    path = folder / "shapes.html"
    write(page(charts=ALL), path)
    with watched(browser) as seen:
        shown = seen.show(path.as_uri())
        shown.locator("figure svg.plot").last.wait_for()
        yield shown
        assert (seen.errors, seen.violations) == ([], [])


@pytest.mark.browser
@pytest.mark.parametrize("chart", ALL, ids=lambda chart: chart.id)
def test_the_file_has_the_marks_of_the_page(opened: Page, folder: Path, chart: Chart) -> None:
    figure = opened.locator(f"figure[data-chart={chart.id}]").last
    width = int(figure.locator(".canvas").evaluate("(canvas) => canvas.getBoundingClientRect().width"))
    expected = figure.evaluate(GEOMETRY)
    path = folder / f"{chart.id}.svg"
    path.write_bytes(draw_svg(chart, width=width))
    with watched(opened.context.browser) as seen:  # pyright: ignore[reportArgumentType]
        seen.page.goto(path.as_uri())
        drawn = seen.page.evaluate(f"({GEOMETRY})(document)")
    assert len(drawn) == len(expected) > 3
    for (tag, text, box), (page_tag, page_text, page_box) in zip(drawn, expected, strict=True):
        assert (tag, text) == (page_tag, page_text)
        # A long text is some tenths of a pixel wider on one side of its anchor, by the engine's rounding of letters.
        edges = [abs(box[0] - page_box[0]), abs(box[0] + box[2] - page_box[0] - page_box[2])]
        assert (min if tag == "text" else max)(edges) <= 0.5, (tag, text, box, page_box)
        assert box[1::2] == pytest.approx(page_box[1::2], abs=0.5), (tag, text)


@pytest.mark.browser
def test_a_click_saves_the_picture_and_its_numbers(opened: Page) -> None:
    figure = opened.locator("figure[data-chart=crossing]")
    for name, expected in (("SVG", draw_svg(CROSSING)), ("CSV", chart_csv(CROSSING))):
        with opened.expect_download() as download:
            figure.get_by_role("button", name=name).click()
        content = Path(download.value.path()).read_bytes()
        if name == "SVG":
            # Engines list attributes in their own order.
            content, expected = ElementTree.canonicalize(content.decode()), ElementTree.canonicalize(expected.decode())
            expected = expected.rstrip()
        assert content == expected


@pytest.mark.browser
def test_names_at_the_end_of_lines_touch_neither_a_mark_nor_each_other(opened: Page) -> None:
    names = {"one", "two", "three", "equilibrium"}
    boxes = opened.locator("figure[data-chart=crossing]").evaluate(GEOMETRY)
    labels = [box for _, text, box in boxes if text in names]
    assert len(labels) == len(names)
    marks = [box for tag, _, box in boxes if tag in ("path", "circle")]
    for left, top, wide, high in labels:
        others = [box for box in [*marks, *labels] if box != [left, top, wide, high]]
        assert not [
            box for box in others
            if box[0] < left + wide and left < box[0] + box[2] and box[1] + 2 < top + high and top + 2 < box[1] + box[3]
        ]  # fmt: skip


def drawn(path: Path) -> dict[str, Chart]:
    with open_trace(path) as trace:
        charts, problem = charts_of(trace, evaluator_of(trace.manifest.core.market))
    assert problem is None
    return {chart.id: chart for chart in charts}


def xy(charts: dict[str, Chart], name: str) -> XYChart:
    chart = charts[name]
    assert isinstance(chart, XYChart)
    return chart


def bars(charts: dict[str, Chart], name: str) -> BarChart:
    chart = charts[name]
    assert isinstance(chart, BarChart)
    return chart


def test_supply_demand_and_prices_of_a_known_game(play_quotes: Callable[..., Path]) -> None:
    charts = drawn(play_quotes([90, 50], [20, 60], [{"B1": 80, "B2": 30, "S1": 40, "S2": 70}]))
    demand, supply, trades = xy(charts, "supply_and_demand").lines
    assert (demand.x, demand.y) == ([0, 1, 2], [90, 50, 50])
    assert (supply.x, supply.y) == ([0, 1, 2], [20, 60, 60])
    # One trade, so that it stands at one unit; bid and ask meet half way.
    assert (trades.x, trades.y) == ([1], [60])
    (band,) = xy(charts, "prices").bands
    assert (band.low, band.high) == (50, 60)
    (overcharge,), (band,) = xy(charts, "overcharge").lines, xy(charts, "overcharge").bands
    assert (overcharge.y, band.low, band.high) == ([5], -5, 5)


def test_offsets_are_mirrored_for_sellers_and_empty_where_nothing_was_quoted(play_quotes: Callable[..., Path]) -> None:
    quotes: Sequence[dict[str, int]] = [{"B1": 80, "S1": 40}, {"B1": 95}]
    charts = drawn(play_quotes([90], [20], quotes))
    lines = {line.panel: line.y for line in xy(charts, "offsets").lines}
    assert lines == {"B1 · value 90": [10, -5], "S1 · cost 20": [20, None]}
    gains = bars(charts, "gains")
    assert (gains.names, gains.bars.values) == (["B1", "S1"], [30, 40])
    trading = charts["trading"]
    assert isinstance(trading, HeatChart)
    assert trading.cells == [(0, 1, 1), (1, 1, 1), (0, 2, 2), (1, 2, 3)]


def test_the_pictures_of_a_store_are_its_outcome(tmp_path: Path) -> None:
    path = played(tmp_path / "store.trace", "retail/smoke", "bare_shelf", seed=3)
    charts = drawn(path)
    with open_trace(path) as trace:
        outcome = evaluate(trace)
    paths = outcome.market_outcome
    worth, cash = xy(charts, "worth").lines
    assert [round(100 * value) for value in worth.y if value is not None] == paths.net_worth_path
    assert [round(100 * value) for value in cash.y if value is not None] == paths.funds_path
    assert sum(value for value in xy(charts, "sales").lines[0].y if value) == outcome.seats["manager"].units_sold
    empty = charts["empty_shelves"]
    assert isinstance(empty, HeatChart)
    assert len({day for _, day, level in empty.cells if level == 1}) == outcome.seats["manager"].stockout_days
    parts = bars(charts, "gain").bars.values
    assert sum(value for value in parts[:-1] if value is not None) == pytest.approx(parts[-1])


class Breaks(Evaluator):
    def charts(self, trace: Trace) -> Sequence[Chart]:
        raise ZeroDivisionError("of a stranger")


def test_a_picture_that_cannot_be_drawn_is_a_problem_on_the_page(play_quotes: Callable[..., Path]) -> None:
    with open_trace(play_quotes([90], [20], [{"B1": 80, "S1": 40}])) as trace:
        charts, problem = charts_of(trace, Breaks())
        assert charts == []
        assert problem is not None
        assert "of a stranger" in problem
        assert charts_of(trace, Evaluator()) == ([], None)


def test_a_picture_says_what_is_wrong_with_its_numbers() -> None:
    with pytest.raises(ValidationError, match="2 x and 1 y"):
        Line(name="short", x=[1, 2], y=[1])
    with pytest.raises(ValidationError):
        Line(name="endless", x=[1], y=[float("inf")])
    lines = [Line(name="ask", x=[1, 2], y=[5, 6], shade_to="bid"), Line(name="bid", x=[1, 3], y=[4, 4])]
    with pytest.raises(ValidationError, match="no line 'bid' has the same positions"):
        XYChart(id="q", title="q", x=Axis(label="x"), y=Axis(label="y"), lines=lines)
    with pytest.raises(ValidationError, match="1 values for 2 names"):
        BarChart(
            id="b", title="b", x=Axis(label="x"), y=Axis(label="y"), names=["a", "b"], bars=Bars(name="n", values=[1])
        )


def test_looks_before_actions_are_counted_by_round(tmp_path: Path) -> None:
    episode = episode_page(played(tmp_path / "store.trace", "retail/smoke", "careful_reader", seed=3), check=False)
    orders = next(row for row in episode.evidence if row.action == "place_order")
    assert {"inventory", "sales", "supplier_price", "quality"} == set(orders.needed)
    assert 0 < orders.looked["inventory"] <= orders.count
    used = {row.tool: row for row in episode.audit}
    assert used["view_inventory"].rounds == 14
    assert used["view_news_history"].answered == 0
    assert used["view_news_history"].offered
    (looks,) = episode.looks
    counted = sum(value for row, _, value in looks.cells if looks.rows[row] == "inventory")
    shown = [row for row in episode.audit if "inventory" in row.evidence]
    assert counted == sum(row.answered for row in shown)


def test_the_evidence_of_an_action_is_what_tools_of_the_seats_role_can_give(tmp_path: Path) -> None:
    episode = episode_page(play_marketplace(tmp_path / "services.trace"), check=False)
    needed = {(row.seat, row.action): set(row.needed) for row in episode.evidence}
    assert needed["customer_0001", "send_message"] == {"market_listing", "counterpart_profile"}
    assert needed["business_0001", "send_message"] == set()
    assert needed["business_0001", "send_proposal"] == {"own_catalogue", "counterpart_message"}
