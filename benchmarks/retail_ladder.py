"""`python -m benchmarks.retail_ladder [--seeds N]`: plays the ladder of `retail/paper` and writes it where it is shown.

Into the evaluator's room (`ladder.json`, under every result) and between the markers of the market's page.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

from benchmarks.seated import play_seated
from tradefair.catalog import load_scenario, market_type
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.markets.retail.ladder import PRESET, PUBLISHED, RUNGS, Ladder, Rung, ladder_rows
from tradefair.evaluation.modes.base_rates import scenario_key
from tradefair.retail.model import SEAT
from tradefair.tracestore import open_trace

_ROOT = Path(__file__).parents[1]
FILE = _ROOT / "evaluation/tradefair/evaluation/markets/retail/ladder.json"
PAGE = _ROOT / "docs/explanation/markets/retail.md"
_SYNTHETIC = (
    "The store is synthetic: its oracle is calibrated to the source's in four figures, so the agents' range shows "
    "the order of magnitude only."
)
_BEGIN, _END = "<!-- ladder -->", "<!-- /ladder -->"


def main() -> None:
    """Play and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retail_ladder")
    parser.add_argument("--seeds", type=int, default=16)
    found = measure(parser.parse_args().seeds)
    FILE.write_text(found.model_dump_json(indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_ladder(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


def measure(seeds: int) -> Ladder:
    """The ladder over the seeds 1 to `seeds`."""
    market, _, preset = PRESET.partition("/")
    # The longest episodes first, so that both processes are busy until the end.
    jobs = [(policy, seed) for policy in reversed(RUNGS) for seed in range(1, seeds + 1)]
    with ProcessPoolExecutor(2) as pool:
        played = pool.map(_played, repeat(market), repeat(preset), *zip(*jobs, strict=True))
        results: dict[str, list[tuple[int, float]]] = {policy: [] for policy in RUNGS}
        for (policy, _), result in zip(jobs, played, strict=True):
            results[policy].append(result)
    return Ladder(
        rules_version=market_type(market).version,
        scenario_digest=scenario_key(load_scenario(market, preset).model_dump(mode="json")),
        seeds=seeds,
        rungs=rungs_of(results),
    )


def _played(market: str, preset: str, policy: str, seed: int) -> tuple[int, float]:
    """Days survived and net worth at the end of one episode."""
    with tempfile.TemporaryDirectory() as folder:
        path, _ = play_seated(market, preset, policy, seed, Path(folder))
        with open_trace(path) as trace:
            seat = evaluator_of(market).outcomes(trace).seats[SEAT]
    return seat.survival_days, seat.net_worth_final


def rungs_of(results: Mapping[str, list[tuple[int, float]]]) -> list[Rung]:
    """Rungs from (days survived, net worth) of every seed by policy."""
    rungs: list[Rung] = []
    for policy in RUNGS:
        days, worths = zip(*results[policy], strict=True)
        mean = sum(worths) / len(worths)
        rungs.append(
            Rung(
                policy=policy,
                days=round(sum(days) / len(days), 1),
                net_worth=round(mean, 2),
                lowest=min(worths),
                highest=max(worths),
            )
        )
    return rungs


def with_ladder(page: str, found: Ladder) -> str:
    """The market's page with the table between its markers."""
    head, _, rest = page.partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    lines = ["| manager | days survived | mean net worth | lowest | highest |", "|---|---|---|---|---|"]
    lines += ["| " + " | ".join(row) + " |" for row in ladder_rows(found)]
    worth = PUBLISHED.net_worth
    note = (
        f"`{PRESET}`, {found.seeds} seeds, rules version {found.rules_version}; amounts in currency units. "
        f"Published LLM agents survived {PUBLISHED.days[0]} to {PUBLISHED.days[1]} days and ended between "
        f"{worth[0]:,} and {worth[1]:,}. {_SYNTHETIC}"
    )
    return f"{head}{_BEGIN}\n" + "\n".join(lines) + f"\n\n{note}\n{_END}{tail}"


if __name__ == "__main__":
    main()
