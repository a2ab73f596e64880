"""What a fork cost: the arms' outcomes side by side, in the market's unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from tradefair.cli.console import Console
from tradefair.cli.tables import figures, names, show_table, show_text
from tradefair.contract import SeatId, TraceError, TradefairError
from tradefair.contract.money import nearest
from tradefair.evaluation.compare.comparison import MIN_PAIRS, Divergence, Metric, Pair, Run
from tradefair.evaluation.compare.divergence import first_divergence
from tradefair.evaluation.compare.judgement import LEVEL, p_text, signed_text
from tradefair.evaluation.compare.numbers import metrics_of
from tradefair.evaluation.compare.runs import Seats, load_run, roles_of, run_of
from tradefair.evaluation.compare.show import decision_text
from tradefair.evaluation.judge.reward import primary_metrics
from tradefair.evaluation.outcome import PrimaryMetric
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.record import Record
from tradefair.evaluation.table import number_text
from tradefair.evaluation.verdict.ledger_text import place_text
from tradefair.runner.fork.fork import Forked
from tradefair.runner.ledger.ledger import ledger_of
from tradefair.tracestore import open_trace

# Characters of the decision's arguments that are shown; a program's source may be pages long.
_MAX_ARGUMENTS = 300


class FutureReport(Record):
    """One continuation: the arms' runs, null where an arm was not played."""

    policy_key: int
    control: Run | None
    kept: Run | None
    fork: Run


class Effect(Record):
    """One metric over all futures, means in its own unit. Costs are positive where the fork did better.

    `decision` = fork − kept: what that decision (or the withheld event) cost; `afterwards` = kept − control: what the
    player that was replaced lost after it; `together` = fork − control. Of lower-is-better metrics the sign is turned.
    Null where an arm is missing. `test`: the numbers of `decision` (else `together`) over 8 or more different futures.
    """

    name: str
    unit: str
    control: float | None
    kept: float | None
    fork: float | None
    decision: float | None
    afterwards: float | None
    together: float | None
    test: Metric | None


class ForkReport(Record):
    """`decision` is the stored command at which the fork leaves its original, `head` the original's head hash.

    `identical_futures`: no policy drew anything, so that further futures say nothing more. `unsound` names arms that
    do not verify; `divergence` is the first decision that differs between control (A) and fork (B). `reconciled` sets
    the cost of this decision next to what a finding of the original says of it.
    """

    original: str
    head: str
    at: int
    round: int
    seat: SeatId | None
    decision: dict[str, Any]
    withheld: bool
    before: str
    after: str
    futures: list[FutureReport]
    effects: list[Effect]
    identical_futures: bool
    divergence: Divergence | None
    remarks: list[str]
    unsound: list[str]
    reconciled: str
    verdict: str


def report_fork(forked: Forked) -> ForkReport:
    """Evaluate and verify every arm. Raises TraceError where one cannot be read.

    Arms are compared in the metrics that the market's evaluator calls primary. `effects` is empty where there are none.
    """
    # The seat that is measured: the new player's, else that of the withheld event.
    seat = forked.seat or forked.decision.get("seat")
    market = _market(forked)
    seats = [seat] if seat is not None else [_only_seat(forked)]
    futures = [
        FutureReport(
            policy_key=future.policy_key,
            control=_run(future.control, seats),
            kept=_run(future.kept, seats),
            fork=run_of(load_run(future.fork), seats),
        )
        for future in forked.futures
    ]
    roles = roles_of([load_run(future.fork) for future in forked.futures], Seats(tuple(seats)))
    effects = [_effect(metric, futures, forked.at) for metric in primary_metrics(market, roles)]
    paths = [path for future in forked.futures for path in (future.control, future.kept, future.fork) if path]
    # Every arm is verified, the copied control too: a cost of unsound traces would mean nothing.
    verdicts = [verify_file(path, seats=False) for path in paths]
    return ForkReport(
        original=str(forked.original),
        head=forked.head,
        at=forked.at,
        round=forked.decision["round"],
        seat=forked.seat,
        decision=dict(forked.decision),
        withheld=forked.withheld,
        before=forked.before,
        after=forked.after,
        futures=futures,
        effects=effects,
        # Equal head hashes are equal traces: no policy that goes on drew anything.
        identical_futures=len(futures) > 1 and len({future.fork.moves for future in futures}) == 1,
        divergence=_divergence(forked),
        remarks=list(forked.remarks),
        # A report is made of unsound arms too, so that a reader sees which; the command's exit code is 1 then.
        unsound=[f"{verdict.path}: {verdict.sentence}" for verdict in verdicts if verdict.proof.rules != "reproduced"],
        reconciled=_reconciled(forked, effects),
        verdict=_verdict(forked, effects),
    )


