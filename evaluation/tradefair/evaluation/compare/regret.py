"""Normalised regret, (best − agent)/(best − passive), where references played the same task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tradefair.contract import ScenarioError
from tradefair.contract.policy import parse_policy
from tradefair.evaluation.compare.comparison import Pair, Regret
from tradefair.evaluation.compare.pairing import mean_of
from tradefair.evaluation.compare.runs import Loaded, Seats, Side, run_of

_PASSIVE = "passive"
# The scenario's id and the seed, without seats: references sit in the compared seats already.
_Key = tuple[str, int]


class References(NamedTuple):
    """The metric of the best reference and of the passive policy: (scenario id, seed) -> value, of the compared tasks.

    The best is that of all that played the task: a privileged policy is often not the one that earned most.
    """

    best: dict[_Key, float]
    passive: dict[_Key, float]


def references_of(
    metric: str, sides: Sequence[Side], seats: Seats, reference: Side | None, passive: Side | None
) -> References:
    """The references in the folders `reference` and `passive`, else those in `references/` next to the traces."""
    # References of both sides: B's folder may hold those that A's folder lacks.
    nearby = [run for side in sides for run in side.references]
    # Without this, a reference of another scenario content with the same id and seed would set the scale.
    tasks = {run.task(seats) for side in sides for run in side.runs}

    def values(named: Side | None, policies: Iterable[str]) -> dict[_Key, float]:
        """The best metric by (scenario id, seed), from the named folder, else from references that these played."""
        runs = (
            named.runs if named is not None else [run for name in policies for run in _played_by(nearby, seats, name)]
        )
        found: dict[_Key, float] = {}
        for run in runs:
            # A reference folder may hold episodes of another shape, whose seats have other names.
            if all(seat in run.outcome.seats for seat in seats.of(run)) and run.task(seats) in tasks:
                # The same reading as for the compared runs, so that the mean over several seats is the same mean.
                value = run_of(run, seats.of(run)).metrics.get(metric)
                key = str(run.core.scenario.get("id", "")), run.core.seed
                if value is not None:
                    found[key] = max(value, found.get(key, value))
        return found

    played = {_policy(run.player(seat)) for run in nearby for seat in seats.of(run)}
    return References(
        values(reference, sorted(name for name in played if name and name != _PASSIVE)), values(passive, [_PASSIVE])
    )


def regret_of(pairs: Sequence[Pair], metric: str, references: References) -> Regret:
    """Mean regret of both sides over the seeds where the denominator is positive."""
    regrets_a: list[float] = []
    regrets_b: list[float] = []
    undefined = missing = 0
    for pair in pairs:
        key = (pair.scenario, pair.seed)
        # Both references must have the very same luck: a mean over other seeds would compare seeds.
        high, low = references.best.get(key), references.passive.get(key)
        a, b = mean_of(pair.a, metric), mean_of(pair.b, metric)
        # An agent without this number has no regret either; counted with the references that are missing.
        if high is None or low is None or a is None or b is None:
            missing += 1
        # A reference that does no better than doing nothing gives no scale: the ratio would explode or change its sign.
        elif high <= low:
            undefined += 1
        else:
            regrets_a.append((high - a) / (high - low))
            regrets_b.append((high - b) / (high - low))
    n = len(regrets_a)
    mean_a = round(sum(regrets_a) / n, 9) if n else None
    mean_b = round(sum(regrets_b) / n, 9) if n else None
    return Regret(metric=metric, n=n, undefined=undefined, missing=missing, a=mean_a, b=mean_b)


def _played_by(runs: Iterable[Loaded], seats: Seats, policy: str) -> list[Loaded]:
    """The references in which `policy` sat in the compared seats."""
    # In all compared seats: a reference next to a passive seat is one for neither.
    return [run for run in runs if all(_policy(run.player(seat)) == policy for seat in seats.of(run))]


def _policy(spelling: str) -> str | None:
    """The name of a policy without its arguments; None for anything that names no policy."""
    try:
        return parse_policy(spelling)[0]
    # Labels of agents from outside are free text: not a mistake, only no reference.
    except ScenarioError:
        return None
