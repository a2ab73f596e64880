"""Charts of a market as data: an evaluator describes them, report and viewer draw them."""

from tradefair.evaluation.charts.chart import (
    MAX_CELLS,
    MAX_POINTS,
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
)
from tradefair.evaluation.charts.draw import draw_svg
from tradefair.evaluation.charts.numbers import chart_csv, chart_tex, table_csv, table_tex

__all__ = [
    "MAX_CELLS",
    "MAX_POINTS",
    "Axis",
    "Band",
    "BarChart",
    "Bars",
    "Chart",
    "HeatChart",
    "IntervalChart",
    "Line",
    "MatrixCell",
    "MatrixChart",
    "PairChart",
    "Strip",
    "StripChart",
    "XYChart",
    "chart_csv",
    "chart_tex",
    "draw_svg",
    "table_csv",
    "table_tex",
]
