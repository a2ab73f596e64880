"""From pairs to the table: metrics with their tests, early ends, pass^k, what each side spent.

Only primary metrics are tested, and Holm's correction counts only them: testing all columns would find differences by
chance.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeVar

from tradefair.contract import SeatId
from tradefair.evaluation.compare.comparison import (
    MIN_PAIRS,
    Arm,
    EarlyEnds,
    Metric,
    Pair,
    PassHatK,
    Run,
    SurvivalPoint,
)
from tradefair.evaluation.compare.pairing import mean_of
from tradefair.evaluation.outcome import PrimaryMetric
from tradefair.evaluation.read.accounts import Account, SeatAccount
from tradefair.evaluation.statistics import (
    holm,
    interval,
    kaplan_meier,
    mcnemar_p,
    mean_sd,
    pass_hat_k,
    percentile,
    sign_flip,
)

N = TypeVar("N", int, float)

# Doubling keeps the table short; a k above the number of trials gives no row.
_KS = (1, 2, 4, 8, 16)
# Costs are recorded in millionths of a US dollar, as integers.
_MICRO = 1_000_000


class Success(NamedTuple):
    """When an episode counts as a success: it did not end early, and `metric` is above `above`."""

    metric: str
    above: float

    def text(self) -> str:
        """The condition as a sentence's end: an episode that …"""
        return f"ran its course with {self.metric} above {self.above:g}"

    def met(self, run: Run) -> bool | None:
        """Whether a run succeeded; None where the metric is undefined."""
        value = run.metrics.get(self.metric)
        # An early end is a failure whatever was earned until then: a bankrupt store may have had a good first week.
        return None if value is None else not run.early and value > self.above


def metrics_of(pairs: Sequence[Pair], primary: Sequence[PrimaryMetric], left_out: Collection[str] = ()) -> list[Metric]:
    """One row per metric, except those `left_out`; p-values of primary metrics are corrected after Holm."""
    if not pairs:
        return []
    declared = {metric.name: metric for metric in primary}
    rows = [_metric(pairs, name, declared.get(name)) for name in pairs[0].a[0].metrics if name not in left_out]
    tested = [(index, row.p) for index, row in enumerate(rows) if row.primary and row.p is not None]
    # Holm over the tested metrics only: one without a p-value is no test and must not cost the others.
    for (index, _), adjusted in zip(tested, holm([p for _, p in tested]), strict=True):
        rows[index] = rows[index].model_copy(update={"p_holm": adjusted})
    return rows


def _values(groups: Sequence[Sequence[Run]], name: str) -> list[float]:
    """The number of every run that has it."""
    return [value for runs in groups for run in runs if (value := run.metrics[name]) is not None]


def _mean_of_groups(groups: Sequence[Sequence[Run]], name: str) -> float | None:
    return _mean([value for runs in groups if (value := mean_of(runs, name)) is not None])


def _won(differences: Sequence[float], upwards: bool) -> tuple[int, int, int]:
    """In how many pairs B was better, equal, worse."""
    # Exactly equal is a tie; differences are rounded to nine decimals, and equal play gives exactly 0.
    better = sum(difference > 0 if upwards else difference < 0 for difference in differences)
    ties = sum(difference == 0 for difference in differences)
    return better, ties, len(differences) - better - ties


def _metric(pairs: Sequence[Pair], name: str, declared: PrimaryMetric | None) -> Metric:
    """One row of the table; `declared` is None for a number that is shown and not tested.

    Means are over pairs, the mean of a group of trials counting once; extremes are over runs.
    """
    # Pairs without this number are left out of this row, not of the comparison.
    usable = [pair for pair in pairs if pair.differences.get(name) is not None]
    differences = [difference for pair in usable if (difference := pair.differences[name]) is not None]
    mean_difference, deviation = mean_sd(differences)
    # Extremes are over runs, means over pairs: a pair of many trials must not weigh more than one of a single trial.
    of_a, of_b = [pair.a for pair in usable], [pair.b for pair in usable]
    a, b = _values(of_a, name), _values(of_b, name)
    # Counted from this metric's own pairs, which may be fewer than those of the comparison.
    enough = len(differences) >= MIN_PAIRS
    flip = sign_flip(differences) if enough and declared is not None else None
    unit, upwards = (declared.unit, declared.higher_is_better) if declared else (None, None)
    # Of an undeclared column it is not known whether more is better: "wins" then means "B is higher".
    wins, ties, losses = _won(differences, upwards is not False)
    return Metric(
        name=name,
        unit=unit,
        higher_is_better=upwards,
        primary=declared is not None,
        n=len(usable),
        undefined=len(pairs) - len(usable),
        mean_a=_mean_of_groups(of_a, name),
        mean_b=_mean_of_groups(of_b, name),
        mean_difference=_rounded(mean_difference),
        sd_difference=_rounded(deviation),
        # Intervals are shown of all columns, tests are made of primary ones only.
        interval=interval(differences) if enough else None,
        p=flip.p if flip else None,
        p_method=flip.method if flip else None,
        p_holm=None,
        wins=wins,
        ties=ties,
        losses=losses,
        minimum_a=min(a, default=None),
        minimum_b=min(b, default=None),
        tenth_percentile_a=_rounded(percentile(a, 0.1)),
        tenth_percentile_b=_rounded(percentile(b, 0.1)),
        maximum_a=max(a, default=None),
        maximum_b=max(b, default=None),
    )


