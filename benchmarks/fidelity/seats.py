"""Figures of seats: what outcomes and stages of traces say of each label, as a published table has them."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from benchmarks.fidelity.row import Made, mean_of
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.figure import declared
from tradefair.evaluation.outcome import SeatOutcome
from tradefair.tracestore import open_trace


class Seat(NamedTuple):
    """A seat of an episode: its label, and its figures by name, those of stages without the market's prefix."""

    label: str
    figures: Mapping[str, float | None]


@cache
def rows_of_labels() -> Mapping[str, str]:
    """Which row of the published tables a label of the public logs is; another label is its own row."""
    return tomllib.loads(Path(__file__).with_name("labels.toml").read_text(encoding="utf-8"))


def named(market: str, **others: str) -> Mapping[str, str]:
    """Columns of a table by our figures of a seat: equal names, and `others` that are called otherwise."""
    return {**{name: name for name in declared(evaluator_of(market).models["seat"])}, **others}


def seats_of(path: Path) -> list[Seat]:
    """The seats of one trace."""
    with open_trace(path) as trace:
        evaluator = evaluator_of(trace.manifest.core.market)
        stages = [row for stage in evaluator.stages(trace) for row in stage.figures]
        return [
            Seat(
                result.label or "",
                {row.id.rpartition(".")[2]: row.value for row in stages if seat in row.seats} | _numbers(result),
            )
            for seat, result in evaluator.outcomes(trace).seats.items()
        ]


def _numbers(result: SeatOutcome) -> dict[str, float | None]:
    return {name: value for name, value in vars(result).items() if isinstance(value, int | float)}


def by_label(episodes: Iterable[Sequence[Seat]], columns: Mapping[str, str], per_cent: Sequence[str] = ()) -> Made:
    """Mean over episodes of each column by label; several seats of a label count once an episode.

    `per_cent`: columns in per cent whose figure is a share.
    """
    values: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for seats in episodes:
        own: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        for seat in seats:
            for column, name in columns.items():
                if (value := seat.figures.get(name)) is not None:
                    own[seat.label, column].append(value * (100 if column in per_cent else 1))
        for place, found in own.items():
            values[place].append(fmean(found))
    return {place: mean_of(found) for place, found in values.items()}
