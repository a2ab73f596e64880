"""Charts of retailers by step, over many episodes: the pictures 3 to 7 of Market-Bench (arXiv 2604.05523).

Reads traces; nothing is played here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import dist
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple, TypeAlias

from tradefair.contract import TraceError
from tradefair.evaluation.charts.chart import Axis, Chart, Line, XYChart
from tradefair.evaluation.markets.supply_chain.market import inequality
from tradefair.evaluation.markets.supply_chain.outcomes import alone
from tradefair.evaluation.markets.supply_chain.play import SupplyPlay, read_supply_chain
from tradefair.evaluation.markets.supply_chain.population import PopulationReport, shown
from tradefair.evaluation.read.arithmetic import mean
from tradefair.evaluation.reading import read_each
from tradefair.evaluation.report.outputs import FigurePage
from tradefair.evaluation.table import Table
from tradefair.tracestore import Trace

Series: TypeAlias = Sequence[float | None]
_STEP = Axis(label="step")
_SHARE = Axis(label="value", unit="share")
_OPERATIONS = ("stockout", "bid_eff", "osi", "fill")
_INDICES = ("gini", "hhi", "cr4")
_MOST_LABELS = 20
"""More labels than these are shown by quartiles."""
_DECIMALS = 4


class Episode(NamedTuple):
    """An episode by step: `seats` are (label, figures), `indices` of wealth, `tribes` mean similarities of slogans.

    `slogans` has a similarity row to every persona text for each standing slogan of a step.
    """

    scenario: str
    seats: Sequence[tuple[str, Mapping[str, Series]]]
    indices: Mapping[str, Series]
    tribes: Mapping[str, Series]
    slogans: Sequence[Sequence[Sequence[float]]]


def population_page(report: PopulationReport, paths: Iterable[Path], command: str) -> FigurePage:
    """The report as a page: its tables, and the charts by step of the same traces."""
    return FigurePage(
        title="Retailers by step",
        verdict=None,
        charts=population_charts(paths),
        tables=[Table(title, columns, rows) for title, (columns, rows) in shown(report).items()],
        notes=[f"left out {path}: {why}" for path, why in report.left_out.items()],
        method="Means over episodes, with Student's 95 % interval.",
        data=report.model_dump(mode="json"),
        command=command,
    )


def population_charts(paths: Iterable[Path]) -> list[Chart]:
    """The charts of each scenario; those of the first keep their plain ids. A trace that cannot be used is left out."""
    episodes, _ = read_each(list(paths), None, _episode)
    found: defaultdict[str, list[Episode]] = defaultdict(list)
    for episode in episodes:
        found[episode.scenario].append(episode)
    return [
        chart.model_copy(update={"id": f"{chart.id}_{place}" if place else chart.id, "title": f"{name}: {chart.title}"})
        for place, name in enumerate(sorted(found))
        for chart in _charts(found[name])
    ]


def _episode(trace: Trace) -> Episode:
    """Raises TraceError for a trace of another market, or without a closed round."""
    play = read_supply_chain(trace)
    if trace.manifest.core.market != "supply_chain" or play.scenario is None or not play.rounds:
        raise TraceError("no closed round of the supply chain")
    steps = [alone(play, place) for place in range(len(play.rounds))]
    whole = {seat: [step[seat] for step in steps] for seat in play.seats}
    wealth = [inequality([seat.wealth for seat in step.values()]) for step in steps]
    return Episode(
        play.scenario.id,
        [
            (
                rows[0].label or seat,
                {name: [getattr(row, name) for row in rows] for name in ("npm", "pi", *_OPERATIONS)},
            )
            for seat, rows in whole.items()
        ],
        {name: [getattr(row, name) for row in wealth] for name in _INDICES},
        dict(_tribes(play)),
        [
            [row for own in facts.seats.values() if (row := own.similarity) and own.slogan is not None]
            for facts in play.rounds
        ],
    )


def _tribes(play: SupplyPlay) -> Iterator[tuple[str, Series]]:
    """By tribe and step the mean similarity of the standing slogans to the tribe's texts."""
    if play.scenario is None:
        return
    bounds = [*play.scenario.text_starts, len(play.scenario.persona_texts)]
    for tribe, (first, last) in zip(play.scenario.tribes, pairwise(bounds), strict=True):
        yield (
            tribe.id,
            [
                mean(
                    value
                    for own in facts.seats.values()
                    if own.slogan is not None
                    for value in (own.similarity or ())[first:last]
                )
                for facts in play.rounds
            ],
        )