def early_ends(pairs: Sequence[Pair]) -> EarlyEnds | None:
    """Early ends, over the pairs of one run each; None without such pairs (McNemar's test needs single outcomes).

    Counts are episodes, curves are shares (0 to 1) over closed rounds.
    """
    # A group of trials ends early in a share of cases, which McNemar's test of paired yes and no cannot take.
    single = [(pair.a[0], pair.b[0]) for pair in pairs if len(pair.a) == len(pair.b) == 1]
    if not single:
        return None
    only_a = sum(a.early and not b.early for a, b in single)
    only_b = sum(b.early and not a.early for a, b in single)
    return EarlyEnds(
        a=sum(a.early for a, _ in single),
        b=sum(b.early for _, b in single),
        only_a=only_a,
        only_b=only_b,
        p=mcnemar_p(only_a, only_b) if len(single) >= MIN_PAIRS else None,
        survival_a=_survival([a for a, _ in single]),
        survival_b=_survival([b for _, b in single]),
    )


def _survival(runs: Sequence[Run]) -> list[SurvivalPoint]:
    """The survival curve over closed rounds; an episode that ran its course counts as watched that long."""
    steps = kaplan_meier([run.rounds_closed for run in runs], [run.early for run in runs])
    return [SurvivalPoint(round=at, share=share) for at, share in steps]


def reliability(pairs: Sequence[Pair], success: Success) -> list[PassHatK]:
    """pass^k for k = 1, 2, 4, 8, 16 of both sides: over the trials of a seed where there are some, else over seeds."""
    # Trials anywhere make the seed the task: pooling seeds as well would mix two questions in one number.
    by_seed = any(len(side) > 1 for pair in pairs for side in (pair.a, pair.b))
    tasks_a, tasks_b = _tasks([pair.a for pair in pairs], by_seed), _tasks([pair.b for pair in pairs], by_seed)
    rows: list[PassHatK] = []
    for k in _KS:
        a, b = _passed(tasks_a, success, k), _passed(tasks_b, success, k)
        # The sides may have unequal numbers of trials: a row stays while one of them has k.
        if a is not None or b is not None:
            task = "seed" if by_seed else "scenario"
            rows.append(PassHatK(k=k, task=task, success=success.text(), a=a, b=b))
    return rows


def _tasks(groups: Sequence[Sequence[Run]], by_seed: bool) -> list[Sequence[Run]]:
    """The groups of runs of which all must succeed: a group per seed, or one group of all runs."""
    return list(groups) if by_seed else [[run for group in groups for run in group]]


def _passed(tasks: Sequence[Sequence[Run]], success: Success, k: int) -> float | None:
    """pass^k in the mean over tasks; None where no task has k runs in which the metric is defined."""
    chances: list[float] = []
    for runs in tasks:
        # A run of which the metric is undefined is neither a success nor a failure.
        met = [found for run in runs if (found := success.met(run)) is not None]
        chance = pass_hat_k(sum(met), len(met), k)
        chances += [] if chance is None else [chance]
    return _mean(chances)


def arm_of(name: str, pairs: Sequence[tuple[Sequence[Run], Sequence[SeatId]]]) -> Arm:
    """The name of one side, and what it spent per episode in the mean over its compared runs.

    `pairs`: the runs of this side in a pair, and the seats that are compared in it.
    """
    runs = [run for trials, _ in pairs for run in trials]
    spent = [_spent(run.account, seats) for trials, seats in pairs for run in trials]
    return Arm(
        name=name,
        label=", ".join(dict.fromkeys(run.label for run in runs)),
        traces=len(runs),
        # Calls are counted from the trace and always known; tokens and seconds are what the model's side reported.
        calls=_mean([float(item.calls) for item in spent]),
        refused=_mean([float(item.refused) for item in spent]),
        model_calls=_mean([float(item.model_calls) for item in spent]),
        input_tokens=_known_mean([item.input_tokens for item in spent]),
        output_tokens=_known_mean([item.output_tokens for item in spent]),
        model_seconds=_known_mean([item.model_seconds for item in spent]),
        wall_seconds=_known_mean([run.account.wall_seconds for run in runs]),
        cost_usd=_known_mean([None if item.cost is None else item.cost / _MICRO for item in spent]),
    )


class _Spent(NamedTuple):
    """What the compared seats of one run spent; None where it is not known for each of them."""

    calls: int
    refused: int
    model_calls: int
    input_tokens: int | None
    output_tokens: int | None
    model_seconds: float | None
    cost: int | None


def _spent(account: Account, seats: Sequence[SeatId]) -> _Spent:
    """What the compared seats of one run spent together; None for what is not known of each of them."""
    # A seat without an account made no call: its calls are 0, its tokens stay unknown.
    own = [account.seats.get(seat, SeatAccount()) for seat in seats]
    return _Spent(
        sum(seat.calls for seat in own),
        sum(seat.refused for seat in own),
        sum(seat.model_calls for seat in own),
        _sum([seat.input_tokens for seat in own]),
        _sum([seat.output_tokens for seat in own]),
        _sum([seat.model_seconds for seat in own]),
        _sum([seat.cost_usd_micro for seat in own]),
    )


def _sum(values: Sequence[N | None]) -> N | None:
    """The sum; None when a value is unknown or there is none."""
    known = [value for value in values if value is not None]
    # Starts from 0 of the values' own type: a sum of ints stays an int.
    return sum(known, start=type(known[0])(0)) if known and len(known) == len(values) else None


def _known_mean(values: Sequence[float | None]) -> float | None:
    """The mean.

    None when a value is unknown for any run, because a mean over the others would be read as that of all.
    """
    known = [value for value in values if value is not None]
    return _mean(known) if len(known) == len(values) else None


def _mean(values: Sequence[float]) -> float | None:
    """The mean, rounded to nine decimals; None of nothing."""
    return _rounded(math.fsum(values) / len(values)) if values else None


def _rounded(value: float | None) -> float | None:
    """Nine decimals; None stays None."""
    # Nine decimals, so that the order of a sum on another machine does not show.
    return None if value is None else round(value, 9)
