"""`python -m benchmarks.luck [--seeds 40]`: how much of a score is luck, and how much of that pairing removes.

Every policy of the headline's field plays seat after seat of the BAZAAR preset on the same seeds. A policy's payoffs
vary from seed to seed; the share of that variance which all policies have in common is the seed's, and it is absent
from the difference of two policies on one seed. By two-way components of variance: policies by seeds, one game each.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean, variance

import tradefair.api as tf
from tradefair.evaluation.evaluator import evaluator_of

MARKET, PRESET = "double_auction", "double_auction/bazaar"


def main(arguments: Sequence[str] | None = None) -> None:
    """Play, and print the share of luck and how many times fewer games pairs need."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.luck", description=__doc__)
    parser.add_argument("--seeds", type=int, default=40, help="seeds 1 to N; default 40")
    seeds = range(1, parser.parse_args(arguments).seeds + 1)
    headline = evaluator_of(MARKET).headline
    assert headline is not None
    values = {policy: [payoff(policy, seed) for seed in seeds] for policy in headline.field}
    common, saved = luck(list(values.values()))
    print(f"{len(values)} policies on the same {len(seeds)} seeds of {PRESET}, a seat in turn: {common:.0%} of the")
    print(f"variance of a policy's payoffs is the seed's; a difference needs {saved:.1f} times fewer games as pairs.")


def payoff(policy: str, seed: int) -> float:
    """What the policy earns in the seat that is the seed's turn."""
    seat = f"{'BS'[seed % 2]}{seed // 2 % 4 + 1}"
    with tempfile.TemporaryDirectory() as folder:
        trace = tf.play(MARKET, scenario=PRESET, seed=seed, agent=f"policy:{policy}", seat=seat, folder=folder)
        return float(trace.outcome.seats[seat].payoff)


def luck(rows: Sequence[Sequence[float]]) -> tuple[float, float]:
    """From payoffs [policy][seed]: the seed's share of their variance within policies, and unpaired over paired."""
    seeds = list(zip(*rows, strict=True))
    own = fmean(variance(row) for row in rows)
    # What two policies have in common on a seed: the mean covariance of pairs.
    shared = fmean(
        fmean((a - fmean(first)) * (b - fmean(second)) for a, b in zip(first, second, strict=True))
        * len(seeds)
        / (len(seeds) - 1)
        for first, second in combinations(rows, 2)
    )
    paired = fmean(
        variance([a - b for a, b in zip(first, second, strict=True)]) for first, second in combinations(rows, 2)
    )
    return shared / own, 2 * own / paired


if __name__ == "__main__":
    main()
