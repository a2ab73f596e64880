"""What a population of retailers shows together: what profit goes with, and how unequal it grows, step by step.

The findings of the source (Market-Bench, arXiv 2604.05523) as figures, per scenario and over episodes. Reads traces;
nothing is played here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import StatisticsError, correlation
from typing import NamedTuple

from tradefair.contract import TraceError
from tradefair.evaluation.markets.supply_chain.outcomes import (
    SupplyChainMarket,
    SupplyChainOutcome,
    supply_chain_outcome,
)
from tradefair.evaluation.read.arithmetic import mean, rounded
from tradefair.evaluation.reading import read_each
from tradefair.evaluation.record import Record
from tradefair.evaluation.statistics.paired import interval
from tradefair.tracestore import Trace

WITH = ("bid_eff", "fill", "stockout", "mms")
"""Figures of a retailer with which profit is correlated over the seats of an episode."""
# Bounds of BidEff between failing, partly failing and working procurement.
_FAILS, _WORKS = 0.1, 0.5
_MARKET = "supply_chain"
# Steps that a table shows one by one.
_STEPS = 6


class Estimate(Record):
    """Mean over the episodes that have the figure, with Student's 95 % interval; null without any, or with one."""

    mean: float | None
    low: float | None
    high: float | None
    episodes: int


class PopulationRow(Record):
    """One scenario. `steps` holds figures by round, 1 first: means over episodes, of OSI and MMS over seats as well.

    `correlations` is by figure: Pearson's r with profit over the seats of an episode, null where one does not vary.
    `bid_eff` counts seats an episode with BidEff below 0.1, up to 0.5, and above. `profit_cr4` is the share of the
    profit that the four best seats took.
    """

    scenario: str
    rules: str
    retailers: int
    episodes: int
    correlations: dict[str, Estimate]
    profit_cr4: Estimate
    bid_eff: tuple[float, float, float]
    steps: dict[str, list[float | None]]


class PopulationReport(Record):
    """A row per scenario and rules version; `left_out` says why a trace was not used, by file."""

    rows: list[PopulationRow]
    left_out: dict[str, str]


class _Kind(NamedTuple):
    """What episodes must share to be pooled."""

    scenario: str
    rules: str
    retailers: int
    rounds: int


def population(paths: Iterable[Path]) -> PopulationReport:
    """The findings of every scenario that the traces are of. Never raises for a trace: it is left out, with the reason.

    A trace that was cut short is left out: its steps would pass for those of a whole episode.
    """
    found: dict[_Kind, list[SupplyChainOutcome]] = {}
    episodes, left_out = read_each(list(paths), None, _episode)
    for kind, outcome in episodes:
        found.setdefault(kind, []).append(outcome)
    rows = [_row(kind, found[kind]) for kind in sorted(found)]
    return PopulationReport(rows=rows, left_out={str(path): why[:300] for path, why in left_out})


def _episode(trace: Trace) -> tuple[_Kind, SupplyChainOutcome]:
    """A whole episode and what others must share with it. Raises TraceError for any other trace."""
    core = trace.manifest.core
    if core.market != _MARKET:
        raise TraceError(f"a trace of {core.market}")
    outcome = supply_chain_outcome(trace, "")
    rounds = len(outcome.market_outcome.wealth_by_round)
    if outcome.market_outcome.partial or not rounds:
        raise TraceError("it was cut short")
    return _Kind(str(core.scenario.get("id", ""))[:80], core.rules_version, len(outcome.seats), rounds), outcome


