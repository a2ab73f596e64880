"""One row of a list of traces: what its manifest says at once, and what takes an evaluation and a check.

The same row serves the viewer, `tradefair list`, `Traces.where` and the site.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import orjson
from pydantic import Field

from tradefair.catalog import market_type
from tradefair.contract import TraceError, TradefairError
from tradefair.contract.kernel.players import Seating
from tradefair.evaluation.evaluator import Evaluator, evaluator_of
from tradefair.evaluation.judge.evaluate import Evaluation, evaluate_file
from tradefair.evaluation.origins import is_foreign, origin_of
from tradefair.evaluation.prove.proving import rated_seats
from tradefair.evaluation.prove.verify import Check, verify_file
from tradefair.evaluation.reading import agent_seats, seating_in
from tradefair.evaluation.record import Record
from tradefair.evaluation.verdict.of_trace import verdict_of_file
from tradefair.evaluation.verdict.verdict import ForeignRun, SeatVerdict, Verdict
from tradefair.tracestore import Trace, open_trace
from tradefair.tracestore.locks import held

# Characters of any text in a row, and seats that it names: what a trace says of itself has no bound.
_MAX_TEXT, _MAX_SEATS = 200, 8
# What a stranger's manifest can lead to, in addition to what reading finds.
_DAMAGE = (TraceError, OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)

State = Literal["running", "stopped", "ended", "open", "damaged"]
"""`running`: a process holds the lock; `stopped`: none does, and there is no seal; `open`: nobody can tell."""


class Judged(Record):
    """What takes an evaluation. `score` is that of the seats under test, their mean where there are several;
    `at_stake` is what the first of them could win, null where that is not known.

    `better` is its distance to `reference`, the best one that knows no hidden facts, positive where the seat did
    better. `raised` counts findings of the seats under test, `others` those of no such seat; `modes` names the former.
    `cost_usd_micro` in millionths of a US dollar: null where it is not known, 0 without a model. `check` is what verify
    concluded of all `checked` events, `refused` why tables do not count it, `text` the verdict's. `problem` says why
    there is no outcome. `tools` are those that a foreign run called; its findings are those of all its seats.
    """

    score: float | None = None
    metric: str = ""
    unit: str = ""
    higher_is_better: bool = True
    at_stake: float | None = None
    reference: str = ""
    better: float | None = None
    raised: int | None = None
    others: int | None = None
    modes: list[str] = Field(default=[])
    calls: int | None = None
    model_calls: int | None = None
    cost_usd_micro: int | None = None
    check: str
    checked: int = 0
    refused: str = ""
    head: str = ""
    status: str = ""
    text: str = ""
    problem: str | None = None
    tools: list[str] = Field(default=[])


class Row(Record):
    """One trace. `problem` says why a file cannot be read; `seats` are those under test, `players` what played them.

    `end` is the reason as the trace says it, `ended` as people do. `events` is the number of the last event, of an
    unfinished trace that of the last closure; `changed` and `created` are ISO dates. A `reference` is what episodes are
    measured against. `judged` is null until it was asked for. Of a foreign run `source` is its format, `run` its name
    there, and `passed` its result there: passed, failed, "" where none is stated.
    """

    id: str = ""
    path: str
    bytes: int = 0
    changed: str = ""
    problem: str | None = None
    market: str = ""
    scenario: str = ""
    seed: int | None = None
    seats: list[str] = Field(default=[])
    players: list[str] = Field(default=[])
    created: str = ""
    end: str | None = None
    events: int | None = None
    ended: str = ""
    sealed: bool = False
    seal: str = ""
    state: State = "damaged"
    kind: Literal["episode", "reference"] = "episode"
    source: str = ""
    run: str = ""
    passed: Literal["passed", "failed", ""] = ""
    judged: Judged | None = None


def listed(place: str | Path, **known: Any) -> Row:
    """The row of one trace from its manifest; `known` are fields that the file system gives. Never raises."""
    try:
        with open_trace(place) as trace:
            row = Row.model_validate({"path": str(place), **known, **_facts(trace)})
    except _DAMAGE as error:
        # The reason without the folder: lists show paths relative to theirs.
        said = str(error).replace(str(place), Path(place).name)[:_MAX_TEXT] or repr(error)[:_MAX_TEXT]
        return Row.model_validate({"path": str(place), **known, "problem": said})
    return row.model_copy(update={"state": state_of(place, row)})


def row_of(place: str | Path, *, whole: bool = True) -> Row:
    """The row of one trace, wherever it lies; not `whole`: without its verdict. Never raises."""
    row = listed(place)
    return row.model_copy(update={"judged": judged(place)}) if whole and row.problem is None else row


def state_of(place: str | Path, row: Row) -> State:
    """Whether somebody writes the trace just now, by its writer's lock and never by its age."""
    if row.problem is not None:
        return "damaged"
    if row.sealed:
        return "ended"
    # The stores of other hosts have leases, which no reader can see.
    taken = held(place) if isinstance(place, Path) else None
    return "open" if taken is None else "running" if taken else "stopped"


