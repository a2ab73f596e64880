"""The verdict on runs that no rules have made: what the source says, what was found by step, and what holds.

Nothing here speaks of luck, rivals, seeds or money won: such a run has none.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from tradefair.contract.text import clean_line
from tradefair.evaluation.judge.evaluate import Evaluation
from tradefair.evaluation.modes.diagnosis import Finding
from tradefair.evaluation.origins import ADD_NOT_UP, ADDS_NOT_UP, origin_of, step_at, tally
from tradefair.evaluation.outcome import Outcome
from tradefair.evaluation.read.accounts import Account, SeatAccount
from tradefair.evaluation.verdict.amounts import count, name, number
from tradefair.evaluation.verdict.together import same
from tradefair.evaluation.verdict.verdict import (
    Effort,
    ForeignRun,
    FoundAt,
    NextStep,
    Reproduced,
    Status,
    Trouble,
    Verdict,
)
from tradefair.evaluation.verdict.words import RESULTS, check, effort, fitted, told_at, total
from tradefair.tracestore import Trace
from tradefair.tracestore.locks import held

HOLDS = "chain holds; not re-executable: no rules"
_HELD = frozenset({"intact", "foreign"})
_MAX_CASES, _MAX_TOOLS = 20, 100
_NO_MAP = "what each action should rest on: a draft for you to correct"


def verdict_of_run(
    trace: Trace,
    outcome: Outcome[Any, Any],
    evaluation: Evaluation,
    counted: Account,
    reproduced: Reproduced,
    trouble: Trouble | None,
) -> Verdict:
    """The verdict on one opened foreign trace; `evaluation` is its own, `trouble` what is wrong with it as such."""
    origin, seen = origin_of(trace), tally(trace)
    findings = evaluation.diagnosis.findings if evaluation.diagnosis else []
    raised = evaluation.diagnosis.raised if evaluation.diagnosis else []
    run = ForeignRun(
        how="recorded" if origin.how == "recorded" else "imported",
        format=origin.format,
        file=origin.file,
        run=origin.run or trace.path.stem,
        passed=origin.passed,
        steps=seen.steps,
        messages=seen.messages,
        calls=seen.calls,
        unanswered=seen.unanswered,
        refused=seen.refused,
        raised=len(raised),
        checked=sum(finding.checked for finding in findings),
        unchecked=sum(not finding.checked for finding in findings),
        rules=tuple(dict.fromkeys(finding.id for finding in raised)),
        tools=seen.tools[:_MAX_TOOLS],
        found=tuple(islice(_cases(trace, raised), _MAX_CASES)),
        reconciled=origin.reconciled,
    )
    verdict = Verdict(
        status="unsound" if trouble else _status(outcome, trace),
        trouble=trouble,
        market=outcome.market,
        scenario=outcome.scenario,
        effort=total([_effort(took) for took in counted.seats.values()]),
        reproduced=reproduced,
        versions={"rules": outcome.rules_version, "evaluator": outcome.evaluator_version},
        foreign=run,
        next=_steps(evaluation.path, mapped=any(finding.id.startswith("map.") for finding in findings)),
    )
    return verdict.saying(sentences_of_run(verdict, run))


def labelled(verdict: Verdict, passed: bool | None) -> Verdict:
    """The verdict on a foreign trace with a person's label in place of its source's result; None: no label."""
    if verdict.foreign is None or passed is None:
        return verdict
    run = verdict.foreign.model_copy(update={"passed": passed, "labelled": True})
    told = verdict.model_copy(update={"foreign": run})
    return told.saying(sentences_of_run(told, run))


def sentences_of_run(verdict: Verdict, run: ForeignRun) -> tuple[str, ...]:
    """Source and result, what was found, what it took and what holds."""
    trouble = [verdict.trouble.text] if verdict.trouble else []
    trouble += [] if run.reconciled else [f"This run {ADDS_NOT_UP}."]
    where = f" of {name(run.file)}" if run.file else ""
    live = ", still recorded" if verdict.status == "running" else ""
    head = f"Run {name(run.run)}{where} ({', '.join(filter(None, [run.format, run.how]))}{live}): {_result(run)}; "
    head += f"{count(run.steps, 'step')}, {answered(run)}"
    return tuple(map(fitted, [*trouble, f"{head}.", _found(run), f"{effort((), verdict)}; {_holds(verdict)}."]))


def answered(run: ForeignRun) -> str:
    """How many calls were answered, and how many of the answers refused them."""
    text = f"{number(run.calls - run.unanswered)} of {count(run.calls, 'call')} answered"
    return text + (f", {number(run.refused)} refused" if run.refused else "")


def series_of_runs(verdicts: Sequence[Verdict], runs: Sequence[ForeignRun]) -> Verdict:
    """The verdict on several foreign traces, whatever their sources."""
    whole = ForeignRun(
        how="recorded" if all(run.how == "recorded" for run in runs) else "imported",
        format=same([run.format for run in runs], "several formats"),
        file=same([run.file for run in runs], ""),
        run="",
        runs=len(runs),
        steps=sum(run.steps for run in runs),
        messages=sum(run.messages for run in runs),
        calls=sum(run.calls for run in runs),
        unanswered=sum(run.unanswered for run in runs),
        refused=sum(run.refused for run in runs),
        raised=sum(run.raised for run in runs),
        reconciled=not [*_not_adding_up(runs)],
    )
    trouble = next((verdict.trouble for verdict in verdicts if verdict.trouble), None)
    holding = sum(verdict.reproduced.state in _HELD for verdict in verdicts)
    verdict = Verdict(
        kind="series",
        status="unsound" if trouble else "played",
        trouble=trouble,
        market=verdicts[0].market,
        scenario="",
        effort=total([verdict.effort for verdict in verdicts]),
        reproduced=Reproduced(
            state="foreign", events=sum(verdict.reproduced.events for verdict in verdicts), traces=len(runs)
        ),
        versions=verdicts[0].versions,
        foreign=whole,
    )
    source = ", ".join(filter(None, [name(whole.file) if whole.file else "", whole.format, whole.how]))
    chains = "all chains hold" if holding == len(runs) else f"{number(holding)} of {count(len(runs), 'chain')} hold"
    said = [
        *([trouble.text] if trouble else []),
        *_not_adding_up(runs),
        f"{count(len(runs), 'run')} ({source}): {_results(runs)}; {answered(whole)}.",
        rates(runs),
        f"{effort((), verdict)}; {chains}; not re-executable: no rules.",
    ]
    return verdict.saying(map(fitted, said))


def _not_adding_up(runs: Sequence[ForeignRun]) -> Iterator[str]:
    if wrong := sum(not run.reconciled for run in runs):
        yield f"Of {count(len(runs), 'run')}, {number(wrong)} {ADD_NOT_UP}."


def rates(runs: Sequence[ForeignRun]) -> str:
    """In how many failed and passed runs something was found, and which rules say so most often."""
    if not any(run.raised for run in runs):
        return f"Nothing was found in any of {count(len(runs), 'run')}."
    groups = {text: [run for run in runs if run.passed is passed] for passed, text in RESULTS.items()}
    parts = [f"{sum(run.raised > 0 for run in own)} of {len(own)} {what}" for what, own in groups.items() if own]
    rules = Counter(rule for run in runs for rule in run.rules)
    most = ", ".join(f"{name(rule)} ({number(times)})" for rule, times in rules.most_common(3))
    tail = "" if groups["passed"] else " No run is said to have passed: how often this is wrong is not known."
    return f"Runs with findings: {', '.join(parts)}; most often {most}.{tail}"


def _cases(trace: Trace, raised: Sequence[Finding]) -> Iterator[FoundAt]:
    """The first case of every finding, then the second ones, and so on: a screen names each rule."""
    cases = [[(finding.id, case) for case in finding.cases] for finding in raised]
    for rule, case in (pair for round_ in zip_longest(*cases) for pair in round_ if pair):
        yield FoundAt(rule=rule, seq=case.seq, step=step_at(trace, case.seq), because=_plain(case.because))


def _plain(because: str) -> str:
    """A case's sentence without its round: such a run has one."""
    return clean_line(because.removeprefix("round 1: "))


