"""How many episodes rank policies: `python -m benchmarks.ranking [--market M] [--seeds N] [--json]`.

For each market's headline it plays the competent policies on the same seeds. It prints the episodes a side that show a
difference of 10 % between neighbours, with a fixed seat and with seats by turns, and how far another set of seeds would
rank the policies alike: Brennan's generalisability coefficient at the headline's least number of seeds.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from statistics import fmean, pvariance
from tempfile import TemporaryDirectory
from typing import NamedTuple

import orjson

from benchmarks.references import COMPETENT, PRESETS, place
from benchmarks.seated import play_seated
from tradefair.catalog import load_scenario, market_type
from tradefair.evaluation.evaluator import Evaluator, evaluator_of
from tradefair.evaluation.headline import Headline
from tradefair.evaluation.modes.base_rates import References
from tradefair.evaluation.statistics import games_needed, mean_sd
from tradefair.tracestore import open_trace

MARKETS = ("double_auction", "bargaining", "retail", "supply_chain", "marketplace", "pricing", "order_book")
GOAL = 0.9
_DIFFERENCE = 0.1
# Values survive a run that was stopped, and a change of what is computed from them.
_CACHE = Path(tempfile.gettempdir()) / "tradefair-ranking.json"

Values = Mapping[str, Sequence[float]]
"""The metric, mean over the agent's seats, `[policy][seed]`."""


class Pair(NamedTuple):
    """Two neighbours in the ranking and the episodes a side that show 10 % of their mean with power 0.8.

    Null where over a million are needed, `fixed` also where no seat takes turns.
    """

    better: str
    worse: str
    fixed: int | None
    by_turns: int | None


class Ranking(NamedTuple):
    """What a market's headline ranks and how surely; `needed` is the least number of seeds that meets the goal.

    `whole`: the whole field is ranked, because fewer than two competent policies differ.
    """

    preset: str
    seeds: int
    min_seeds: int
    means: Mapping[str, float]
    pairs: Sequence[Pair]
    generalisability: float | None
    needed: int | None
    whole: bool

    @property
    def met(self) -> bool:
        """Whether the ranking at `min_seeds` meets the goal."""
        return self.generalisability is not None and self.generalisability >= GOAL


def components(values: Values) -> tuple[float, float]:
    """The variance of policies and of the rest, from a full layout of policies by seeds; a negative one counts as 0."""
    rows = [list(row) for row in values.values()]
    policies, seeds = len(rows), len(rows[0])
    grand = fmean([value for row in rows for value in row])
    by_seed = [fmean(column) for column in zip(*rows, strict=True)]
    rest = math.fsum(
        (value - fmean(row) - of_seed + grand) ** 2 for row in rows for value, of_seed in zip(row, by_seed, strict=True)
    )
    residual = rest / ((policies - 1) * (seeds - 1))
    # pvariance divides by the number of policies; the mean square of a sample divides by one less.
    between = seeds * pvariance([fmean(row) for row in rows]) * policies / (policies - 1)
    return max(0.0, (between - residual) / seeds), residual


def generalisability(values: Values, seeds: int) -> float | None:
    """Variance of policies over that of their means on `seeds` seeds; None of fewer than two policies or seeds."""
    if len(values) < 2 or len(next(iter(values.values()))) < 2:
        return None
    policies, residual = components(values)
    total = policies + residual / seeds
    return policies / total if total else None


def seeds_needed(values: Values) -> int | None:
    """The least number of seeds whose generalisability meets the goal; None where policies do not differ."""
    policies, residual = components(values)
    # Rounded before it is rounded up: a ratio of 40 that computes as 40.000000001 needs no 41st seed.
    return max(1, math.ceil(round(residual * GOAL / (1 - GOAL) / policies, 6))) if policies else None


def needed_pairs(better: Sequence[float], worse: Sequence[float]) -> int:
    """Games of a gate that show 10 % of the mean of both, by the spread of paired differences."""
    deviation = mean_sd([high - low for high, low in zip(better, worse, strict=True)])[1]
    assert deviation is not None
    return games_needed(deviation, _DIFFERENCE * fmean([*better, *worse]))


def competent(preset: str, evaluator: Evaluator, headline: Headline, seeds: int) -> list[str]:
    """The preset's competent policies; without a file of references those of the field that pass the same bar here."""
    file = place(preset, evaluator)
    if file.exists():
        return list(References.model_validate_json(file.read_bytes()).competent)
    played = values_of(evaluator.market, headline, headline.field, seeds, by_turns=True)
    means = {policy: fmean(values) for policy, values in played.items()}
    bar = means[headline.naive] + COMPETENT * (max(means.values()) - means[headline.naive])
    return [policy for policy, mean in means.items() if mean >= bar]


def distinct(values: Values) -> Values:
    """One of the policies that earned the same on every seed, as a talker and its silent twin: nothing orders them."""
    first = {tuple(row): policy for policy, row in reversed(list(values.items()))}
    return {policy: row for row, policy in first.items()}