def judged(place: str | Path, check: Check | None = None, foreign: Evaluator | None = None) -> Judged:
    """Evaluate one trace and re-execute it unless `check` is known; as long as scripted play. Never raises.

    `foreign` diagnoses a run that no rules have made, as in `evaluate_file`.
    """
    check = check or verify_file(place)
    seen: dict[str, Any] = {"check": check.verdict, "checked": check.events, "head": check.head_hash or ""}
    try:
        with open_trace(place) as trace:
            refusal = check.proof.proves(rated_seats(trace.seating()), imports=True)
        seen["refused"] = f"{refusal.reason}{refusal.where}" if refusal else ""
        evaluation = evaluate_file(place, foreign=foreign)
        verdict = verdict_of_file(place, evaluation=evaluation, check=check)
    except _DAMAGE as error:
        return Judged(**seen, problem=str(error).replace(str(place), Path(place).name)[:_MAX_TEXT])
    known: dict[str, Any] = {**seen, "status": verdict.status, "text": verdict.text}
    if verdict.foreign:
        return Judged(**known, **_of_run(verdict, verdict.foreign))
    if evaluation.outcome is None:
        problem = (evaluation.problem or "").replace(str(place), Path(place).name)
        return Judged(**known, problem=problem[:_MAX_TEXT])
    return Judged(**known, **_scored(verdict.seats), **_effort(verdict.seats), **_found(evaluation, verdict))


@cache
def versions_of(market: str) -> str:
    """What a row's figures depend on beside the trace: versions of rules and formulas as they are installed here."""
    try:
        rules = market_type(market).version
    except TradefairError:
        rules = ""
    try:
        return f"{market} {rules} {evaluator_of(market).version}"
    # A stranger's evaluator may fail in any way when it is loaded.
    except Exception:
        return f"{market} {rules}"


def _facts(trace: Trace) -> dict[str, Any]:
    """The fields of a row that the manifest gives. Raises what wrong types raise; `listed` catches it."""
    core: Any = orjson.loads(trace.manifest.core_bytes)
    about, sealed = trace.manifest.about, trace.manifest.sealed
    # Counting events would mean reading the file; seal and closure both store a number.
    head = about.get("head_seq") if sealed else (trace.closed_head() or (None,))[0]
    seed: Any = core["seed"]
    seating = seating_in(trace)
    seats = agent_seats(seating)
    return {
        "market": str(core["market"])[:_MAX_TEXT],
        "scenario": str(core["scenario"].get("id", ""))[:_MAX_TEXT],
        # A browser would round a larger seed, and a rounded seed is worse than none.
        "seed": seed if isinstance(seed, int) and abs(seed) < 2**53 else None,
        "seats": [str(seat)[:_MAX_TEXT] for seat in seats[:_MAX_SEATS]],
        "players": _players(seating, seats),
        "created": str(about.get("created", ""))[:40],
        "end": str(about["end_reason"])[:_MAX_TEXT] if sealed and about.get("end_reason") is not None else None,
        "ended": _ended(str(core["market"]), about.get("end_reason")) if sealed else "",
        "events": head if isinstance(head, int) and head >= 0 else None,
        "sealed": sealed,
        "seal": str(about.get("seal") or "")[:64],
        **_source(trace),
    }


