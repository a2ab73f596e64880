"""`python -m benchmarks.pairing [--seeds 40]`: how many times fewer games a difference needs on the same seeds.

Every policy of the headline's field plays seat after seat of the BAZAAR preset on the same seeds. A policy's payoffs
vary from seed to seed; what all policies have in common there is absent from the difference of two of them. How much
of one policy's payoffs is the seed's, `tradefair sweep --luck` says.
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
    """Play, and print how many times fewer games pairs need."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pairing", description=__doc__)
    parser.add_argument("--seeds", type=int, default=40, help="seeds 1 to N; default 40")
    seeds = range(1, parser.parse_args(arguments).seeds + 1)
    headline = evaluator_of(MARKET).headline
    assert headline is not None
    values = {policy: [payoff(policy, seed) for seed in seeds] for policy in headline.field}
    saved = pairing(list(values.values()))
    print(f"{len(values)} policies on the same {len(seeds)} seeds of {PRESET}, a seat in turn:")
    print(f"a difference needs {saved:.1f} times fewer games as pairs.")


def payoff(policy: str, seed: int) -> float:
    """What the policy earns in the seat that is the seed's turn."""
    seat = f"{'BS'[seed % 2]}{seed // 2 % 4 + 1}"
    with tempfile.TemporaryDirectory() as folder:
        trace = tf.play(MARKET, scenario=PRESET, seed=seed, agent=f"policy:{policy}", seat=seat, folder=folder)
        return float(trace.outcome.seats[seat].payoff)


def pairing(rows: Sequence[Sequence[float]]) -> float:
    """From payoffs [policy][seed]: the variance of a difference of two policies without pairs, over that with them."""
    paired = fmean(
        variance([a - b for a, b in zip(first, second, strict=True)]) for first, second in combinations(rows, 2)
    )
    return 2 * fmean(variance(row) for row in rows) / paired


if __name__ == "__main__":
    main()
