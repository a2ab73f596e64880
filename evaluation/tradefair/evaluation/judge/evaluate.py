"""Outcomes of a trace file, whatever its market."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tradefair.contract import ScenarioError, SeatId, TraceError
from tradefair.evaluation.charts.chart import Chart, with_accent
from tradefair.evaluation.evaluator import Evaluator, evaluator_of
from tradefair.evaluation.judge.diagnosing import diagnosis_of
from tradefair.evaluation.judge.population import Populations
from tradefair.evaluation.ledger import Ledger
from tradefair.evaluation.modes.base_rates import Played, ranked
from tradefair.evaluation.modes.detectors import GENERAL
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.origins import is_foreign
from tradefair.evaluation.outcome import Outcome, writable
from tradefair.evaluation.prove.verify import verify
from tradefair.evaluation.reading import Unusable, seating_in
from tradefair.evaluation.table import Table
from tradefair.tracestore import StorePlace, Trace, is_store, open_trace


class Evaluation(NamedTuple):
    """A file's outcome; null, with the reason in `problem`, when it is no trace that can be read.

    `diagnosis` has the general diagnostics only where a market has none, or where its own cannot be computed.
    `population` is the same scenario and seed with the market's reference population, where that was played.
    `unsound` is what verify says of a chain that does not hold; null for one seat's view, which has none.
    `head_hash` covers world, players and calls, `seal` that, and times, costs and model records (null: not sealed).
    `ledgers` are those of the seats under test, with names of mistakes; where they were asked for and there are none
    `no_ledger` says why.
    """

    path: str
    outcome: Outcome[Any, Any] | None
    problem: str | None = None
    diagnosis: Diagnosis | None = None
    population: Outcome[Any, Any] | None = None
    unsound: str | None = None
    head_hash: str | None = None
    seal: str | None = None
    ledgers: Mapping[SeatId, Ledger] = {}
    no_ledger: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        outcome = None if self.outcome is None else self.outcome.model_dump(mode="json")
        diagnosis = None if self.diagnosis is None else self.diagnosis.model_dump(mode="json")
        digests = {"head_hash": self.head_hash, "seal": self.seal}
        content = {"path": self.path, **digests, "outcome": outcome, "problem": self.problem, "diagnosis": diagnosis}
        # Left out where it was not asked for.
        if self.ledgers or self.no_ledger:
            content["ledgers"] = {seat: ledger.model_dump(mode="json") for seat, ledger in self.ledgers.items()}
            content["no_ledger"] = self.no_ledger or None
        # Left out where none was played, as for a market that has no population.
        if self.population is not None:
            content["population"] = self.population.model_dump(mode="json")
        return content

    def with_ledgers(self, ledgers: Mapping[SeatId, Ledger], no_ledger: str = "") -> Evaluation:
        """With these ledgers: turns get the names of mistakes, findings what their turns lost, and their rank."""
        diagnosis = self.diagnosis
        if diagnosis is None or not ledgers:
            return self._replace(ledgers=ledgers, no_ledger=no_ledger)
        named = {seat: ledger.named(diagnosis.names(seat)) for seat, ledger in ledgers.items()}
        findings = [_with_lost(finding, named) for finding in diagnosis.findings]
        ranks = ranked(findings, ledgers)
        return self._replace(
            diagnosis=diagnosis.model_copy(update={"findings": ranks}), ledgers=named, no_ledger=no_ledger
        )


def _with_lost(finding: Finding, ledgers: Mapping[SeatId, Ledger]) -> Finding:
    """A raised finding with the turns of its cases and what they lost together."""
    ledger = ledgers.get(finding.seats[0]) if finding.raised else None
    if ledger is None:
        return finding
    turns = ledger.turns_of(finding.seqs)
    lost = math.fsum(turn.lost for turn in turns)
    return finding.model_copy(update={"turns": [turn.turn for turn in turns], "lost": lost})


def evaluate(trace: Trace) -> Outcome[Any, Any]:
    """Outcome of an opened trace; TraceError when its manifest cannot be read, ScenarioError for a wrong evaluator."""
    market = trace.manifest.core.market
    evaluator = evaluator_of(market)
    try:
        return writable(evaluator.outcomes(trace))
    # Damage is the caller's to report; everything below is about content that can be read.
    except TraceError:
        raise
    except Exception as fault:
        # Facts that no rules have made can break any formula, a stranger's too; that is a property of the trace.
        plain = Evaluator(market).outcomes(trace)
        broken = Unusable(seq=None, message=f"the outcomes of {market} cannot be computed: {fault!r}"[:300])
        return plain.model_copy(update={"findings": [*plain.findings, broken]})


def diagnose(trace: Trace, evaluator: Evaluator | None = None, played: Played | None = None) -> Diagnosis:
    """What went wrong by the market's own modes and those of every market: merged, with base rates, ranked.

    `evaluator`: the one that is asked; by default the market's. `played` is taken in place of base rates.
    Raises what the market's own reading raises.
    """
    own = evaluator or evaluator_of(trace.manifest.core.market)
    return diagnosis_of(trace, own, insight_of(trace, own), played)


def diagnose_generally(trace: Trace, evaluator: Evaluator) -> Diagnosis:
    """The general diagnosis alone, for a trace that the market's own formulas cannot read. TraceError: no manifest."""
    return diagnosis_of(trace, Evaluator(trace.manifest.core.market), insight_of(trace, evaluator))