def _charts(episodes: Sequence[Episode]) -> Iterator[Chart]:
    seats = [seat for episode in episodes for seat in episode.seats]
    note = f"Of {len(episodes):,} episode{'s' * (len(episodes) != 1)}."
    indices = {name: [_means([episode.indices[name] for episode in episodes])] for name in _INDICES}
    yield _chart("indices", "Inequality of wealth by step", f"Means. {note}", Axis(label="index"), [
        _line(name, series) for name, (series,) in indices.items()
    ])  # fmt: skip
    for chart, name, title, axis in (
        ("npm_by_round", "npm", "Net profit margin by step", Axis(label="margin", unit="share")),
        ("profit_by_round", "pi", "Profit by step", Axis(label="profit", unit="currency units")),
    ):
        yield _chart(chart, title, f"{_how(seats)} {note}", axis, lines_of(seats, name))
    lines = [line for name in _OPERATIONS for line in lines_of(seats, name, panel=name)]
    yield _chart("operations", "Operations by step", f"{_how(seats)} {note}", _SHARE, lines)
    if not any(step for episode in episodes for step in episode.slogans):
        return
    tribes = [_line(tribe, _means([episode.tribes[tribe] for episode in episodes])) for tribe in episodes[0].tribes]
    similar = Axis(label="similarity", unit="cosine")
    yield _chart("similarity", "Slogans and tribes by step", f"Means of standing slogans. {note}", similar, tribes)
    yield slogan_map(episodes, note)
    spread = _means([[spread_of(step) for step in episode.slogans] for episode in episodes])
    text = f"Mean distance of a slogan's similarities from their centre. {note}"
    yield _chart("spread", "Spread of slogans by step", text, Axis(label="distance"), [_line("spread", spread)])


def _chart(name: str, title: str, note: str, axis: Axis, lines: Sequence[Line]) -> XYChart:
    return XYChart(id=name, title=title, note=f"{note} After Market-Bench.", x=_STEP, y=axis, lines=list(lines))


def _few(seats: Sequence[tuple[str, Mapping[str, Series]]]) -> Sequence[str]:
    """The labels, where a line each tells them apart."""
    labels = [*dict.fromkeys(label for label, _ in seats)]
    return labels if 1 < len(labels) <= _MOST_LABELS else []


def _how(seats: Sequence[tuple[str, Mapping[str, Series]]]) -> str:
    return "Means by label." if _few(seats) else "Quartiles over retailers."


def lines_of(seats: Sequence[tuple[str, Mapping[str, Series]]], name: str, panel: str | None = None) -> list[Line]:
    """A line per label, or quartiles over all seats."""
    if labels := _few(seats):
        own = {label: [figures[name] for other, figures in seats if other == label] for label in labels}
        return [_line(label, _means(rows), panel) for label, rows in own.items()]
    steps = _steps([figures[name] for _, figures in seats])
    parts = [quantiles(step, n=4, method="inclusive") if len(step) > 1 else step * 3 or [None] * 3 for step in steps]
    return [_line(f"{25 * (place + 1)} %", [part[place] for part in parts], panel) for place in range(3)]


def _line(name: str, series: Series, panel: str | None = None) -> Line:
    values = [None if value is None else round(value, _DECIMALS) for value in series]
    return Line(name=name, x=[float(step) for step in range(1, len(values) + 1)], y=values, panel=panel)


def _steps(rows: Sequence[Series]) -> list[list[float]]:
    """The known values of every step; rows may differ in length."""
    steps = range(max(map(len, rows), default=0))
    return [[value for row in rows if step < len(row) and (value := row[step]) is not None] for step in steps]


def _means(rows: Sequence[Series]) -> Series:
    return [mean(step) for step in _steps(rows)]


def _centre(rows: Sequence[Sequence[float]]) -> list[float]:
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def spread_of(rows: Sequence[Sequence[float]]) -> float | None:
    """Mean Euclidean distance of rows from their centre; None without any."""
    return mean(dist(row, _centre(rows)) for row in rows)


def slogan_map(episodes: Sequence[Episode], note: str) -> XYChart:
    """Slogans of the first step and the last along the two axes on which their similarities to persona texts vary most.

    An axis points to where its largest weight is positive, so that equal traces give equal pictures.
    """
    # Imported here: numpy is slow to load, and the command's table does without.
    import numpy as np

    first, last = ([row for episode in episodes for row in episode.slogans[at]] for at in (0, -1))
    rows = np.array([*first, *last])
    centred = rows - rows.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    signs = [-1.0 if axis[int(np.abs(axis).argmax())] < 0 else 1.0 for axis in axes]
    at = [
        [round(float(value) * sign, _DECIMALS) for value, sign in zip(row, signs, strict=True)]
        for row in centred @ axes.T
    ]
    return XYChart(
        id="slogans",
        title="Slogans at the first step and the last",
        note=f"Similarities to all persona texts, along their two principal axes. {note} After Market-Bench.",
        x=Axis(label="first axis"),
        y=Axis(label="second axis"),
        lines=[
            Line(name=name, x=[row[0] for row in own], y=[row[-1] for row in own], mark="dots")
            for name, own in (("first step", at[: len(first)]), ("last step", at[len(first) :]))
        ],
    )
