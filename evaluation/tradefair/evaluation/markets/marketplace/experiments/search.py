"""search: welfare under one search and under another, beside what simple choices would earn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tradefair.evaluation.markets.marketplace.experiments.model import SearchRow
from tradefair.evaluation.markets.marketplace.experiments.runs import Episode, cells
from tradefair.evaluation.markets.marketplace.outcomes import MarketplaceMarket, marketplace_outcome
from tradefair.evaluation.read.arithmetic import mean
from tradefair.tracestore import open_trace

BASELINES = ("random_items", "cheapest", "random_fits", "optimal")
"""Figures of the market: what its customers would earn together, at list prices."""
_SEARCH = frozenset({"search_algorithm"})


def search_rows(episodes: Sequence[Episode]) -> Iterator[SearchRow]:
    """One row per scenario and agent that was played with several searches, over the seeds that all of them have."""
    known: dict[tuple[str, int], MarketplaceMarket] = {}
    for cell, group in cells(episodes, _SEARCH).items():
        played: dict[str, dict[tuple[int, int], Episode]] = {}
        for episode in group:
            # `setdefault`: a repeated run must not replace the first.
            played.setdefault(episode.scenario.search_algorithm, {}).setdefault((episode.seed, episode.trial), episode)
        first, *others = played.values()
        shared = sorted(key for key in first if all(key in runs for runs in others))
        if not others or not shared:
            continue
        for key in shared:
            # Data follow from scenario and seed: the baselines of one trace are those of all.
            if (cell.scenario, key[0]) not in known:
                with open_trace(first[key].path) as trace:
                    known[cell.scenario, key[0]] = marketplace_outcome(trace, "").market_outcome
        own = [known[cell.scenario, seed] for seed, _ in shared]
        yield SearchRow(
            scenario=cell.scenario,
            agent=cell.agent,
            where=cell.where,
            runs=len(shared),
            welfare={name: mean(runs[key].welfare for key in shared) or 0.0 for name, runs in sorted(played.items())},
            baselines={
                name: mean(value for row in own if (value := getattr(row, name)) is not None) for name in BASELINES
            },
        )