def insight_of(trace: Trace, evaluator: Evaluator) -> Insight:
    """What the evaluator knows of the trace; nothing, with the reason, where it cannot. TraceError: no manifest."""
    try:
        return evaluator.insight(trace)
    except TraceError:
        raise
    except Exception as fault:
        reason = f"could not be computed: the market's facts fit no formula: {fault!r}"[:200]
        return Insight(absent=dict.fromkeys(GENERAL.rows, reason))


def charts_of(trace: Trace, evaluator: Evaluator) -> tuple[list[Chart], str | None]:
    """The evaluator's charts and null; or none and the reason, where the trace breaks its formulas. Never raises.

    The only seat under test is the accent of each chart that shows it.
    """
    try:
        drawn, tested = list(evaluator.charts(trace)), seating_in(trace).compared
    except Exception as fault:
        return [], f"the charts cannot be drawn: {fault!r}"[:300]
    # Of several seats under test none stands out.
    return [with_accent(chart, tested[0]) for chart in drawn] if len(tested) == 1 else drawn, None


def relative_numbers(
    seat: SeatId, outcomes: Mapping[str, Outcome[Any, Any]]
) -> Mapping[str, Mapping[str, float | None]]:
    """Per label of the same seat, numbers relative to the references among them; nothing where the market has none."""
    return evaluator_of(next(iter(outcomes.values())).market).relative(seat, outcomes) if outcomes else {}


def tables_of(
    outcome: Outcome[Any, Any], population: Outcome[Any, Any] | None = None, *, brief: bool = False
) -> Sequence[Table]:
    """Tables of the market's evaluator for people; `brief`: only those that compare with a reference population."""
    evaluator = evaluator_of(outcome.market)
    try:
        compared = evaluator.tables_beside(outcome, population)
        if brief:
            return compared if population is not None else ()
        return [*compared, *evaluator.tables(outcome)]
    # Where facts break the formulas the outcome has no figures of the market, and a finding that says so.
    except Exception:
        return ()


def evaluate_file(
    path: str | Path, populations: Populations | None = None, foreign: Evaluator | None = None
) -> Evaluation:
    """Open and evaluate one file, or a stored trace by its address. Never raises: what is no trace is a `problem`.

    A broken chain, a missing tail or an unknown schema is a finding: figures are as good as the bytes they rest on.
    `populations`: where to look for the market's reference population, in addition to the trace's folder of references.
    `foreign`: what diagnoses traces that no rules have made (a map, `audit.mapped`); others are their market's.
    """
    # A store's address is shown without its password.
    shown = str(StorePlace.of(str(path))) if is_store(str(path)) else str(path)
    try:
        with open_trace(path) as trace:
            evaluation = _evaluated(shown, trace, foreign if is_foreign(trace.manifest.core) else None)
            # Within `with`: the population is looked for by the manifest of the open trace.
            return evaluation._replace(population=(populations or Populations()).of(trace))
    except (TraceError, ScenarioError) as error:
        return Evaluation(shown, None, str(error))


def _evaluated(path: str, trace: Trace, evaluator: Evaluator | None) -> Evaluation:
    # Outcomes, chain and diagnosis read the same events.
    trace.hold()
    outcome = evaluate(trace)
    # Asked after the outcome: figures are given even where the chain does not hold, with a finding.
    chain = verify(trace, chain_only=True)
    unsound = None
    if not chain.sound:
        said = f"the chain does not hold ({chain.verdict}): {chain.sentence}"[:300]
        # First among the findings, because all others rest on it.
        outcome = outcome.model_copy(update={"findings": [Unusable(seq=chain.seq, message=said), *outcome.findings]})
        # One seat's view of a trace has no chain; that is no damage.
        unsound = None if chain.verdict == "not_a_trace" else said
    found = Evaluation(path, outcome, unsound=unsound, head_hash=chain.head_hash, seal=chain.seal)
    try:
        return found._replace(diagnosis=diagnose(trace, evaluator))
    except TraceError:
        raise
    except Exception as fault:
        # As above: facts that no rules have made. What holds in every market can still be told.
        broken = Unusable(seq=None, message=f"the market's diagnosis cannot be computed: {fault!r}"[:300])
        mended = outcome.model_copy(update={"findings": [*outcome.findings, broken]})
        generally = diagnose_generally(trace, evaluator_of(outcome.market))
        return found._replace(outcome=mended, diagnosis=generally)