def show_fork(report: ForkReport) -> None:
    """For people.

    Every figure is one of `report`; texts of the trace are printed without being read as markup.
    """
    console = Console()
    show = partial(show_text, console)
    what = "without" if report.withheld else "before"
    decision = report.decision
    asked = orjson.dumps(decision.get("arguments")).decode()[:_MAX_ARGUMENTS]
    name = f"{decision.get('tool') or decision['event']} {asked if 'arguments' in decision else ''}".rstrip()
    show(f"{report.original}, round {report.round}: {what} event {report.at}, {decision.get('seat')} {name}")
    show(f"control: {report.before} as it was\nfork: {report.after} goes on, same seed, same luck\n")
    titles = ("control", "kept", "fork", "decision", "afterwards", "together")
    rows = [
        [f"{effect.name} ({effect.unit})", *(number_text(getattr(effect, title)) for title in titles)]
        for effect in report.effects
    ]
    if rows:
        show_table(console, [*names(""), *figures(*titles)], rows)
        show("kept: the decision as it was, then as in fork; the last three are costs, negative where it paid")
    for future in report.futures if len(report.futures) > 1 else ():
        shown = ", ".join(f"{name} {number_text(value)}" for name, value in future.fork.metrics.items())
        show(f"  policy key {future.policy_key}: {shown}")
    if report.identical_futures:
        show("all futures are the same: no player that goes on draws anything")
    if report.divergence is not None:
        found = report.divergence
        show(f"\nfirst decision that differs: round {found.round}, {found.seat}: {found.what}")
        show(f"  control  {decision_text(found.a)}\n  fork     {decision_text(found.b)}")
    for remark in report.remarks:
        show(remark, style="yellow")
    for problem in report.unsound:
        show(f"not reproduced: {problem}", style="red")
    # An arm lies in `<folder>/fork/<number>.trace`.
    folder = Path(report.futures[0].fork.path).parent.parent
    show(f"\ntraces in {folder} (control/, kept/, fork/); head of the fork {report.futures[0].fork.head}")
    show(report.verdict, style="bold")
    show(report.reconciled)


def _run(path: Path | None, seats: Sequence[SeatId]) -> Run | None:
    return None if path is None else run_of(load_run(path), seats)


def _effect(metric: PrimaryMetric, futures: Sequence[FutureReport], seed: int) -> Effect:
    control, kept, fork = (_mean([_value(getattr(future, arm), metric) for future in futures]) for arm in _ARMS)
    # A cost is positive where the fork did better, whichever way the metric counts.
    sign = 1 if metric.higher_is_better else -1
    return Effect(
        name=metric.name,
        unit=metric.unit,
        control=control,
        kept=kept,
        fork=fork,
        decision=_minus(fork, kept, sign),
        afterwards=_minus(kept, control, sign),
        together=_minus(fork, control, sign),
        # Against the nearest arm there is: without `kept` the decision cannot be told from what came after it.
        test=_test(metric, futures, "kept" if kept is not None else "control", seed),
    )


_ARMS = ("control", "kept", "fork")


def _test(metric: PrimaryMetric, futures: Sequence[FutureReport], other: str, seed: int) -> Metric | None:
    """fork − other over the futures; the unit of analysis is the future, given the past."""
    pairs: list[Pair] = []
    for future in futures:
        run: Run | None = getattr(future, other)
        if run is None:
            return None
        a, b = _value(run, metric), _value(future.fork, metric)
        # Nine digits, as in `compare`.
        difference = None if a is None or b is None else round(b - a, 9)
        pairs.append(
            Pair(
                seed=seed,
                scenario="",
                a=[run],
                b=[future.fork],
                identical=run.moves == future.fork.moves,
                # The other metrics are left out: this row is of one metric only.
                differences={name: difference if name == metric.name else None for name in run.metrics},
                divergence=None,
            )
        )
    distinct = {(pair.a[0].moves, pair.b[0].moves) for pair in pairs}
    if len(distinct) < MIN_PAIRS:
        return None  # futures without any draw are one observation, however many
    return next(row for row in metrics_of(pairs, [metric]) if row.name == metric.name)


