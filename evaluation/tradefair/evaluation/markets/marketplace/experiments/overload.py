"""overload: more results on a page, and less welfare. Pure.

Welfare is in currency units; the unit of the test is the seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from tradefair.evaluation.markets.marketplace.experiments.model import OverloadRow, PageSize, SizePair
from tradefair.evaluation.markets.marketplace.experiments.runs import Episode, cells
from tradefair.evaluation.read.arithmetic import mean, rounded
from tradefair.evaluation.statistics import holm, sign_flip

EXACT_SEEDS = 20
"""Up to this many seeds all 2^n signs are counted; beyond it `FLIP_DRAWS` of them are drawn."""

FLIP_DRAWS = 100_000
OVERLOAD_P = 0.05
"""Two-sided p below which less welfare on the larger page is overload."""

_LEAST_SEEDS = 2
_SIZE = frozenset({"search_limit"})


def overload_rows(episodes: Sequence[Episode]) -> Iterator[OverloadRow]:
    """One row per scenario and agent that was played with several page sizes."""
    for cell, group in cells(episodes, _SIZE).items():
        played: dict[int, dict[tuple[int, int], Episode]] = {}
        for episode in group:
            # `setdefault`: a repeated run must not replace the first.
            played.setdefault(episode.scenario.search_limit, {}).setdefault((episode.seed, episode.trial), episode)
        by_size = {size: {key: run.welfare for key, run in runs.items()} for size, runs in sorted(played.items())}
        if len(by_size) > 1:
            yield OverloadRow(
                scenario=cell.scenario,
                agent=cell.agent,
                where=cell.where,
                sizes=[_page_size(size, list(runs.values())) for size, runs in sorted(played.items())],
                pairs=size_pairs(by_size),
            )


def _page_size(size: int, runs: Sequence[Episode]) -> PageSize:
    return PageSize(
        search_limit=size,
        episodes=len(runs),
        welfare=mean(episode.welfare for episode in runs) or 0,
        messages=mean(shopper.messages for episode in runs for shopper in episode.shoppers) or 0,
    )


def size_pairs(by_size: dict[int, dict[tuple[int, int], float]]) -> list[SizePair]:
    """Every smaller size against every larger one, on the seeds that both have.

    `by_size` is page size -> (seed, trial) -> welfare. Overload: less welfare at the larger size and a two-sided
    sign-flip p below the threshold. That p is not adjusted, as the page has it; `p_holm` is adjusted over the pairs.
    """
    pairs: list[SizePair] = []
    for smaller, larger in combinations(sorted(by_size), 2):
        shared = sorted(by_size[smaller].keys() & by_size[larger].keys())
        # Other seeds have other data: their difference would not be one of page size.
        if not shared:
            continue
        low, high = ([by_size[size][seed] for seed in shared] for size in (smaller, larger))
        test = sign_flip(
            # Rounded, because sums of floats that are equal on paper must be ties here too.
            [rounded(here - there) for here, there in zip(low, high, strict=True)],
            exact_to=EXACT_SEEDS,
            draws=FLIP_DRAWS,
        )
        drop = rounded((mean(low) or 0) - (mean(high) or 0))
        # More welfare on the larger page may be significant as well, and is no overload.
        found = drop > 0 and test is not None and test.p < OVERLOAD_P and len(shared) >= _LEAST_SEEDS
        pairs.append(
            SizePair(
                smaller=smaller,
                larger=larger,
                seeds=len(shared),
                welfare_smaller=mean(low) or 0,
                welfare_larger=mean(high) or 0,
                drop=drop,
                p=None if test is None else test.p,
                p_holm=None,
                method=None if test is None else test.method,
                overload=found,
            )
        )
    # A pair without a test counts as 1, so that the list stays as long as the pairs.
    adjusted = holm([1.0 if pair.p is None else pair.p for pair in pairs])
    return [pair.model_copy(update={"p_holm": p}) for pair, p in zip(pairs, adjusted, strict=True)]
