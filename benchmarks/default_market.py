"""The marketplace's default preset told by its figures: `python -m benchmarks.default_market [seeds] [preset]`.

Plays each reference on the same seeds in all agents' seats and prints mean utility over the list-price optimum, and how
many seeds separate it from the next one with power 0.8 (two-sided 5 %, paired by seed). The goals stand in
docs/explanation/why/marketplace.md.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, pstdev
from tempfile import TemporaryDirectory

from benchmarks.seated import play_seated
from tradefair.evaluation.markets.marketplace.evaluator import EVALUATOR
from tradefair.tracestore import open_trace

_POWER = 2.8
"""z of 0.975 and of 0.8: a mean difference of this many standard errors is found in four of five comparisons."""


def shares(policy: str, seeds: int, preset: str) -> list[float]:
    """Utility over list-price optimum, both summed over the agent's seats, `[seed]`."""
    found: list[float] = []
    with TemporaryDirectory() as folder:
        for seed in range(1, seeds + 1):
            path, seats = play_seated("marketplace", preset, policy, seed, Path(folder))
            with open_trace(path) as trace:
                outcomes = EVALUATOR.outcomes(trace).seats
            won = sum(outcomes[seat].utility or 0 for seat in seats)
            found.append(won / sum(outcomes[seat].list_price_optimum or 0 for seat in seats))
    return found


def seeds_needed(better: Sequence[float], worse: Sequence[float]) -> float:
    """Seeds that separate two policies, from their paired differences; infinite where the means are equal."""
    differences = [high - low for high, low in zip(better, worse, strict=True)]
    mean = fmean(differences)
    return float("inf") if mean == 0 else (_POWER * pstdev(differences) / mean) ** 2


def main(seeds: int = 40, preset: str = "near_fits") -> None:
    """Print the table, best first."""
    headline = EVALUATOR.headline
    assert headline is not None
    rows = {policy: shares(policy, seeds, preset) for policy in (*headline.field, "bargainer")}
    order = sorted(rows, key=lambda policy: -fmean(rows[policy]))
    for place, policy in enumerate(order):
        later = order[place + 1 : place + 2]
        needed = "".join(f"{seeds_needed(rows[policy], rows[other]):.0f} seeds from {other}" for other in later)
        print(f"{policy:18} {fmean(rows[policy]):6.3f}  sd {pstdev(rows[policy]):.3f}  {needed}")
    competent = [fmean(rows[policy]) for policy in order if policy != headline.naive]
    print(f"sd over policies but {headline.naive}: {pstdev(competent):.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40, *sys.argv[2:3])
