"""From a trace to its verdict: what `evaluate`, `account`, the diagnosis and the check found, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tradefair.evaluation.accounts import Account, account
from tradefair.evaluation.evaluate import Evaluation, evaluate_file
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.outcome import Outcome
from tradefair.evaluation.verdict.verdict import Beside, Effort, Reproduced, Score, SeatVerdict, Verdict
from tradefair.evaluation.verify import Check
from tradefair.tracestore import Trace, open_trace


def verdict_of(
    trace: Trace,
    *,
    evaluation: Evaluation,
    counted: Account | None = None,
    check: Check | None = None,
    references: Mapping[str, Outcome[Any, Any]] | None = None,
) -> Verdict:
    """The verdict on an opened trace. `references` are outcomes by label, of other players in the agent's seat.

    Computes no figure of its own. Never raises for what the trace holds; without an outcome the text says why.
    """
    reproduced = (
        Reproduced()
        if check is None
        else Reproduced(state=check.verdict, events=check.events, seq=check.seq, copied=sum(check.copied.values()))
    )
    outcome = evaluation.outcome
    if outcome is None:
        said = evaluation.problem or "nothing could be read"
        return Verdict(status="failed", market="", scenario="", reproduced=reproduced, sentences=(said,), text=said)
    metric = next(iter(evaluator_of(outcome.market).primary_metrics), None)
    counted = counted or account(trace)
    seats: list[SeatVerdict] = []
    for seat in trace.seating().compared:
        result = outcome.seats[seat]

        def score(of: Any) -> float | None:
            return getattr(of, metric.name, None) if metric else None

        beside = [Beside(name=name, value=score(other.seats[seat])) for name, other in (references or {}).items()]
        name, unit = (metric.name, metric.unit) if metric else ("", "")
        took = counted.seats[seat]
        seats.append(
            SeatVerdict(
                seat=seat,
                role=result.role,
                player=result.label or "agent",
                kind="unknown",
                score=Score(metric=name, title=name, value=score(result), unit=unit),
                beside=tuple(beside),
                effort=Effort(model_calls=took.model_calls, tool_calls=took.calls, refused=took.refused),
            )
        )
    text = f"{len(seats)} seats under test"
    return Verdict(
        status="played",
        market=outcome.market,
        scenario=outcome.scenario,
        seeds=() if outcome.seed is None else (outcome.seed,),
        seats=tuple(seats),
        reproduced=reproduced,
        sentences=(text,),
        text=text,
        versions={"rules": outcome.rules_version, "evaluator": outcome.evaluator_version},
    )


def verdict_of_file(path: str | Path, *, check: Check | None = None) -> Verdict:
    """As `verdict_of` for a file, with the references that lie beside it."""
    evaluation = evaluate_file(path)
    with open_trace(path) as trace:
        return verdict_of(trace, evaluation=evaluation, check=check)
