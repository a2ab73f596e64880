"""`python -m benchmarks.retail_ladder`: plays the ladder of `retail/paper` and writes it where it is shown.

Into the evaluator's room (`ladder.json`, under every result) and between the markers of the market's page. On the
sixteen seeds that the calibration never plays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product, repeat
from pathlib import Path
from statistics import fmean

from benchmarks.retail_calibration import CHECK_SEEDS
from benchmarks.retail_play import ManagerRun, play_manager
from tradefair.catalog import load_scenario, market_type
from tradefair.evaluation.markets.retail.ladder import (
    COLUMNS,
    PRESET,
    RUNGS,
    Ladder,
    Rung,
    ladder_rows,
    ladder_sentence,
)
from tradefair.evaluation.modes.base_rates import scenario_key
from tradefair.retail.model import RetailScenario

_ROOT = Path(__file__).parents[1]
FILE = _ROOT / "evaluation/tradefair/evaluation/markets/retail/ladder.json"
PAGE = _ROOT / "docs/explanation/markets/retail.md"


def main() -> None:
    """Play and write."""
    found = measure(CHECK_SEEDS)
    FILE.write_text(found.model_dump_json(indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_ladder(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


def measure(seeds: Sequence[int]) -> Ladder:
    """The ladder over the seeds."""
    market, _, preset = PRESET.partition("/")
    scenario = load_scenario(market, preset)
    assert isinstance(scenario, RetailScenario)
    # The longest episodes first, so that both processes are busy until the end.
    names, numbers = zip(*product(reversed(RUNGS), seeds), strict=True)
    with ProcessPoolExecutor(2) as pool:
        runs = list(pool.map(play_manager, repeat(scenario), numbers, names))
    results = {name: runs[place * len(seeds) :][: len(seeds)] for place, name in enumerate(reversed(RUNGS))}
    return Ladder(
        rules_version=market_type(market).version,
        scenario_digest=scenario_key(scenario.model_dump(mode="json")),
        seeds=len(seeds),
        rungs=rungs_of(results),
    )


def rungs_of(results: Mapping[str, Sequence[ManagerRun]]) -> list[Rung]:
    """Rungs from the runs of each policy."""
    return [_rung(policy, results[policy]) for policy in RUNGS]


def _rung(policy: str, runs: Sequence[ManagerRun]) -> Rung:
    worths = [run.net_worth for run in runs]
    return Rung(
        policy=policy,
        days=round(fmean(run.days for run in runs), 1),
        net_worth=round(fmean(worths), 2),
        lowest=min(worths),
        highest=max(worths),
        alive=sum(run.end_reason == "terminated:horizon" for run in runs),
    )


def with_ladder(page: str, found: Ladder) -> str:
    """The market's page with sentence and table between their markers."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(row) + " |" for row in ladder_rows(found)]
    note = (
        f"`{PRESET}`, seeds {CHECK_SEEDS[0]} to {CHECK_SEEDS[-1]}, which the calibration never played, rules version "
        f"{found.rules_version}; means over the seeds, amounts in currency units."
    )
    page = _between(page, "sentence of the ladder", ladder_sentence(found))
    return _between(page, "ladder", "\n".join(lines) + f"\n\n{note}")


def _between(page: str, marker: str, text: str) -> str:
    begin, end = f"<!-- {marker} -->", f"<!-- /{marker} -->"
    head, _, rest = page.partition(begin)
    return f"{head}{begin}\n{text}\n{end}{rest.partition(end)[2]}"


if __name__ == "__main__":
    main()
