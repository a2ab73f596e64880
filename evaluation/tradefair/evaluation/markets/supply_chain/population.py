"""What a population of retailers shows together: what profit goes with, and how unequal it grows, step by step.

The findings of the source (Market-Bench, arXiv 2604.05523) as figures, per scenario and over episodes. Reads traces;
nothing is played here.
"""

from __future__ import annotations

import math
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import fmean, quantiles
from typing import NamedTuple

from tradefair.contract import TraceError
from tradefair.evaluation.markets.supply_chain.outcomes import (
    SupplyChainMarket,
    SupplyChainOutcome,
    supply_chain_outcome,
)
from tradefair.evaluation.read.arithmetic import mean, rank_correlation, ratio, rounded
from tradefair.evaluation.reading import read_each
from tradefair.evaluation.record import Record
from tradefair.evaluation.statistics.paired import interval
from tradefair.tracestore import Trace

METRICS = ("npm", "pi", "rar", "iei", "stockout", "bid_eff", "osi", "fill", "mms")
"""The nine figures of a retailer that the source prints."""
SOURCE = "Market-Bench"
"""What stands for a scenario in the rows of the source's own table."""
# Bounds of BidEff between failing, partly failing and working procurement.
_FAILS, _WORKS = 0.1, 0.5
_MARKET = "supply_chain"
# Steps that a table shows one by one.
_STEPS = 6

Retailer = Mapping[str, float | None]
"""The nine figures of one retailer in one episode."""


class Estimate(Record):
    """Mean over the episodes that have the figure, with Student's 95 % interval; null without any, or with one."""

    mean: float | None
    low: float | None
    high: float | None
    episodes: int


class Metric(Record):
    """One of the nine figures, over the seats of an episode, then the mean over episodes.

    `correlation` is Spearman's ρ with profit, ties by mid-ranks; null where either does not vary. `quartiles` are the
    25, 50 and 75 % points, null below two seats.
    """

    correlation: Estimate
    mean: float | None
    quartiles: tuple[float, float, float] | None


class Population(Record):
    """What retailers show together, an episode.

    `bid_eff` counts seats with BidEff below 0.1, up to 0.5, and above; `losers` those with a loss. `profit_cr4` is the
    share of the profit that the four best seats took, null where all together earned nothing; `fill` sums Fill.
    """

    metrics: dict[str, Metric]
    bid_eff: tuple[float, float, float]
    profit_cr4: Estimate
    fill: Estimate
    losers: Estimate


class PopulationRow(Population):
    """One scenario. `steps` holds figures by round, 1 first: means over episodes, of OSI and MMS over seats as well."""

    scenario: str
    rules: str
    retailers: int
    episodes: int
    steps: dict[str, list[float | None]]


class PopulationReport(Record):
    """A row per scenario and rules version; `left_out` says why a trace was not used, by file.

    `published` is what the twenty models of the source show together: one market, so without intervals.
    """

    rows: list[PopulationRow]
    left_out: dict[str, str]
    published: Population


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
    why = {str(path): reason[:300] for path, reason in left_out}
    return PopulationReport(rows=rows, left_out=why, published=published())


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


