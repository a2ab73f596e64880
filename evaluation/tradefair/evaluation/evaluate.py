"""Outcomes of a trace file, whatever its market."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tradefair.catalog import evaluator
from tradefair.contract.errors import TraceError
from tradefair.contract.seats import SeatId
from tradefair.evaluation.modes.diagnose import diagnose_generally, diagnose_trace
from tradefair.evaluation.modes.diagnosis import Diagnosis
from tradefair.evaluation.outcome import (
    CommonEvaluator,
    Compares,
    Evaluator,
    Finding,
    Outcome,
    ReadBeside,
    Tabulates,
)
from tradefair.evaluation.population import Populations
from tradefair.evaluation.table import Table
from tradefair.evaluation.verify import verify
from tradefair.tracestore import StorePlace, Trace, is_store, open_trace


class Evaluation(NamedTuple):
    """A file's outcome; null, with the reason in `problem`, when it is no trace that can be read.

    `diagnosis` has the general diagnostics only where a market has none, or where its own cannot be computed.
    `population` is the same scenario and seed with the market's reference population, where that was played.
    `unsound` is what verify says of a chain that does not hold; null for one seat's view, which has none.
    """

    path: str
    outcome: Outcome[Any, Any] | None
    problem: str | None = None
    diagnosis: Diagnosis | None = None
    population: Outcome[Any, Any] | None = None
    unsound: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        outcome = None if self.outcome is None else self.outcome.model_dump(mode="json")
        diagnosis = None if self.diagnosis is None else self.diagnosis.model_dump(mode="json")
        content = {"path": self.path, "outcome": outcome, "problem": self.problem, "diagnosis": diagnosis}
        if self.population is not None:
            content["population"] = self.population.model_dump(mode="json")
        return content


def evaluator_of(market: str) -> Evaluator:
    """The market's evaluator, or the one that knows conduct only."""
    found: Evaluator | None = evaluator(market)
    return found or CommonEvaluator(market)


def evaluate(trace: Trace) -> Outcome[Any, Any]:
    """The outcome of an opened trace; TraceError when its manifest cannot be read."""
    market = trace.manifest.core.market
    try:
        return evaluator_of(market).outcomes(trace)
    except TraceError:
        raise
    except Exception as fault:
        # Facts that no rules have made can break any formula, a stranger's too; that is a property of the trace.
        plain = CommonEvaluator(market).outcomes(trace)
        broken = Finding(seq=None, message=f"the outcomes of {market} cannot be computed: {fault!r}"[:300])
        return plain.model_copy(update={"findings": [*plain.findings, broken]})


def diagnose(trace: Trace) -> Diagnosis:
    """The market's own and the general diagnosis of an opened trace. Raises what the market's formulas raise."""
    return diagnose_trace(trace, evaluator_of(trace.manifest.core.market))


def relative_numbers(
    seat: SeatId, outcomes: Mapping[str, Outcome[Any, Any]]
) -> Mapping[str, Mapping[str, float | None]]:
    """Per label, numbers that need references beside them; nothing where the market has none."""
    evaluator = evaluator_of(next(iter(outcomes.values())).market) if outcomes else None
    return evaluator.relative(seat, outcomes) if isinstance(evaluator, Compares) else {}


def tables_of(
    outcome: Outcome[Any, Any], population: Outcome[Any, Any] | None = None, *, brief: bool = False
) -> Sequence[Table]:
    """The tables that a market's evaluator wants people to see; `brief`: only what has a population beside it."""
    known = evaluator_of(outcome.market)
    beside = known.tables_beside(outcome, population) if isinstance(known, ReadBeside) else ()
    if brief:
        return beside if population is not None else ()
    return [*beside, *(known.tables(outcome) if isinstance(known, Tabulates) else ())]


def evaluate_file(path: str | Path, populations: Populations | None = None) -> Evaluation:
    """Open and evaluate one file, or a stored trace by its address. Total: what is no trace is a problem, no exception.

    A broken chain, a missing tail or an unknown schema is a finding: figures are as good as the bytes they rest on.
    `populations`: where to look for the market's reference population, besides the folder of references beside it.
    """
    shown = str(StorePlace.of(str(path))) if is_store(str(path)) else str(path)
    try:
        with open_trace(path) as trace:
            evaluation = _evaluated(shown, trace)
            return evaluation._replace(population=(populations or Populations()).of(trace))
    except TraceError as error:
        return Evaluation(shown, None, str(error))


def _evaluated(path: str, trace: Trace) -> Evaluation:
    outcome = evaluate(trace)
    chain = verify(trace, chain_only=True)
    unsound = None
    if not chain.sound:
        said = f"the chain does not hold ({chain.verdict}): {chain.message}"[:300]
        outcome = outcome.model_copy(update={"findings": [Finding(seq=chain.seq, message=said), *outcome.findings]})
        unsound = None if chain.verdict == "not_a_trace" else said
    try:
        return Evaluation(path, outcome, diagnosis=diagnose(trace), unsound=unsound)
    except TraceError:
        raise
    except Exception as fault:
        # As above: facts that no rules have made. What holds in every market can still be told.
        broken = Finding(seq=None, message=f"the market's diagnosis cannot be computed: {fault!r}"[:300])
        mended = outcome.model_copy(update={"findings": [*outcome.findings, broken]})
        generally = diagnose_generally(trace, evaluator_of(outcome.market))
        return Evaluation(path, mended, diagnosis=generally, unsound=unsound)
