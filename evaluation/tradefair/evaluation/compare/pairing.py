"""Pairs: the same task, played by both sides.

What cannot be paired is listed with its reason, never left out silently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from tradefair.contract import ScenarioError, TraceError
from tradefair.evaluation.compare.comparison import Divergence, Dropped, Pair, Run
from tradefair.evaluation.compare.divergence import first_divergence
from tradefair.evaluation.compare.runs import Loaded, Seats, Side, Task, run_of
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.read.arithmetic import closeness
from tradefair.tracestore import open_trace

SideName = Literal["a", "b"]

# The wording of end reasons is part of the trace's format: kernel and evaluation both name them in full.
_HARNESS = "truncated:harness_failure"
_AGENT_FAILURE = "truncated:agent_failure"


class Paired(NamedTuple):
    """Pairs in the order of scenario and seed, and what was left out."""

    pairs: list[Pair]
    dropped: list[Dropped]


def pair_up(a: Side, b: Side, seats: Seats) -> Paired:
    """Match the runs of both sides by task. Raises TraceError for different markets and for a seed that occurs twice.

    Runs of one task that differ in the policy key only are trials: one pair holds all of them.
    """
    # `compare_sides` has checked its two sides; a folder for the noise floor comes here unchecked.
    markets = sorted({run.core.market for side in (a, b) for run in side.runs})
    if len(markets) > 1:
        raise TraceError(f"{a.path} and {b.path} are traces of different markets ({', '.join(markets)})")
    dropped: list[Dropped] = []
    tasks_a, tasks_b = _tasks(a, "a", seats, dropped), _tasks(b, "b", seats, dropped)
    # All runs, unusable ones too: they tell "its partner cannot be used" from "the seed is not there".
    known_a, known_b = _all_tasks(a, seats), _all_tasks(b, seats)
    pairs: list[Pair] = []
    # Sorted, so that the order of files on a disk shows neither in the table nor in its JSON.
    for task in sorted(tasks_a.keys() | tasks_b.keys()):
        runs_a, runs_b = tasks_a.get(task, []), tasks_b.get(task, [])
        if runs_a and runs_b:
            pair = _pair(task, runs_a, runs_b, seats, dropped)
            pairs += [pair] if pair is not None else []
            continue
        side: SideName = "a" if runs_a else "b"
        runs, other = (runs_a, known_b) if runs_a else (runs_b, known_a)
        reason = _unmatched(task, "B" if side == "a" else "A", other)
        dropped += [_drop(side, run, reason, lacking="b" if side == "a" else "a") for run in runs]
    return Paired(_with_closeness(pairs, evaluator_of(markets[0]).closeness), dropped)


def _with_closeness(pairs: list[Pair], scaled: Mapping[str, str]) -> list[Pair]:
    """The pairs with the figures that need all their runs: `scaled` names them by the metric that they scale."""
    for name, cost in scaled.items():
        found = iter(closeness([run.metrics.get(cost) for pair in pairs for run in (*pair.a, *pair.b)]))
        told: list[Pair] = []
        for pair in pairs:
            a, b = (
                [run.model_copy(update={"metrics": {**run.metrics, name: next(found)}}) for run in side]
                for side in (pair.a, pair.b)
            )
            differences = {**pair.differences, name: _difference(a, b, name)}
            told.append(pair.model_copy(update={"a": a, "b": b, "differences": differences}))
        pairs = told
    return pairs


def pair_across(a: Side, b: Side) -> tuple[Side, Side]:
    """Both sides under one name for their two scenarios, so that equal seeds are pairs.

    Raises ScenarioError where a side holds several scenarios: which of them belong together would be a guess.
    # Under another scenario a folder may hold one id with several contents (overrides), hence the digest.
    """
    for side in (a, b):
        if len({run.scenario_digest for run in side.runs}) > 1:
            held = ", ".join(sorted({run.scenario for run in side.runs}))
            raise ScenarioError(f"--across-scenarios: {side.path} holds several scenario contents ({held}); sort them")
    # Equal ids appear once: two contents of one scenario make a name without "and".
    name = " and ".join(dict.fromkeys((a.runs[0].scenario, b.runs[0].scenario)))
    renamed_a, renamed_b = (replace(side, runs=[replace(run, paired_as=name) for run in side.runs]) for side in (a, b))
    return renamed_a, renamed_b


def mean_of(runs: Sequence[Run], name: str) -> float | None:
    """The mean of a metric over the trials that have it; None when none has."""
    known = [value for run in runs if (value := run.metrics.get(name)) is not None]
    return sum(known) / len(known) if known else None


def _all_tasks(side: Side, seats: Seats) -> set[Task]:
    """All tasks that a side played, whether its runs can be used or not."""
    return {run.task(seats) for run in side.runs}


def _tasks(side: Side, name: SideName, seats: Seats, dropped: list[Dropped]) -> dict[Task, list[Loaded]]:
    """The usable runs by task; several of one must differ in a key of draws. A failed try that was repeated is left."""
    tasks: dict[Task, dict[tuple[int, int], Loaded]] = {}
    unusable: list[tuple[Loaded, str]] = []
    for run in side.runs:
        if (reason := _unusable(run)) is not None:
            unusable.append((run, reason))
            continue
        trials = tasks.setdefault(run.task(seats), {})
        known = trials.get(run.keys)
        # An error, no choice: the mean of a run and its copy would count one play twice.
        if known is not None:
            raise TraceError(
                f"seed {run.core.seed} of {run.core.scenario.get('id')} is twice in {side.path} with the policy key "
                f"{run.policy_key}: {known.path.name} and {run.path.name}; keep one of them, or play trials under "
                "different policy or agent keys"
            )
        trials[run.keys] = run
    # What a series left when it was interrupted stands in nobody's way once the seed has been played again.
    for run, reason in unusable:
        if run.keys not in tasks.get(run.task(seats), {}):
            dropped.append(_drop(name, run, reason))
    # Last, and for every side: a damaged file has no seed that could tell a task.
    for path, reason in side.damaged:
        dropped.append(Dropped(side=name, seed=None, path=str(path), reason=f"damaged: {reason}", lacking=name))
    return {task: list(trials.values()) for task, trials in tasks.items()}


def _unusable(run: Loaded) -> str | None:
    """Why a run cannot count; None when it can. An agent's own failure counts.

    Leaving it out would flatter the agent.
    """
    if run.outcome.end_reason is None:
        return "unfinished: go on with tradefair play --resume"
    if run.outcome.end_reason == _HARNESS:
        return "harness failure: not the agent's doing"
    return None


def _pair(task: Task, a: Sequence[Loaded], b: Sequence[Loaded], seats: Seats, dropped: list[Dropped]) -> Pair | None:
    """The pair of one task; None, with the runs in `dropped`, where one side has no run that can be compared."""
    # Both ways round: a run cut short by a limit is dropped on its own side, with its own reason.
    kept_a, kept_b = _comparable(a, b, "a", dropped), _comparable(b, a, "b", dropped)
    if not kept_a or not kept_b:
        gone = "censored on one side, the other one has no partner left"
        dropped += [_drop("a", run, gone, lacking="b") for run in kept_a]
        dropped += [_drop("b", run, gone, lacking="a") for run in kept_b]
        return None
    runs_a, runs_b = ([run_of(run, task.seats) for run in kept] for kept in (kept_a, kept_b))
    single = len(runs_a) == len(runs_b) == 1
    # Columns of seats depend on the market alone (`metric_names`): the first run names them for all.
    names = list(runs_a[0].metrics)
    return Pair(
        seed=task.seed,
        scenario=task.scenario,
        seats=list(task.seats),
        a=runs_a,
        b=runs_b,
        identical=_identical(runs_a, runs_b),
        differences={name: _difference(runs_a, runs_b, name) for name in names},
        # Of several trials it would be an arbitrary choice which two to lay next to each other.
        divergence=_divergence(kept_a[0], kept_b[0]) if single else None,
    )


def _comparable(own: Sequence[Loaded], other: Sequence[Loaded], name: SideName, dropped: list[Dropped]) -> list[Loaded]:
    """The runs that can be compared; the others are dropped with a reason.

    # Lengths of both sides: a run is cut short in comparison with its partners, not with its own trials.
    A run that a limit cut short counts only next to runs of the same length, because its sums cover fewer rounds.
    """
    lengths = {run.outcome.rounds_closed for run in (*own, *other)}
    kept: list[Loaded] = []
    for run in own:
        # An agent that failed ended its episode itself: what it did not earn afterwards is its own loss.
        cut = run.outcome.censored and run.outcome.end_reason != _AGENT_FAILURE
        if cut and len(lengths) > 1:
            reason = f"censored after {run.outcome.rounds_closed} rounds ({run.outcome.end_reason}), others went on"
            dropped.append(_drop(name, run, reason))
        else:
            kept.append(run)
    return kept


def _identical(a: Sequence[Run], b: Sequence[Run]) -> bool:
    """Whether the same was played in all runs, or all have equal outcome digests and numbers.

    A digest alone is only a manifest's claim.
    """
    # Other numbers of trials are other experiments, even where every single run is the same.
    if len(a) != len(b):
        return False
    return all(
        # Moves were read from the events; a digest of outcomes is a claim and needs equal numbers too.
        run_a.moves == run_b.moves
        or (
            run_a.outcome_digest is not None
            and run_a.outcome_digest == run_b.outcome_digest
            and run_a.metrics == run_b.metrics
        )
        for run_a, run_b in zip(a, b, strict=True)
    )


def _difference(a: Sequence[Run], b: Sequence[Run], name: str) -> float | None:
    """B − A of one metric, of means over trials; None where a side does not have it."""
    mean_a, mean_b = mean_of(a, name), mean_of(b, name)
    # Rounded here once, so that the table, the JSON and the tests see the same number.
    return None if mean_a is None or mean_b is None else round(mean_b - mean_a, 9)


def _divergence(a: Loaded, b: Loaded) -> Divergence | None:
    """The first decision that differs; None where the traces are equal or cannot be read to that point."""
    if a.moves == b.moves:
        return None
    try:
        with open_trace(a.path) as trace_a, open_trace(b.path) as trace_b:
            return first_divergence(trace_a, trace_b)
    except TraceError:
        return None  # the outcome already lists what cannot be read


def _unmatched(task: Task, other_name: str, others: set[Task]) -> str:
    """Why a run has no partner, as exactly as can be told: a person must see what to play again."""
    if task in others:
        return f"its partner in {other_name} cannot be used"
    # From the nearest to the farthest: the message names the one thing that keeps two runs apart.
    same_seed = [other for other in others if other.seed == task.seed and other.scenario == task.scenario]
    if not same_seed:
        return f"seed {task.seed} is not in {other_name}"
    if all(other.scenario_digest != task.scenario_digest for other in same_seed):
        return f"seed {task.seed} in {other_name} has another scenario content"
    if all(other.seats != task.seats for other in same_seed):
        return f"seed {task.seed} in {other_name} has the agent in another seat"
    return f"seed {task.seed} in {other_name} has other opponents"


def _drop(side: SideName, run: Loaded, reason: str, *, lacking: SideName | None = None) -> Dropped:
    """A run that is left out, with its reason; `lacking`: the side that is to blame, by default its own."""
    return Dropped(
        side=side,
        scenario=run.paired_as or run.scenario,
        seed=run.core.seed,
        path=str(run.path),
        reason=reason,
        lacking=lacking or side,
    )
