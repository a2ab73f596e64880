"""`python -m benchmarks.dominicks store.toml`: how well a fitted store meets the source.

The file is what `examples/dominicks/fit.py` prints. Plays the oracle in it as it was published, and prints the
published means of RetailBench's oracle beside its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from benchmarks.retail_calibration import PUBLISHED, play_point
from tradefair.catalog import load_scenario
from tradefair.retail.model import RetailScenario


def main(arguments: Sequence[str] | None = None) -> None:
    """Play, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dominicks")
    parser.add_argument("store", help="scenario file: python examples/dominicks/fit.py FOLDER > store.toml")
    parser.add_argument("--seeds", type=int, default=16)
    given = parser.parse_args(arguments)
    scenario = load_scenario("retail", given.store)
    assert isinstance(scenario, RetailScenario)
    print(*compared(scenario, range(1, given.seeds + 1)), sep="\n")


def compared(scenario: RetailScenario, seeds: Sequence[int]) -> Iterator[str]:
    """A line per published mean: ours, the published one, the distance, and whether it lies within the tolerance."""
    point = play_point(scenario, {}, PUBLISHED, seeds, 1)
    yield f"oracle in {scenario.id}: {scenario.product_count} products, {len(seeds)} seeds"
    for name, target in PUBLISHED.items():
        value = point.mean(target)
        met = "met" if target.met(value) else "not met"
        yield (
            f"{name:14} {value:14,.4f}   published {target.value:14,.4f}   {value / target.value - 1:+8.1%}   "
            f"{met} ({target.within})"
        )


if __name__ == "__main__":
    main()