def _value(run: Run | None, metric: PrimaryMetric) -> float | None:
    return None if run is None else run.metrics.get(metric.name)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    # A mean over the futures that happen to have a value would be one of other futures than the rest.
    return round(sum(known) / len(known), 9) if known and len(known) == len(values) else None


def _minus(one: float | None, other: float | None, sign: int) -> float | None:
    # Adding 0.0 turns a negative zero into zero.
    return None if one is None or other is None else round(sign * (one - other), 9) + 0.0


def _verdict(forked: Forked, effects: Sequence[Effect]) -> str:
    """One sentence on the market's first primary metric, with the interval where there are enough futures."""
    if not effects:
        return "the evaluator of this market declares no metric; the arms are there to be looked at"
    # The market's first primary metric is the one that a verdict is about.
    effect = effects[0]
    thing = "the withheld event" if forked.withheld else "that decision"
    parts: list[str] = []
    if effect.decision is not None:
        parts.append(f"{thing} cost {_amount(effect.decision, effect)} under {forked.after}")
        if effect.together is not None:
            parts.append(f"with all that {forked.before} did afterwards {_amount(effect.together, effect)}")
    elif effect.together is not None:
        parts.append(f"going on from there instead was worth {_amount(effect.together, effect)} against the original")
    else:
        return f"{effect.name} cannot be compared: an arm is missing or has no such number"
    test = effect.test
    if test is not None and test.interval is not None:
        if test.p is not None and test.p > LEVEL:
            parts.insert(0, "no difference detectable")
        low, high = map(signed_text, test.interval)
        other = "control" if effect.decision is None else "kept"
        p = f"sign-flip p {p_text(test.p)} ({test.p_method}, {test.n} futures)"
        parts.append(f"95 % interval of fork − {other} {low} to {high}, {p}")
    elif len(forked.futures) > 1:
        parts.append(f"no test: fewer than {MIN_PAIRS} different futures")
    return "; ".join(parts) + "."


def _reconciled(forked: Forked, effects: Sequence[Effect]) -> str:
    """What the ledger says of the turn of this decision, and why a replay by another player need not say the same."""
    seat = forked.decision.get("seat")
    try:
        ledger = ledger_of(forked.original, seat or _only_seat(forked))
    except TradefairError as error:
        return f"There is no ledger of the original: {error}."
    turn = next(iter(ledger.turns_of([forked.at])), None)
    if turn is None:
        return f"Event {forked.at} is no decision of {ledger.seat}."
    where = place_text(ledger, turn)
    verb, lost = ("lost", turn.lost) if turn.lost >= 0 else ("gained", -turn.lost)
    said = f"By its ledger {where} {verb} {number_text(lost)} {ledger.unit} against {', '.join(ledger.of)}"
    return f"{said}; this replay went on with {forked.after}." if effects else f"{said}."


def _amount(value: float, effect: Effect) -> str:
    """An amount with two decimals, its unit and the metric's name."""
    # A real minus sign, as in the other tables.
    return f"{nearest(value, 2):,.2f}".replace("-", "−") + f" {effect.unit} ({effect.name})"


def _market(forked: Forked) -> str:
    with open_trace(forked.original) as trace:
        return trace.manifest.core.market


def _only_seat(forked: Forked) -> SeatId:
    """The seat of an original with one seat. Raises TraceError where several could be meant."""
    with open_trace(forked.original) as trace:
        seats: Mapping[str, Any] = {seat.id: seat for seat in trace.manifest.core.seats}
    if len(seats) != 1:
        raise TraceError("no seat decided the withheld event: say with --seat whose outcome counts")
    return next(iter(seats))


def _divergence(forked: Forked) -> Divergence | None:
    with open_trace(forked.original) as control, open_trace(forked.futures[0].fork) as fork:
        return first_divergence(control, fork)
