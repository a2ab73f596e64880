"""Pictures of a market as data: an evaluator describes them, report and viewer draw them."""

from tradefair.evaluation.charts.chart import (
    MAX_CELLS,
    MAX_POINTS,
    Axis,
    Band,
    BarChart,
    Bars,
    Chart,
    Draws,
    HeatChart,
    IntervalChart,
    Line,
    MatrixCell,
    MatrixChart,
    XYChart,
    charts_of,
)

__all__ = [
    "MAX_CELLS",
    "MAX_POINTS",
    "Axis",
    "Band",
    "BarChart",
    "Bars",
    "Chart",
    "Draws",
    "HeatChart",
    "IntervalChart",
    "Line",
    "MatrixCell",
    "MatrixChart",
    "XYChart",
    "charts_of",
]
