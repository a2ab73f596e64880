"""From a trace to its verdict: what `evaluate`, `account`, the diagnosis and the check found, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple, TypeVar

import orjson

from tradefair.contract import SeatId, TraceError
from tradefair.contract.kernel.players import PERSON, Player, Seating
from tradefair.contract.text import clean_line
from tradefair.evaluation.evaluator import Evaluator, evaluator_of
from tradefair.evaluation.figures import figure_of
from tradefair.evaluation.headline import Block, headline_of
from tradefair.evaluation.judge.evaluate import Evaluation, evaluate_file
from tradefair.evaluation.judge.reward import reward_metric
from tradefair.evaluation.ledger import Ledger, LedgerTurn
from tradefair.evaluation.modes.base_rates import as_shipped
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.evaluation.origins import is_foreign
from tradefair.evaluation.outcome import ON_EVERY_SEAT, Outcome, PrimaryMetric
from tradefair.evaluation.phrases import SCORED, TOGETHER, phrases_for
from tradefair.evaluation.prove.verify import Check
from tradefair.evaluation.read.accounts import Account, SeatAccount, account
from tradefair.evaluation.reading import PersonMoves, agent_seats, imported, seating_in
from tradefair.evaluation.verdict.amounts import amount, did, name, over
from tradefair.evaluation.verdict.beside import best_first, better_policy, privileged_policies, references_beside
from tradefair.evaluation.verdict.steps import steps_of
from tradefair.evaluation.verdict.together import same, together_of
from tradefair.evaluation.verdict.troubles import Stage, stopped, trouble_of, unsound
from tradefair.evaluation.verdict.verdict import (
    Beside,
    Effort,
    Mistake,
    Reproduced,
    Score,
    SeatKind,
    SeatVerdict,
    Status,
    Trouble,
    Verdict,
)
from tradefair.evaluation.verdict.words import IDLE, INSTEAD, sentences_of, total, where
from tradefair.evaluation.wings import of_wing
from tradefair.tracestore import Trace, is_store, open_trace
from tradefair.tracestore.locks import held

T = TypeVar("T")

_UNSOUND = frozenset({"diverged", "damaged", "truncated", "not_a_trace"})
_PREFIXES = (ON_EVERY_SEAT, "policy:")
_LENGTHS = ("rounds", "horizon_days", "max_rounds")
"""Names by which scenarios say how long they are."""
_BEYOND = 1.0
"""Lengths of the scale between two references that an episode may lie beyond either."""


def verdict_of(
    trace: Trace,
    *,
    evaluation: Evaluation,
    counted: Account | None = None,
    check: Check | None = None,
    references: Mapping[str, Outcome[Any, Any]] | None = None,
) -> Verdict:
    """The verdict on an opened trace. `references` are outcomes by name, of other players in the agent's seat.

    `references` that are null were not looked for, and nothing is said of them. Computes no figure of its own. Never
    raises for what the trace holds; without an outcome the text says why.
    """
    counted = counted or account(trace)
    reproduced = _reproduced(check, counted, evaluation)
    outcome = evaluation.outcome
    if outcome is None:
        return _unread(evaluation, reproduced)
    if is_foreign(trace.manifest.core):
        of_run = of_wing("foreign.of_runs:verdict_of_run")
        return of_run(trace, outcome, evaluation, counted, reproduced, _whole(evaluation, check))
    evaluator, seating = evaluator_of(outcome.market), seating_in(trace)
    ledgers = evaluation.ledgers
    read = _Read(
        trace, seating, evaluator, outcome, evaluation.diagnosis, counted, references, ledgers, evaluation.no_ledger
    )
    seats = tuple(read.seat(seat) for seat in read.seats)
    verdict = Verdict(
        status="played",
        market=outcome.market,
        scenario=outcome.scenario,
        seeds=() if outcome.seed is None else (outcome.seed,),
        seats=seats,
        together=together_of(seats),
        figure=None if read.seats else read.figure(),
        effort=total([read.effort(seat) for seat in read.seats or counted.seats]),
        reproduced=reproduced,
        versions={"rules": outcome.rules_version, "evaluator": outcome.evaluator_version},
        world=_safely(lambda: evaluator.world(trace.manifest.core), ""),
    )
    return worded(_judged(verdict, read, _whole(evaluation, check), evaluation.path))


def _judged(verdict: Verdict, read: _Read, whole: Trouble | None, place: str) -> Verdict:
    """The verdict with its troubles, status and next steps; `whole` is what is wrong with the trace as such."""
    stage = read.stage
    troubles = [trouble_of(seat, read.counted.seats[seat.seat], stage, where(seat, verdict)) for seat in verdict.seats]
    seats = [
        seat.model_copy(update={"trouble": trouble}) for seat, trouble in zip(verdict.seats, troubles, strict=True)
    ]
    trouble = whole or _first(seats) or (None if seats else stopped(stage))
    status = _status(trouble, seats, stage, read)
    better = better_policy(read.evaluator, seats[0].role) if seats else None
    steps = steps_of(place, status, seats, trouble, better, ended=stage.ended)
    return verdict.model_copy(update={"status": status, "trouble": trouble, "seats": tuple(seats), "next": steps})


def verdict_of_file(path: str | Path, *, check: Check | None = None, evaluation: Evaluation | None = None) -> Verdict:
    """As `verdict_of` for a file or a stored trace, with the references that lie beside it. Never raises.

    `evaluation` is the file's, where it has been made already.
    """
    evaluation = evaluation or evaluate_file(path)
    try:
        with open_trace(path) as trace:
            references = None if is_store(str(path)) else references_beside(path)
            return verdict_of(trace, evaluation=evaluation, check=check, references=references)
    except TraceError as error:
        return _unread(evaluation._replace(outcome=None, problem=evaluation.problem or str(error)), Reproduced())


def worded(verdict: Verdict) -> Verdict:
    """The verdict with its sentences."""
    return verdict.saying(sentences_of(verdict))


def _unread(evaluation: Evaluation, reproduced: Reproduced) -> Verdict:
    why = (evaluation.problem or "nothing could be read").removeprefix(f"{evaluation.path}: ")
    trouble = Trouble(kind="unread", text=f"The trace cannot be read: {clean_line(why).rstrip('.')}.", exit=1)
    return worded(Verdict(status="failed", trouble=trouble, market="", scenario="", reproduced=reproduced))


def _reproduced(check: Check | None, counted: Account, evaluation: Evaluation) -> Reproduced:
    if check is None:
        # The evaluation has followed the chain, and re-executed nothing.
        whole = evaluation.head_hash is not None and evaluation.unsound is None
        return Reproduced(state="intact" if whole else "not_checked", events=counted.events)
    if check.verdict == "reproduced" and counted.end_reason is None:
        return Reproduced(state="up_to", events=counted.events, seq=check.events)
    return Reproduced(state=check.verdict, events=check.events, seq=check.seq, copied=sum(check.copied.values()))


def _whole(evaluation: Evaluation, check: Check | None) -> Trouble | None:
    """What is wrong with the trace as such."""
    if check is not None and check.verdict in _UNSOUND:
        return unsound(check.sentence)
    return unsound(evaluation.unsound) if check is None and evaluation.unsound else None


def _first(seats: Sequence[SeatVerdict]) -> Trouble | None:
    """The trouble that stands first: one that replaces a score before those that are added to it."""
    troubles = [seat.trouble for seat in seats if seat.trouble]
    return next((trouble for trouble in troubles if trouble.kind in INSTEAD), troubles[0] if troubles else None)


def _status(trouble: Trouble | None, seats: Sequence[SeatVerdict], stage: Stage, read: _Read) -> Status:
    if trouble and trouble.kind == "unsound":
        return "unsound"
    if trouble and trouble.kind == "provider_failed":
        return "failed"
    if not stage.ended and read.written:
        return "running"
    if seats and all(seat.trouble and seat.trouble.kind in IDLE for seat in seats):
        return "idle"
    return "stopped" if stage.cut else "played"


class _Read(NamedTuple):
    """All that was read of one trace."""

    trace: Trace
    seating: Seating
    evaluator: Evaluator
    outcome: Outcome[Any, Any]
    diagnosis: Diagnosis | None
    counted: Account
    references: Mapping[str, Outcome[Any, Any]] | None
    ledgers: Mapping[SeatId, Ledger] = {}
    no_ledger: str = ""

    @property
    def seats(self) -> list[SeatId]:
        """The seats under test that have an outcome."""
        return [seat for seat in agent_seats(self.seating) if seat in self.outcome.seats and seat in self.counted.seats]

    @property
    def written(self) -> bool:
        """Whether a process writes this trace now; True where that cannot be known."""
        # A stored trace has no file beside which a lock could lie.
        return not self.trace.path.is_file() or held(self.trace.path) is not False

    @property
    def stage(self) -> Stage:
        """How far the episode came."""
        outcome, core = self.outcome, self.trace.manifest.core
        reason = outcome.end_reason or ""
        lengths = (core.scenario.get(field) for field in _LENGTHS)
        rounds = next((length for length in lengths if isinstance(length, int)), None)
        cut = "" if reason.startswith("terminated:") else clean_line(reason.partition(":")[2]).replace("_", " ")
        if not reason and not self.written:
            cut = "it has not ended"
        roles = [outcome.seats[seat].role for seat in self.seats]
        words = phrases_for(self.evaluator.phrases, same(roles, ""))
        return Stage(
            outcome.rounds_closed, rounds, bool(reason), cut, words.get("round", "round"), imported(self.seating)
        )

    def seat(self, seat: SeatId) -> SeatVerdict:
        """The verdict on one seat, without its trouble."""
        outcome, role = self.outcome, self.outcome.seats[seat].role
        others = {label: found for label, found in (self.references or {}).items() if seat in found.seats}
        rows = {label: found for label, found in others.items() if not label.startswith(ON_EVERY_SEAT)}
        metric = self.metric(role)
        value = _value(outcome.seats[seat], metric.name)
        player = self.seating.players.get(seat)
        took = self.counted.seats[seat]
        words = phrases_for(self.evaluator.phrases, role)
        score = self._score(metric, value, words)
        relative = _safely(lambda: self._relative(seat, others), {})
        word = words.get("round", "round")
        verb, shown = did(score, value, score.unit)
        shown += over(score, outcome.rounds_closed, word)
        figures = _Figures(self, seat, {"verb": verb, "value": shown}, relative, score.unit)
        headline, between = self._headline(value, rows, seat, metric)
        judged, ledger = self._judged(seat), self.ledgers.get(seat)
        return SeatVerdict(
            seat=seat,
            role=role,
            player=clean_line((player.label if player else None) or outcome.seats[seat].label or "agent"),
            kind=kind_of(player, took, foreign=imported(self.seating)),
            score=score.model_copy(update={"said": figures.said(words), "figures": figures.named}),
            headline=headline,
            between=between,
            share=_number(figures.raw(words["part"])) if "part" in words else None,
            share_of=words.get("part_of", ""),
            round_word=word,
            beside=best_first(self._beside(rows, seat, metric), higher_is_better=metric.higher_is_better),
            referenced=self.references is not None,
            at_stake=self._at_stake(seat, [outcome, *rows.values()], metric),
            rounds=outcome.rounds_closed,
            lapsed=took.lapsed_rounds,
            mistake=self._mistake(seat),
            gap=ledger.gap if ledger else None,
            reachable=ledger.reachable if ledger else None,
            best_known=ledger.of if ledger else (),
            no_ledger="" if ledger else clean_line(self.no_ledger),
            because=self._because(seat),
            ledger=ledger,
            raised=sum(finding.raised for finding in judged),
            checked=sum(finding.checked for finding in judged),
            unchecked=sum(not finding.checked for finding in judged),
            effort=self.effort(seat),
            acted=took.calls > took.refused,
            person_moves=_two_minds(player, outcome.seats[seat].person_moves),
        )

    def _score(self, metric: PrimaryMetric, value: float | None, words: Mapping[str, str]) -> Score:
        figure = _safely(lambda: figure_of(self.outcome.market, metric.name), None)
        return Score(
            metric=metric.name,
            title=self._title(metric.name),
            value=value,
            unit=figure.unit if figure else metric.unit,
            aggregation=figure.aggregation if figure else "",
            higher_is_better=metric.higher_is_better,
            verb=words["verb"],
            loss=words["loss"],
            together=words.get(TOGETHER, ""),
        )

    def metric(self, role: str) -> PrimaryMetric:
        """The primary metric of seats in this role; a nameless one where the market declares none."""
        return reward_metric(self.evaluator.market, {role}) or PrimaryMetric(name="", unit="")

    def effort(self, seat: SeatId) -> Effort:
        """What a seat took."""
        took = self.counted.seats[seat]
        tokens = [took.input_tokens, took.output_tokens]
        return Effort(
            model_calls=took.model_calls or None,
            replies_without_call=sum(took.silent.values()),
            malformed_calls=took.invalid_calls,
            unknown_tools=sum(took.unknown_tools.values()),
            tool_calls=took.calls,
            refused=took.refused,
            tokens=None if None in tokens else sum(count for count in tokens if count),
            estimated=took.usage_estimated,
            cost_usd_micro=took.cost_usd_micro,
            seconds=None if took.model_seconds is None else round(took.model_seconds, 3),
        )

    def figure(self) -> Score | None:
        """The market's first figure that is known."""
        for field in self.evaluator.market_columns:
            value = _value(self.outcome.market_outcome, field)
            if value is not None:
                return Score(metric=field, title=self._title(field, of_market=True), value=value, unit="")
        return None

    def _title(self, field: str, *, of_market: bool = False) -> str:
        figure = _safely(lambda: figure_of(self.outcome.market, field, "market" if of_market else "seat"), None)
        return figure.title if figure else field.replace("_", " ")

    def _relative(self, seat: SeatId, others: Mapping[str, Outcome[Any, Any]]) -> Mapping[str, float | None]:
        # The empty label is the trace's own: no file has it.
        labels = {label if label.startswith(_PREFIXES) else f"policy:{label}": found for label, found in others.items()}
        return self.evaluator.relative(seat, {"": self.outcome, **labels}).get("", {})

    def _beside(self, rows: Mapping[str, Outcome[Any, Any]], seat: SeatId, metric: PrimaryMetric) -> Iterator[Beside]:
        knowing = privileged_policies(self.trace.manifest.core)
        for label, found in rows.items():
            policy, value = label.removeprefix("policy:"), _value(found.seats[seat], metric.name)
            yield Beside(name=clean_line(policy), value=value, privileged=policy.partition("(")[0] in knowing)

    def _headline(
        self, value: float | None, rows: Mapping[str, Outcome[Any, Any]], seat: SeatId, metric: PrimaryMetric
    ) -> tuple[float | None, tuple[str, ...]]:
        """The place of one episode between the headline's references, where both were played on this preset."""
        declared = self.evaluator.headline
        if declared is None or declared.metric != metric.name:
            return None, ()
        if not as_shipped(self.trace.manifest.core, declared.preset):
            return None, ()
        ends = [
            _value(rows[label].seats[seat], metric.name)
            for policy in (declared.naive, declared.best)
            for label in (policy, f"policy:{policy}")
            if label in rows
        ]
        if value is None or len(ends) != 2 or ends[0] is None or ends[1] is None:
            return None, ()
        # On some seeds the naive one does better: a scale that runs backwards would praise the worst.
        if (ends[1] - ends[0]) * (1 if metric.higher_is_better else -1) <= 0:
            return None, ()
        figure = headline_of(declared, {self.outcome.seed or 0: Block(value, ends[0], ends[1])})
        # Far beyond both ends the two nearly tie on this seed: their distance is no measure of it.
        if figure.value is None or not -_BEYOND <= figure.value <= 1 + _BEYOND:
            return None, ()
        return figure.value, (declared.naive, declared.best)

    def _at_stake(self, seat: SeatId, outcomes: Sequence[Outcome[Any, Any]], metric: PrimaryMetric) -> float | None:
        """What the seat could win: the most by any of these episodes, and no less than what somebody won."""
        stakes = [_safely(lambda: _number(self.evaluator.at_stake(found, seat)), None) for found in outcomes]  # noqa: B023
        known = [stake for stake in stakes if stake is not None]
        if len(known) < len(stakes):
            return None
        won = [_value(found.seats[seat], metric.name) or 0.0 for found in outcomes]
        return max(*known, *won, 0.0)

    def _judged(self, seat: SeatId) -> list[Finding]:
        findings = self.diagnosis.findings if self.diagnosis else []
        return [finding for finding in findings if seat in finding.seats]

    def _mistake(self, seat: SeatId) -> Mistake | None:
        """The finding of this seat to read first, by its first case."""
        raised = self.diagnosis.raised if self.diagnosis else []
        finding = next((finding for finding in raised if seat in finding.seats), None)
        if finding is None:
            return None
        case, rate = finding.cases[0] if finding.cases else None, finding.base_rate
        ledger = self.ledgers.get(seat)
        return Mistake(
            mode=finding.id,
            seat=seat,
            seq=case.seq if case else 0,
            round=case.round if case else 0,
            because=clean_line(case.because if case else finding.says),
            lost=finding.lost,
            turns=len(finding.turns),
            agreed=ledger is None or ledger.agreed(finding.turns),
            unit=ledger.unit if ledger else "",
            protocol=finding.protocol,
            count=max(finding.count, 1),
            raised=rate.raised if rate else None,
            of=rate.of if rate else None,
        )

    def _because(self, seat: SeatId) -> str:
        """What the first case of a finding in the costliest turn says; "" where none says what made the turn cost.

        A case may cite a call that the best policy makes as well, such as the end of a day without a look: next to
        calls that it does not make, that is not where the loss comes from.
        """
        ledger = self.ledgers.get(seat)
        turn = ledger.costliest if ledger else None
        if turn is None or self.diagnosis is None:
            return ""
        cases = (case for finding in self.diagnosis.raised if seat in finding.seats for case in finding.cases)
        says = (clean_line(case.because) for case in cases if case.seq in turn.seqs and self._apart(turn, case.seq))
        return next(says, "")

    def _apart(self, turn: LedgerTurn, seq: int) -> bool:
        """Whether an event of a turn may be what the best policy did otherwise."""
        would = turn.would or ()
        if all(action in would for action in turn.did):
            return True
        event = orjson.loads(next(self.trace.events(seq - 1)).body)
        return "tool" not in event or (event["tool"], event["arguments"]) not in would