def _source(trace: Trace) -> dict[str, Any]:
    """What the manifest of a foreign run says of its source; nothing for an episode."""
    if not is_foreign(trace.manifest.core):
        return {}
    origin = origin_of(trace)
    result = {True: "passed", False: "failed", None: ""}[origin.passed]
    # That a log is over says nothing of its agent.
    return {"source": origin.format, "run": origin.run, "passed": result, "ended": ""}


def _ended(market: str, reason: object) -> str:
    """An end as people say it: completed, bankrupt, cut: max rounds."""
    kind, _, code = str(reason or "")[:_MAX_TEXT].partition(":")
    evaluator = evaluator_of(market)
    if evaluator.whole_ends and evaluator.ran_its_course(str(reason)):
        return "completed"
    said = (code or kind).replace("_", " ")
    return f"cut: {said}" if kind == "truncated" else said


def _players(seating: Seating, seats: Sequence[str]) -> list[str]:
    """What played the seats under test; without any, whatever is named."""
    shown = dict.fromkeys(seating.players[seat].label for seat in seats or seating.players)
    return [label[:_MAX_TEXT] for label in shown][:_MAX_SEATS]


def _scored(seats: Sequence[SeatVerdict]) -> dict[str, Any]:
    """Score and distance to the best reference; of several seats the mean, and no reference."""
    values = [seat.score.value for seat in seats if seat.score.value is not None]
    if not values:
        return {}
    first = seats[0].score
    known: dict[str, Any] = {"score": fmean(values), "metric": first.title or first.metric, "unit": first.unit}
    known |= {"higher_is_better": first.higher_is_better, "at_stake": seats[0].at_stake}
    beside = [other for other in seats[0].beside if other.value is not None and not other.privileged]
    if len(seats) > 1 or not beside or first.value is None:
        return known
    sign = 1 if first.higher_is_better else -1
    best = max(beside, key=lambda other: sign * (other.value or 0))
    return {**known, "reference": best.name, "better": sign * (first.value - (best.value or 0))}


def _effort(seats: Sequence[SeatVerdict]) -> dict[str, Any]:
    """Calls and cost, summed over the seats under test."""
    if not seats:
        return {}
    models = [seat.effort for seat in seats if seat.effort.model_calls]
    costs = [effort.cost_usd_micro for effort in models]
    return {
        "calls": sum(seat.effort.tool_calls for seat in seats),
        "model_calls": sum(effort.model_calls or 0 for effort in models),
        # One unknown price makes the sum unknown.
        "cost_usd_micro": None if None in costs else sum(cost or 0 for cost in costs),
    }


def _of_run(verdict: Verdict, run: ForeignRun) -> dict[str, Any]:
    """Findings, calls, cost and tools of a foreign run."""
    took = verdict.effort
    return {
        "raised": run.raised,
        "others": 0,
        "modes": list(run.rules),
        "calls": run.calls,
        "model_calls": took.model_calls or 0,
        "cost_usd_micro": took.cost_usd_micro if took.model_calls or took.cost_usd_micro else 0,
        "tools": list(run.tools),
    }


def _found(evaluation: Evaluation, verdict: Verdict) -> dict[str, Any]:
    """Findings of the seats under test, and of all others."""
    raised = evaluation.diagnosis.raised if evaluation.diagnosis else []
    tested = {seat.seat for seat in verdict.seats}
    concerned = [finding.id for finding in raised if tested.intersection(finding.seats)]
    found = len(concerned) if tested else None
    return {"raised": found, "others": len(raised) - len(concerned), "modes": list(dict.fromkeys(concerned))}


def changed_text(changed_ns: int) -> str:
    """Nanoseconds since 1970 as an ISO date."""
    return datetime.fromtimestamp(changed_ns / 1e9, UTC).isoformat(timespec="seconds")
