"""References of a preset: what policies earn, and how often competent ones raise each failure mode.

`python -m benchmarks.references [preset …]` plays the field of a market's headline on the same forty seeds, seats by
turns, and writes `<market>/references/<preset>.json`; `--check` says which files are of other rules or modes. It plays
nothing: after a change of a policy, name the presets that it plays in.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from statistics import fmean, median, stdev
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeVar

from benchmarks.seated import play_seated
from tradefair.catalog import load_scenario, market_type
from tradefair.contract import SeatId
from tradefair.contract.kernel.players import seat_roles
from tradefair.evaluation.evaluator import Evaluator, evaluator_of
from tradefair.evaluation.judge.diagnosing import mode_versions
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.ledger import Ledger
from tradefair.evaluation.modes.base_rates import (
    PolicyRow,
    References,
    SeatRates,
    mode_rates,
    percentile_95,
    scenario_key,
)
from tradefair.evaluation.modes.diagnosis import Finding
from tradefair.host.seats.plans import plan_seats
from tradefair.runner.ledger.ledger import Ledgers
from tradefair.runner.ledger.replays import NotReplayed, Replays

_Job = TypeVar("_Job")
_Found = TypeVar("_Found")


class Size(NamedTuple):
    """Seeds of a preset: for what policies earn, for the findings of the competent ones, and for their ledgers.

    A ledger takes seconds: as many are made as if all competent policies had one on `ledgers` seeds, in the first
    `seats` of their seats. None are made where one takes minutes (`ledgers` 0).
    Without `turns` they sit in the scenario's own seat: where its values are given, each seat can win something else.
    `field`, the naive one first: where the market's other half has seats that the headline's field cannot play.
    """

    seeds: int
    rated: int
    ledgers: int
    turns: bool = True
    field: tuple[str, ...] = ()
    seats: int = 8


_SHARES = ("hold", "zi_c", "fundamentalist", "trend_follower", "momentum", "market_maker")
PRESETS = {
    "bargaining/one_shot": Size(20, 20, 20),
    "bargaining/pact": Size(40, 6, 1),
    "bargaining/silent": Size(40, 6, 3),
    "bargaining/smoke": Size(40, 8, 6),
    "double_auction/bazaar": Size(40, 3, 1),
    "double_auction/collusion": Size(10, 8, 2),
    "double_auction/collusion_no_private": Size(10, 8, 2),
    "double_auction/collusion_public": Size(10, 8, 2),
    "double_auction/collusion_silent": Size(10, 8, 2),
    "double_auction/duel": Size(40, 8, 3),
    "double_auction/large": Size(2, 2, 0),
    "double_auction/smoke": Size(40, 12, 6, turns=False),
    "marketplace/bargaining_10": Size(4, 3, 1, seats=3),
    "marketplace/contested": Size(4, 3, 1, seats=3),
    "marketplace/contractors_10": Size(4, 3, 1, seats=3),
    "marketplace/contractors_100": Size(2, 2, 0),
    "marketplace/contractors_33": Size(3, 3, 1, seats=2),
    "marketplace/escrow_reputation": Size(4, 3, 1, seats=3),
    "marketplace/first": Size(40, 8, 6),
    "marketplace/load_1000": Size(1, 1, 0),
    "marketplace/manipulation_competitive": Size(20, 6, 2),
    "marketplace/manipulation_high": Size(20, 6, 2),
    "marketplace/near_fits": Size(40, 3, 1),
    "marketplace/open_menus": Size(4, 3, 1, seats=3),
    "marketplace/perfect_search": Size(4, 3, 1, seats=3),
    "marketplace/pet_care_10": Size(4, 3, 1, seats=3),
    "marketplace/position_bias": Size(10, 3, 1, seats=2),
    "marketplace/proposal_bias": Size(10, 3, 1, seats=2),
    "marketplace/proposal_bias_graded": Size(10, 3, 1, seats=2),
    "marketplace/restaurants_10": Size(4, 3, 1, seats=3),
    "marketplace/restaurants_100": Size(2, 2, 0),
    "marketplace/restaurants_33": Size(3, 3, 1, seats=2),
    "marketplace/sealed_offers": Size(4, 3, 1, seats=3),
    "marketplace/small_demo": Size(40, 3, 1),
    "order_book/asset": Size(10, 6, 1, field=_SHARES),
    "order_book/asset_short": Size(40, 20, 4, field=_SHARES),
    "order_book/live": Size(10, 6, 2),
    "order_book/mixed": Size(10, 6, 2),
    "order_book/smith": Size(20, 7, 2),
    "order_book/smoke": Size(40, 4, 2, turns=False),
    "order_book/thick": Size(2, 2, 0),
    "order_book/thin": Size(40, 8, 3),
    "order_book/zi": Size(10, 6, 2),
    "pricing/asymmetric": Size(10, 8, 1),
    "pricing/curriculum": Size(40, 6, 3),
    "pricing/duel": Size(40, 8, 2),
    "pricing/five": Size(10, 8, 4),
    "pricing/hidden_cost": Size(10, 8, 4),
    "pricing/models": Size(10, 8, 1),
    "pricing/shocks": Size(10, 8, 4),
    "pricing/smoke": Size(40, 8, 8),
    "pricing/textbook": Size(10, 8, 4),
    "retail/easy": Size(20, 6, 1),
    "retail/first": Size(40, 20, 20),
    "retail/middle": Size(5, 10, 1),
    "retail/month": Size(20, 10, 2),
    "retail/paper": Size(3, 3, 1),
    "retail/smoke": Size(10, 10, 3),
    "retail/thousand_days": Size(1, 1, 0),
    "supply_chain/abundant": Size(6, 6, 2),
    "supply_chain/duel": Size(40, 20, 8),
    "supply_chain/first": Size(40, 20, 20),
    "supply_chain/gated": Size(24, 20, 5),
    "supply_chain/holding_costs": Size(6, 6, 2),
    "supply_chain/long_horizon": Size(4, 4, 0),
    "supply_chain/paper": Size(20, 20, 2),
    "supply_chain/paper_rho06": Size(6, 6, 2),
    "supply_chain/scarce": Size(6, 6, 2),
    "supply_chain/stochastic_supply": Size(6, 6, 2),
    "teaching/pie": Size(20, 20, 20, field=("passive", "half")),
    "teaching/talk": Size(20, 20, 20, field=("passive", "half")),
}
"""Presets with references: as many seeds as give 20 competent seats, fewer where an episode takes several seconds."""
COMPETENT = 0.5
"""Share of the way from the naive to the best reference from which a policy is competent."""


class Seated(NamedTuple):
    """One policy in one seat of a trace: its primary metric and its findings."""

    policy: str
    seat: SeatId
    value: float | None
    findings: Sequence[Finding]
    path: Path


def measure(preset: str, size: Size) -> References:
    """Play and evaluate the field of a preset, and write its file."""
    market, _, name = preset.partition("/")
    evaluator = evaluator_of(market)
    found = earned(preset, size)
    # What a policy is measured against are the rows of the file, so they have to be there before a ledger is made.
    write(preset, found)
    with TemporaryDirectory() as folder:
        jobs = [
            (market, name, policy, seed, size.turns, folder)
            for seed in range(1, size.rated + 1)
            for policy in found.competent
        ]
        seated = _all(_one, jobs)
        findings = [(row.policy, finding) for row in seated for finding in row.findings]
        modes = mode_rates(findings, mode_versions(evaluator))
        found = found.model_copy(update={"rated": size.rated, "modes": modes})
        write(preset, found)
        # Once more, now that the rates are known: as a verdict on these seats stands.
        paths: dict[Path, list[SeatId]] = {}
        for row in seated:
            paths.setdefault(row.path, []).append(row.seat)
        with_ledger = set[Path]()
        if size.ledgers:
            with_ledger.update(spread(list(paths), len(found.competent), size.rated // size.ledgers))
        judged = _all(_judged, [(path, seats, size.seats * (path in with_ledger)) for path, seats in paths.items()])
    found = found.model_copy(update={"usual": usual_of(judged)})
    write(preset, found)
    return found


def spread(episodes: Sequence[_Found], policies: int, step: int) -> list[_Found]:
    """One of `step` episodes, over all policies and seeds alike; `episodes` has all policies of a seed in a row."""
    return [episode for number, episode in enumerate(episodes) if (number // policies - number % policies) % step == 0]


def earned(preset: str, size: Size) -> References:
    """What policies earn, without rates. All are played, because no file can say that a policy has changed since."""
    market, _, name = preset.partition("/")
    kind, headline = market_type(market), evaluator_of(market).headline
    scenario = load_scenario(market, name)
    roles = seat_roles(kind, scenario, plan_seats(kind, scenario).agents).values()
    about = {"preset": name, **_now(preset), "seeds": size.seeds}
    named = size.field or (headline.field if headline else ())
    if not named:
        raise SystemExit(f"{market} has no headline, so its size has to name a field")
    specs = [spec for spec in kind.policies.values() if spec.roles.issuperset(roles)]
    references = [spec.name for spec in specs if not spec.privileged and (spec.reference or spec.name == "passive")]
    # All that a ledger may hold a seat against; `passive` is never a standard, nor is a control, nor who knows hidden
    # truth here.
    known = list(dict.fromkeys([*named, *references]))
    others = {"passive", *(spec.name for spec in specs if spec.control or spec.knows_hidden(scenario))}
    field = [policy for policy in known if policy not in others]
    naive = headline.naive if headline and not size.field else named[0]
    policies = [*known, *(spec.name for spec in specs if spec.privileged and spec.reference)]
    with TemporaryDirectory() as folder:
        jobs = [
            (market, name, policy, seed + 1, size.turns, folder) for seed in range(size.seeds) for policy in policies
        ]
        played = _all(_one, jobs)
    rows = {policy: _row([row.value for row in played if row.policy == policy]) for policy in policies}
    best = max(field, key=lambda policy: rows[policy].mean)
    floor, top = min(rows[naive].mean, rows[best].mean), rows[best].mean
    competent = [policy for policy in field if rows[policy].mean >= floor + COMPETENT * (top - floor)]
    return References.model_validate(
        {**about, "competent": competent, "best": best, "naive": naive, "rows": rows, "modes": {}}
    )


def _all(work: Callable[[_Job], list[_Found]], jobs: Sequence[_Job]) -> list[_Found]:
    """In new processes, because each keeps the file of references that it has read."""
    with ProcessPoolExecutor(2) as pool:
        return [row for rows in pool.map(work, jobs) for row in rows]


def _one(job: tuple[str, str, str, int, bool, str]) -> list[Seated]:
    market, name, policy, seed, turns, folder = job
    metric = evaluator_of(market).primary_metrics[0].name
    path, seats = play_seated(market, name, policy, seed, Path(folder), by_turns=turns)
    evaluation = evaluate_file(path)
    assert evaluation.outcome is not None, evaluation.problem
    assert evaluation.diagnosis is not None
    return [
        Seated(
            policy,
            seat,
            getattr(evaluation.outcome.seats[seat], metric),
            [finding for finding in evaluation.diagnosis.findings if seat in finding.seats],
            path,
        )
        for seat in seats
    ]


class Judged(NamedTuple):
    """One seat as its verdict stands: how many findings it raises, and its ledger if it has one."""

    raised: int
    ledger: Ledger | None


def _judged(job: tuple[Path, list[SeatId], int]) -> list[Judged]:
    path, seats, most = job
    diagnosis, made = evaluate_file(path).diagnosis, dict[SeatId, Ledger]()
    assert diagnosis is not None
    if most:
        ledgers = Ledgers(Replays(path))
        for seat in seats[:most]:
            with suppress(NotReplayed):
                made[seat] = ledgers.of(seat)
    return [Judged(sum(seat in finding.seats for finding in diagnosis.raised), made.get(seat)) for seat in seats]


def usual_of(judged: Sequence[Judged]) -> SeatRates:
    """Seats with nothing to win have no part in gap and noise: they would make both smaller than where one can lose."""
    ledgers = [row.ledger for row in judged if row.ledger is not None and not row.ledger.nothing_to_win]
    turns = [
        abs(turn.lost) / (turn.until - turn.turn + 1)
        for ledger in ledgers
        for turn in ledger.turns
        # The turns of a stretch share what it lost.
        for _ in range(turn.turn, turn.until + 1)
    ]
    return SeatRates(
        seats=len(judged),
        findings=round(fmean(row.raised for row in judged), 3),
        ledgers=len(ledgers),
        median_gap=round(median(ledger.gap for ledger in ledgers), 6) if ledgers else None,
        noise=round(percentile_95(turns), 6) if ledgers else None,
    )


def _row(values: Iterable[float | None]) -> PolicyRow:
    known = [value for value in values if value is not None]
    spread = stdev(known) if len(known) > 1 else 0.0
    return PolicyRow(n=len(known), mean=round(fmean(known), 6) if known else 0.0, sd=round(spread, 6))


def place(preset: str, evaluator: Evaluator) -> Path:
    """Where the file of a preset lies: in the room of its market's evaluator."""
    file = import_module(type(evaluator).__module__).__file__
    assert file is not None
    return Path(file).parent / "references" / f"{preset.partition('/')[2]}.json"