def _row(kind: _Kind, episodes: Sequence[SupplyChainOutcome]) -> PopulationRow:
    seats = [seat for episode in episodes for seat in episode.seats.values()]
    low, high = sum(seat.bid_eff < _FAILS for seat in seats), sum(seat.bid_eff > _WORKS for seat in seats)
    markets = [episode.market_outcome for episode in episodes]
    series: dict[str, list[Sequence[float | None]]] = defaultdict(list)
    for market in markets:
        for name, values in _by_round(market).items():
            series[name].append(values)
    series["osi"] = [seat.osi_by_round for seat in seats]
    series["mms"] = [seat.mms_by_round for seat in seats]
    return PopulationRow(
        scenario=kind.scenario,
        rules=kind.rules,
        retailers=kind.retailers,
        episodes=len(episodes),
        correlations={name: _estimate([_with_profit(episode, name) for episode in episodes]) for name in WITH},
        profit_cr4=_estimate([market.profit_cr4 for market in markets]),
        bid_eff=(_each(low, episodes), _each(len(seats) - low - high, episodes), _each(high, episodes)),
        steps={name: _by_step(rows, kind.rounds) for name, rows in series.items()},
    )


def _by_round(market: SupplyChainMarket) -> dict[str, Sequence[float | None]]:
    """The figures of a market that it has for every round."""
    return {
        "wealth_gini": [index.gini for index in market.wealth_by_round],
        "wealth_hhi": [index.hhi for index in market.wealth_by_round],
        "wealth_cr4": [index.cr4 for index in market.wealth_by_round],
        "wealth_mobility": market.wealth_mobility_by_round,
        "revenue_gini": [index.gini for index in market.revenue_by_round],
        "revenue_mobility": market.revenue_mobility_by_round,
        "active_ratio": market.active_ratio_by_round,
    }


def _each(count: int, episodes: Sequence[SupplyChainOutcome]) -> float:
    return rounded(count / len(episodes))


def _with_profit(episode: SupplyChainOutcome, name: str) -> float | None:
    """Pearson's r of profit and a figure over the seats that have it; None where one of them is constant."""
    pairs = [(seat.pi, getattr(seat, name)) for seat in episode.seats.values() if getattr(seat, name) is not None]
    try:
        return rounded(correlation([profit for profit, _ in pairs], [figure for _, figure in pairs]))
    # Fewer than two seats, or a figure that does not vary: there is no line to be near to.
    except StatisticsError:
        return None


def _estimate(figures: Sequence[float | None]) -> Estimate:
    known = [figure for figure in figures if figure is not None and math.isfinite(figure)]
    low, high = interval(known) or (None, None)
    return Estimate(mean=mean(known), low=low, high=high, episodes=len(known))


def _by_step(rows: Sequence[Sequence[float | None]], rounds: int) -> list[float | None]:
    """Means over rows of equal rounds; None in a round in which no row has the figure."""
    columns = [[row[step] for row in rows if step < len(row)] for step in range(rounds)]
    return [mean(figure for figure in column if figure is not None) for column in columns]


def shown(report: PopulationReport) -> Mapping[str, tuple[list[str], list[list[str]]]]:
    """Two tables as text by title: (columns, rows), a row per scenario, then a row per scenario and figure.

    The second one shows the first six steps and the last one: an episode may have sixty.
    """
    first = [
        [
            row.scenario,
            str(row.episodes),
            *(_text(row.correlations[name]) for name in WITH),
            _text(row.profit_cr4),
            " / ".join(f"{count:.1f}" for count in row.bid_eff),
        ]
        for row in report.rows
    ]
    second = [
        [row.scenario, name, *("–" if figure is None else f"{figure:.3f}" for figure in _first_and_last(series))]
        for row in report.rows
        for name, series in row.steps.items()
    ]
    return {
        "correlation of profit with": (
            ["scenario", "episodes", *WITH, "top-4 share of profit", "seats with bid_eff < 0.1 / to 0.5 / above"],
            first,
        ),
        "by step": (["scenario", "figure", *map(str, range(1, _STEPS + 1)), "last"], second),
    }


def _first_and_last(series: Sequence[float | None]) -> list[float | None]:
    return [*series[:_STEPS], *[None] * (_STEPS - len(series)), series[-1]]


def _text(estimate: Estimate) -> str:
    if estimate.mean is None:
        return "–"
    interval_text = "" if estimate.low is None else f" [{estimate.low:.2f}, {estimate.high:.2f}]"
    return f"{estimate.mean:.2f}{interval_text}"
