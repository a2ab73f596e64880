"""References of a preset: what policies earn, and how often competent ones raise each failure mode.

`python -m benchmarks.references [preset …]` plays the field of a market's headline on the same forty seeds, seats by
turns, and writes `<market>/references/<preset>.json`; `--check` says which files are of other rules or modes.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.seated import play_seated
from tradefair.catalog import load_scenario, market_type
from tradefair.contract import SeatId
from tradefair.evaluation.evaluate import evaluate_file
from tradefair.evaluation.evaluator import Evaluator, evaluator_of
from tradefair.evaluation.modes.base_rates import ModeRate, PolicyRow, References, scenario_key
from tradefair.evaluation.modes.detectors import GENERAL
from tradefair.evaluation.modes.diagnosis import Finding


class Size(NamedTuple):
    """Seeds of a preset for base rates.

    Without `rates` its file holds what policies earn, for scores, and no base rates: few rounds say little of modes.
    Without `turns` they sit in the scenario's own seat: where its values are given, each seat can win something else.
    `field`, the naive one first: where the market's other half has seats that the headline's field cannot play.
    """

    seeds: int
    rates: bool = True
    turns: bool = True
    field: tuple[str, ...] = ()


_SHARES = ("hold", "zi_c", "fundamentalist", "trend_follower", "momentum", "market_maker")
PRESETS = {
    "double_auction/bazaar": Size(40),
    "bargaining/pact": Size(40),
    "bargaining/silent": Size(40),
    "retail/easy": Size(20),
    "retail/middle": Size(10),
    "supply_chain/gated": Size(24),
    "supply_chain/paper": Size(20),
    "marketplace/near_fits": Size(40),
    "marketplace/small_demo": Size(40),
    "pricing/duel": Size(40),
    "order_book/smith": Size(20),
    "double_auction/smoke": Size(40, rates=False, turns=False),
    "double_auction/duel": Size(40, rates=False),
    "bargaining/smoke": Size(40, rates=False),
    "retail/first": Size(40, rates=False),
    "retail/month": Size(20, rates=False),
    "supply_chain/first": Size(40, rates=False),
    "supply_chain/duel": Size(40, rates=False),
    "marketplace/first": Size(40, rates=False),
    "pricing/smoke": Size(40, rates=False),
    "order_book/smoke": Size(40, rates=False, turns=False),
    "order_book/thin": Size(40, rates=False),
    "order_book/asset_short": Size(40, rates=False, field=_SHARES),
    "pricing/curriculum": Size(40, rates=False),
}
"""Presets with references."""
COMPETENT = 0.5
"""Share of the way from the naive to the best reference from which a policy is competent."""


class Seated(NamedTuple):
    """One policy in one seat: its primary metric and its findings."""

    policy: str
    seat: SeatId
    value: float | None
    findings: Sequence[Finding]


def measure(preset: str, size: Size) -> References:
    """Play and evaluate the field of a preset."""
    seeds = size.seeds
    market, _, name = preset.partition("/")
    evaluator = evaluator_of(market)
    headline = evaluator.headline
    if headline is None:
        raise SystemExit(f"{market} has no headline, so no field of references")
    kind = market_type(market)
    field = size.field or headline.field
    naive = field[0] if size.field else headline.naive
    privileged = [spec.name for spec in kind.policies.values() if spec.privileged and spec.reference]
    policies = [*field, *(["passive"] if "passive" in kind.policies else []), *privileged]
    jobs = [(market, name, policy, seed, size.turns) for seed in range(1, seeds + 1) for policy in policies]
    with TemporaryDirectory() as folder, ProcessPoolExecutor(2) as pool:
        played = [row for rows in pool.map(_one, [(*job, folder) for job in jobs], chunksize=4) for row in rows]
    rows = {policy: _row([row.value for row in played if row.policy == policy]) for policy in policies}
    floor, top = rows[naive].mean, max(rows[policy].mean for policy in field)
    best = max(field, key=lambda policy: rows[policy].mean)
    competent = [policy for policy in field if rows[policy].mean >= floor + COMPETENT * (top - floor)]
    return References(
        preset=name,
        scenario_digest=scenario_key(load_scenario(market, name).model_dump(mode="json")),
        rules_version=kind.version,
        seeds=seeds,
        competent=competent,
        best=best,
        naive=naive,
        rows=rows,
        modes=_modes([row for row in played if row.policy in competent], versions_of(evaluator)) if size.rates else {},
    )


def _one(job: tuple[str, str, str, int, bool, str]) -> list[Seated]:
    market, name, policy, seed, turns, folder = job
    metric = evaluator_of(market).primary_metrics[0].name
    path, seats = play_seated(market, name, policy, seed, Path(folder), by_turns=turns)
    evaluation = evaluate_file(path)
    shutil.rmtree(path.parent)
    assert evaluation.outcome is not None, evaluation.problem
    assert evaluation.diagnosis is not None
    return [
        Seated(
            policy,
            seat,
            getattr(evaluation.outcome.seats[seat], metric),
            [finding for finding in evaluation.diagnosis.findings if seat in finding.seats],
        )
        for seat in seats
    ]


def _row(values: Iterable[float | None]) -> PolicyRow:
    known = [value for value in values if value is not None]
    spread = stdev(known) if len(known) > 1 else 0.0
    return PolicyRow(n=len(known), mean=round(fmean(known), 6) if known else 0.0, sd=round(spread, 6))


def versions_of(evaluator: Evaluator) -> dict[str, int]:
    """The version of every row, by the id of its findings."""
    own = {f"{evaluator.market}.{name}": mode.version for name, mode in evaluator.modes.rows.items()}
    return own | {name: mode.version for name, mode in GENERAL.rows.items()}


def _modes(seated: Sequence[Seated], versions: Mapping[str, int]) -> dict[str, ModeRate]:
    """By mode, over the seats of competent policies. A finding told by another one was raised, too."""
    found: dict[str, list[tuple[str, bool, int]]] = {}
    for row in seated:
        for finding in row.findings:
            if finding.checked:
                alone = len(finding.seats) == 1
                raised = finding.status in ("raised", "condition", "merged")
                found.setdefault(finding.id, []).append((row.policy, raised, finding.count if alone else 0))
    return {mode: _rate(versions[mode], cases) for mode, cases in found.items()}


def _rate(version: int, cases: Sequence[tuple[str, bool, int]]) -> ModeRate:
    by: dict[str, tuple[int, int]] = {}
    for policy, raised, _ in cases:
        hits, of = by.get(policy, (0, 0))
        by[policy] = (hits + raised, of + 1)
    counts = sorted(count for _, _, count in cases)
    # The smallest count that at least 95 % of the seats do not pass.
    p95 = counts[max(0, math.ceil(0.95 * len(counts)) - 1)]
    return ModeRate(version=version, raised=sum(raised for _, raised, _ in cases), of=len(cases), p95=p95, by=by)


def place(preset: str, evaluator: Evaluator) -> Path:
    """Where the file of a preset lies: in the room of its market's evaluator."""
    file = import_module(type(evaluator).__module__).__file__
    assert file is not None
    return Path(file).parent / "references" / f"{preset.partition('/')[2]}.json"