@cache
def published() -> Population:
    """Table 2 of the source."""
    text = files("tradefair.evaluation.markets.supply_chain").joinpath("published.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)["table"][0]
    return together([[dict(zip(table["columns"][1:], row[1:], strict=True)) for row in table["rows"]]])


def together(episodes: Sequence[Sequence[Retailer]]) -> Population:
    """What the retailers of these episodes, one at least, show together."""
    seats = [seat["bid_eff"] or 0.0 for episode in episodes for seat in episode]

    def an_episode(count: int) -> float:
        return rounded(count / len(episodes))

    low, high = sum(value < _FAILS for value in seats), sum(value > _WORKS for value in seats)
    profits = [[seat["pi"] or 0.0 for seat in episode] for episode in episodes]
    largest = [
        ratio(math.fsum(sorted(rows)[-4:]), math.fsum(rows)) if math.fsum(rows) > 0 else None for rows in profits
    ]
    return Population(
        metrics={name: _metric(episodes, name) for name in METRICS},
        bid_eff=(an_episode(low), an_episode(len(seats) - low - high), an_episode(high)),
        profit_cr4=_estimate(largest),
        fill=_estimate([math.fsum(seat["fill"] or 0.0 for seat in episode) for episode in episodes]),
        losers=_estimate([sum(profit < 0 for profit in rows) for rows in profits]),
    )


def _metric(episodes: Sequence[Sequence[Retailer]], name: str) -> Metric:
    pairs = [
        [(figure, seat["pi"] or 0.0) for seat in episode if (figure := seat[name]) is not None] for episode in episodes
    ]
    points = [quantiles([figure for figure, _ in rows], n=4, method="inclusive") for rows in pairs if len(rows) > 1]

    def middle(place: int) -> float:
        return rounded(fmean(point[place] for point in points))

    return Metric(
        correlation=_estimate([rank_correlation(*zip(*rows, strict=True)) if rows else None for rows in pairs]),
        mean=mean(average for rows in pairs if (average := mean(figure for figure, _ in rows)) is not None),
        quartiles=(middle(0), middle(1), middle(2)) if points else None,
    )


def _row(kind: _Kind, episodes: Sequence[SupplyChainOutcome]) -> PopulationRow:
    seats = [seat for episode in episodes for seat in episode.seats.values()]
    series: dict[str, list[Sequence[float | None]]] = defaultdict(list)
    for episode in episodes:
        for name, values in _by_round(episode.market_outcome).items():
            series[name].append(values)
    series["osi"] = [seat.osi_by_round for seat in seats]
    series["mms"] = [seat.mms_by_round for seat in seats]
    nine = [
        [{name: getattr(seat, name) for name in METRICS} for seat in episode.seats.values()] for episode in episodes
    ]
    return PopulationRow(
        **dict(together(nine)),
        scenario=kind.scenario,
        rules=kind.rules,
        retailers=kind.retailers,
        episodes=len(episodes),
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


def _estimate(figures: Sequence[float | None]) -> Estimate:
    known = [figure for figure in figures if figure is not None and math.isfinite(figure)]
    low, high = interval(known) or (None, None)
    return Estimate(mean=mean(known), low=low, high=high, episodes=len(known))


def _by_step(rows: Sequence[Sequence[float | None]], rounds: int) -> list[float | None]:
    """Means over rows of equal rounds; None in a round in which no row has the figure."""
    columns = [[row[step] for row in rows if step < len(row)] for step in range(rounds)]
    return [mean(figure for figure in column if figure is not None) for column in columns]


def shown(report: PopulationReport) -> Mapping[str, tuple[list[str], list[list[str]]]]:
    """Three tables as text by title: (columns, rows). The source's own numbers stand first, and first of each figure.

    The last one shows the first six steps and the last: an episode may have sixty.
    """
    sources: dict[str, Population] = {SOURCE: report.published} | {row.scenario: row for row in report.rows}
    metrics = [[name, of, *_cells(found.metrics[name])] for name in METRICS for of, found in sources.items()]
    together = [
        [of, " / ".join(f"{count:.1f}" for count in found.bid_eff), *map(_text, (found.profit_cr4, found.fill)),
         _text(found.losers), _growth(found)]
        for of, found in sources.items()
    ]  # fmt: skip
    steps = [
        [row.scenario, name, *map(_number, _first_and_last(series))]
        for row in report.rows
        for name, series in row.steps.items()
    ]
    return {
        "figures of a retailer": (["figure", "of", "correlation with profit", "mean", "25 %", "50 %", "75 %"], metrics),
        "together, an episode": (
            ["of", "seats with bid_eff < 0.1 / to 0.5 / above", "top-4 share of profit", "sum of fill", "losers",
             "last wealth_gini over first"],
            together,
        ),
        "by step": (["scenario", "figure", *map(str, range(1, _STEPS + 1)), "last"], steps),
    }  # fmt: skip


def _cells(metric: Metric) -> list[str]:
    return [_text(metric.correlation), *map(_number, (metric.mean, *(metric.quartiles or [None] * 3)))]


def _growth(found: Population) -> str:
    """How many times the Gini of the first step that of the last is; our seats start equal, the source's did not."""
    steps = found.steps["wealth_gini"] if isinstance(found, PopulationRow) else [None]
    return "–" if not steps[0] or steps[-1] is None else f"{steps[-1] / steps[0]:.1f}"


def _first_and_last(series: Sequence[float | None]) -> list[float | None]:
    return [*series[:_STEPS], *[None] * (_STEPS - len(series)), series[-1]]


def _number(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:,.0f}" if abs(figure) >= 100 else f"{figure:.3f}"


def _text(estimate: Estimate) -> str:
    if estimate.mean is None:
        return "–"
    interval_text = "" if estimate.low is None else f" [{estimate.low:.2f}, {estimate.high:.2f}]"
    return f"{estimate.mean:.2f}{interval_text}"