def _two_minds(player: Player | None, moves: PersonMoves | None) -> PersonMoves | None:
    """A person's part of a seat's moves; None where there is none, or where the seat is a person's alone."""
    alone = player is not None and player.agent is not None and player.agent.framework == PERSON
    return None if moves is None or (alone and moves.clicked == moves.of) else moves


def kind_of(player: Player | None, took: SeatAccount, *, foreign: bool) -> SeatKind:
    """Who decides for a seat: a script, also behind a model's interface; a model; a person; a client from outside."""
    if player is None or foreign:
        return "unknown"
    agent = player.agent
    if player.policy is not None or (agent and (agent.model or "").lstrip().startswith("policy:")):
        return "script"
    if (agent and agent.framework == PERSON) or 2 * took.person_calls > took.calls:
        return "person"
    if took.model_calls or (agent and (agent.model or agent.replay)):
        return "model"
    return "outside" if agent is None or agent.framework == "external" else "unknown"


class _Figures(dict[str, str]):
    """What a market's phrases may name, by placeholder, as text."""

    def __init__(
        self, read: _Read, seat: SeatId, words: Mapping[str, str], relative: Mapping[str, float | None], unit: str
    ) -> None:
        super().__init__(words)
        self._unit = unit
        self._read = read
        self._seat = seat
        self._relative = relative
        self.named: dict[str, float] = {}
        """Numbers that a phrase has named so far, by placeholder: what is told has a field too."""

    def raw(self, field: str) -> object:
        """The value of a field: of the seat, of what it has beside references, of the episode."""
        result = self._read.outcome.seats[self._seat]
        for source in (result, self._read.outcome):
            if hasattr(source, field):
                return getattr(source, field)
        return self._relative.get(field)

    def said(self, words: Mapping[str, str]) -> str:
        """The phrase of the score: one whose condition holds before the usual one."""
        chosen = words[SCORED]
        for key, phrase in words.items():
            field, _, value = key.removeprefix(f"{SCORED}:").partition("=")
            if key.startswith(f"{SCORED}:") and str(self.raw(field)) == value:
                chosen = phrase
        return clean_line(Formatter().vformat(chosen, (), self))

    def __missing__(self, field: str) -> str:
        found = self._found(field)
        as_number = _number(found)
        if as_number is None:
            return "unknown" if found is None else name(str(found))
        self.named[field] = as_number
        figure = _safely(lambda: figure_of(self._read.outcome.market, field), None)
        # The unit of the score stands in the sentence already; a share and a rank have none.
        return amount(
            as_number, figure.unit if figure and figure.unit.endswith("s") and figure.unit != self._unit else ""
        )

    def _found(self, field: str) -> object:
        """A field, or what is counted over the seats of this role."""
        seats = self._read.outcome.seats
        alike = [result for result in seats.values() if result.role == seats[self._seat].role]
        if field == "seats":
            return len(alike)
        ranked = field.removesuffix("_rank")
        if ranked == field:
            return self.raw(field)
        own, values = _value(seats[self._seat], ranked), [_value(result, ranked) for result in alike]
        return None if own is None else 1 + sum(value is not None and value > own for value in values)


def _number(value: object) -> float | None:
    """A finite number, else None: outcomes of foreign traces hold what no rules have made."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _value(result: object, field: str) -> float | None:
    return _number(getattr(result, field, None))


def _safely(read: Callable[[], T], default: T) -> T:
    """What `read` gives; `default` where facts that no rules have made break it."""
    try:
        return read()
    except Exception:
        return default