def rank(market: str, seeds: int | None = None) -> Ranking:
    """Play, or read from the cache, what the market's headline ranks."""
    evaluator = evaluator_of(market)
    headline = evaluator.headline
    assert headline is not None, market
    preset = f"{market}/{headline.preset}"
    count = seeds or min(headline.min_seeds, PRESETS[preset].seeds)
    turns = distinct(values_of(market, headline, competent(preset, evaluator, headline, count), count, by_turns=True))
    whole = len(turns) < 2
    if whole:
        turns = distinct(values_of(market, headline, headline.field, count, by_turns=True))
    policies = list(turns)
    # Where seats are equal a fixed seat is the same game: nothing is played twice.
    takes_turns = load_scenario(market, headline.preset).by_turns
    fixed = values_of(market, headline, policies, count, by_turns=False) if takes_turns else None
    order = sorted(policies, key=lambda policy: -fmean(turns[policy]))
    return Ranking(
        preset=preset,
        seeds=count,
        min_seeds=headline.min_seeds,
        means={policy: round(fmean(turns[policy]), 3) for policy in order},
        pairs=[
            Pair(
                better,
                worse,
                needed_pairs(fixed[better], fixed[worse]) if fixed else None,
                needed_pairs(turns[better], turns[worse]),
            )
            for better, worse in pairwise(order)
        ],
        generalisability=generalisability(turns, headline.min_seeds),
        needed=seeds_needed(turns),
        whole=whole,
    )


def values_of(market: str, headline: Headline, policies: Sequence[str], seeds: int, *, by_turns: bool) -> Values:
    """The headline's metric of all policies on seeds 1 to `seeds`."""
    known: dict[str, float] = orjson.loads(_CACHE.read_bytes()) if _CACHE.exists() else {}
    version = market_type(market).version
    jobs = {
        (policy, seed): f"{market}/{headline.preset}/{version}/{headline.metric}/{policy}/{seed}/{by_turns}"
        for policy in policies
        for seed in range(1, seeds + 1)
    }
    missing = [job for job, key in jobs.items() if key not in known]
    with TemporaryDirectory() as folder, ProcessPoolExecutor(2) as pool:
        asked = [(market, headline, policy, seed, by_turns, folder) for policy, seed in missing]
        for job, value in zip(missing, pool.map(_value, asked, chunksize=4), strict=True):
            known[jobs[job]] = value
    _CACHE.write_bytes(orjson.dumps(known))
    return {policy: [known[jobs[policy, seed]] for seed in range(1, seeds + 1)] for policy in policies}


def _value(job: tuple[str, Headline, str, int, bool, str]) -> float:
    market, headline, policy, seed, by_turns, folder = job
    path, seats = play_seated(market, headline.preset, policy, seed, Path(folder), by_turns=by_turns)
    with open_trace(path) as trace:
        outcomes = evaluator_of(market).outcomes(trace).seats
    shutil.rmtree(path.parent)
    return fmean([getattr(outcomes[seat], headline.metric) for seat in seats])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: exit code 1 where a market misses the goal."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranking", description=__doc__)
    parser.add_argument("--market", choices=MARKETS, help="one market; all by default")
    parser.add_argument("--seeds", type=int, help="seeds per policy; by default at most the headline's least number")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args(arguments)
    found: list[Ranking] = []
    for market in [asked.market] if asked.market else MARKETS:
        started = time.monotonic()
        found.append(rank(market, asked.seeds))
        if not asked.json:
            show(found[-1], time.monotonic() - started)
    if asked.json:
        rows = [ranking._asdict() | {"pairs": [pair._asdict() for pair in ranking.pairs]} for ranking in found]
        sys.stdout.buffer.write(orjson.dumps(rows, option=orjson.OPT_INDENT_2) + b"\n")
    return int(not all(ranking.met for ranking in found))


def show(ranking: Ranking, seconds: float) -> None:
    """One market for people."""
    print(f"\n{ranking.preset}: {ranking.seeds} seeds, {seconds:.0f} s")
    print("  " + ", ".join(f"{policy} {mean:g}" for policy, mean in ranking.means.items()))
    print(f"  {'pairs of episodes that show 10 %':48} fixed seat  by turns")
    for pair in ranking.pairs:
        fixed, turns = (format(count, ",") if count else "–" for count in (pair.fixed, pair.by_turns))
        print(f"  {pair.better + ', ' + pair.worse:48} {fixed:>10} {turns:>9}")
    figure = "–" if ranking.generalisability is None else f"{ranking.generalisability:.3f}"
    verdict = "met" if ranking.met else f"missed, {ranking.needed or 'no number of'} seeds would meet it"
    if ranking.whole:
        print("  the whole field is ranked: fewer than two competent policies differ")
    print(f"  generalisability at {ranking.min_seeds} seeds: {figure}; goal {GOAL:g} {verdict}")


if __name__ == "__main__":
    sys.exit(main())