def stale(preset: str) -> str | None:
    """What the shipped file of a preset no longer fits; None where it fits."""
    market, _, name = preset.partition("/")
    evaluator = evaluator_of(market)
    file = place(preset, evaluator)
    if not file.exists():
        return f"{file} is missing"
    shipped = References.model_validate_json(file.read_bytes())
    now = {
        "scenario_digest": scenario_key(load_scenario(market, name).model_dump(mode="json")),
        "rules_version": market_type(market).version,
    }
    other = [key for key, value in now.items() if getattr(shipped, key) != value]
    versions = versions_of(evaluator)
    other += [mode for mode, known in shipped.modes.items() if versions.get(mode) != known.version]
    return f"{file} is of another {' and '.join(other)}: python -m benchmarks.references {preset}" if other else None


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.references", description=__doc__)
    parser.add_argument("preset", nargs="*", default=list(PRESETS), help="market/preset; all by default")
    parser.add_argument("--seeds", type=int, help="seeds per policy, instead of the preset's own number")
    parser.add_argument("--check", action="store_true", help="only say which files are stale")
    asked = parser.parse_args(arguments)
    if asked.check:
        problems = [problem for preset in asked.preset if (problem := stale(preset))]
        print("\n".join(problems) or f"{len(asked.preset)} files of base rates fit their rules and modes")
        return int(bool(problems))
    for preset in asked.preset:
        started = time.process_time(), time.monotonic()
        size = PRESETS.get(preset, Size(40))
        found = measure(preset, size._replace(seeds=asked.seeds) if asked.seeds else size)
        file = place(preset, evaluator_of(preset.partition("/")[0]))
        file.parent.mkdir(exist_ok=True)
        file.write_text(found.model_dump_json(indent=1, exclude_none=True) + "\n")
        show(preset, found, time.monotonic() - started[1])
    return 0


def show(preset: str, found: References, seconds: float) -> None:
    """What was found, for people."""
    print(f"\n{preset}: {found.seeds} seeds, {seconds:.0f} s; naive {found.naive}, best {found.best}")
    for policy, row in sorted(found.rows.items(), key=lambda item: -item[1].mean):
        mark = "competent" if policy in found.competent else ""
        print(f"  {policy:20} {row.mean:12.2f} ± {row.sd:<10.2f} n {row.n:<4} {mark}")
    raised = {mode: rate for mode, rate in found.modes.items() if rate.raised}
    for mode, rate in sorted(raised.items(), key=lambda item: -item[1].raised / item[1].of):
        print(f"  {mode:40} {rate.raised} of {rate.of}, 95th percentile of its count {rate.p95:g}")
    seats = max((rate.of for rate in found.modes.values()), default=0)
    whole = sum(rate.raised for rate in raised.values() if rate.raised < 0.8 * rate.of)
    print(f"  findings an episode on competent seats: {whole / seats if seats else 0:.2f} (merged ones counted, too)")


if __name__ == "__main__":
    sys.exit(main())
