"""`python -m benchmarks.dominicks MOVEMENT UPC CCOUNT`: how well a store fitted to the original files meets the source.

Fits one outlet of the Dominick's files (Kilts Center, academic use; none is bundled), plays the oracle in it by rules
alone, and prints the four published means of RetailBench's oracle beside its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from benchmarks.retail_calibration import PUBLISHED, Point, play_oracle
from tradefair.retail.data.dominicks import DominicksOptions, fitted_scenario, load_dominicks
from tradefair.retail.model import CATEGORY_NAMES, RetailScenario


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit, play, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dominicks")
    parser.add_argument("movement", type=Path, help="folder of wXXX.csv")
    parser.add_argument("upc", type=Path, help="folder of upcXXX.csv")
    parser.add_argument("ccount", type=Path, help="file of daily customer counts")
    parser.add_argument("--store", type=int, default=12, help="number of the outlet")
    parser.add_argument("--categories", nargs="+", default=[*CATEGORY_NAMES], help="names or codes")
    parser.add_argument("--start", type=date.fromisoformat, default=date(1991, 9, 7), help="date of day 1")
    parser.add_argument("--history-days", type=int, default=93)
    parser.add_argument("--cost-level", type=float, default=0.56, help="supplier cost / recorded acquisition cost")
    parser.add_argument("--seeds", type=int, default=16)
    given = parser.parse_args(arguments)
    fitted = load_dominicks(
        given.movement,
        given.upc,
        given.ccount,
        given.store,
        given.categories,
        given.start,
        given.history_days,
        DominicksOptions(cost_level=given.cost_level),
    )
    scenario = fitted_scenario(fitted, {"id": "retail/dominicks"})
    for warning in fitted.report.warnings:
        print(f"warning: {warning}")
    print(*compared(scenario, range(1, given.seeds + 1)), sep="\n")


def compared(scenario: RetailScenario, seeds: Sequence[int]) -> Iterator[str]:
    """A line per published mean: ours, the published one, the distance, and whether it lies within the tolerance."""
    point = Point({}, "", tuple(play_oracle(scenario, seed) for seed in seeds))
    yield f"oracle in {scenario.id}: {scenario.product_count} products, {len(seeds)} seeds"
    for name, value in point.figures.items():
        published, tolerance = PUBLISHED[name]
        distance = value / published - 1
        met = "met" if abs(distance) <= tolerance else "not met"
        yield f"{name:14} {value:12,.2f}   published {published:12,.2f}   {distance:+8.1%}   {met} (± {tolerance:.0%})"


if __name__ == "__main__":
    main()