def write(preset: str, found: References) -> None:
    """Write the file of a preset."""
    file = place(preset, evaluator_of(preset.partition("/")[0]))
    file.parent.mkdir(exist_ok=True)
    file.write_text(found.model_dump_json(indent=1, exclude_defaults=True) + "\n")


def shipped_file(preset: str) -> References | None:
    file = place(preset, evaluator_of(preset.partition("/")[0]))
    return References.model_validate_json(file.read_bytes()) if file.exists() else None


def _now(preset: str) -> dict[str, str]:
    market, _, name = preset.partition("/")
    key = scenario_key(load_scenario(market, name).model_dump(mode="json"))
    return {"scenario_digest": key, "rules_version": market_type(market).version}


def stale(preset: str) -> str | None:
    """What the shipped file of a preset no longer fits; None where it fits."""
    shipped, evaluator = shipped_file(preset), evaluator_of(preset.partition("/")[0])
    command = f"python -m benchmarks.references {preset}"
    if shipped is None:
        return f"{preset} has no file: {command}"
    versions = mode_versions(evaluator)
    other = [key for key, value in _now(preset).items() if getattr(shipped, key) != value]
    known = {mode: rate.version for mode, rate in shipped.modes.items()}
    other += sorted(mode for mode in {**versions, **known} if versions.get(mode) != known.get(mode))
    return f"{preset} is of another {' and '.join(other)}: {command}" if other else None


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.references", description=__doc__)
    parser.add_argument("preset", nargs="*", default=list(PRESETS), help="market/preset; all by default")
    parser.add_argument("--check", action="store_true", help="only say which files are stale")
    asked = parser.parse_args(arguments)
    if asked.check:
        problems = [problem for preset in asked.preset if (problem := stale(preset))]
        print("\n".join(problems) or f"{len(asked.preset)} files of base rates fit their rules and modes")
        return int(bool(problems))
    for preset in asked.preset:
        started = time.monotonic()
        show(preset, measure(preset, PRESETS[preset]), time.monotonic() - started)
    return 0


def show(preset: str, found: References, seconds: float) -> None:
    """What was found, for people."""
    print(f"\n{preset}: {found.seeds} and {found.rated} seeds, {seconds:.0f} s; naive {found.naive}, best {found.best}")
    for policy, row in sorted(found.rows.items(), key=lambda item: -item[1].mean):
        mark = "competent" if policy in found.competent else ""
        print(f"  {policy:20} {row.mean:12.2f} ± {row.sd:<10.2f} n {row.n:<4} {mark}")
    raised = {mode: rate for mode, rate in found.modes.items() if rate.raised}
    for mode, rate in sorted(raised.items(), key=lambda item: -item[1].raised / item[1].of):
        print(f"  {mode:40} {rate.raised} of {rate.of}, 95th percentile of its count {rate.p95:g}")
    print(f"  as verdicts stand: {found.usual}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