def _status(outcome: Outcome[Any, Any], trace: Trace) -> Status:
    if outcome.end_reason:
        return "played"
    return "running" if not trace.path.is_file() or held(trace.path) is not False else "stopped"


def _effort(took: SeatAccount) -> Effort:
    tokens = [took.input_tokens, took.output_tokens]
    return Effort(
        model_calls=took.model_calls or None,
        tool_calls=took.calls,
        refused=took.refused,
        tokens=None if None in tokens else sum(known for known in tokens if known),
        estimated=took.usage_estimated,
        cost_usd_micro=took.cost_usd_micro,
    )


def _result(run: ForeignRun) -> str:
    if run.passed is None:
        return "its source states no result"
    return f"{RESULTS[run.passed]}, as its {'label' if run.labelled else 'source'} says"


def _results(runs: Sequence[ForeignRun]) -> str:
    counted = Counter(run.passed for run in runs)
    return ", ".join(f"{number(counted[key])} {text}" for key, text in RESULTS.items() if counted[key])


def _found(run: ForeignRun) -> str:
    if not run.raised:
        unchecked = f", {number(run.unchecked)} had nothing to check" if run.unchecked else ""
        return f"Nothing was found: {number(run.checked)} rules and modes were checked{unchecked}."
    text = count(run.raised, "finding")
    return f"{text}; first, {told_at(run.found[0])}" if run.found else f"{text}: {', '.join(run.rules)}."


def _holds(verdict: Verdict) -> str:
    known = verdict.reproduced
    return f"{count(known.events, 'event')}, {HOLDS}" if known.state in _HELD else check(known)


def _steps(place: str, *, mapped: bool) -> tuple[NextStep, ...]:
    path, folder = (shlex.quote(clean_line(name)) for name in (place, str(Path(place).parent)))
    steps = [NextStep(command=f"tradefair report {path} --open", why="the transcript, with findings at their steps")]
    if not mapped:
        # Of one run nothing can be drafted: its neighbours are asked too.
        steps.append(NextStep(command=f"tradefair audit {folder} --init map.toml", why=_NO_MAP))
    return tuple(steps)
