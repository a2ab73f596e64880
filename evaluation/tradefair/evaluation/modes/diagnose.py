"""The diagnosis of a trace of any market: the market's own, if it has one, and the general diagnostics."""

from __future__ import annotations

from tradefair.catalog import market_type
from tradefair.contract.errors import ScenarioError, TraceError
from tradefair.evaluation.modes.detectors import GENERAL, find_general
from tradefair.evaluation.modes.diagnosis import Diagnoses, Diagnosis, Finding
from tradefair.evaluation.modes.general_rules import general_rules
from tradefair.evaluation.modes.insight import GivesInsight, Insight
from tradefair.evaluation.modes.published import map_version
from tradefair.evaluation.modes.reading import read_play
from tradefair.tracestore import Trace


def diagnose_trace(trace: Trace, evaluator: object) -> Diagnosis:
    """Own and general findings; TraceError for an unreadable manifest. Raises what the market's formulas raise."""
    own = evaluator.diagnose(trace) if isinstance(evaluator, Diagnoses) else _nothing(trace)
    return _with_general(own, trace, evaluator)


def diagnose_generally(trace: Trace, evaluator: object) -> Diagnosis:
    """The general diagnosis alone, for a trace that the market's own cannot read; TraceError as above."""
    return _with_general(_nothing(trace), trace, evaluator)


def general_findings(trace: Trace, evaluator: object) -> list[Finding]:
    """The general diagnostics alone, with what the market's evaluator adds. Total but for an unreadable manifest."""
    return find_general(read_play(trace, insight_of(trace, evaluator)))


def _with_general(own: Diagnosis, trace: Trace, evaluator: object) -> Diagnosis:
    insight = insight_of(trace, evaluator)
    general = [_counted_once(finding, own, insight) for finding in find_general(read_play(trace, insight))]
    return own.model_copy(update={"findings": [*own.findings, *general], "general_version": general_rules().version})


def _counted_once(finding: Finding, own: Diagnosis, insight: Insight) -> Finding:
    """A general finding; not raised, and without a cost, where the market's own of the same mode is raised."""
    counted_by = insight.counted_by.get(finding.id)
    seats = {seat for each in own.raised if each.id == counted_by for seat in each.seats}
    if not finding.raised or not seats.issuperset(finding.seats):
        return finding
    note = f"found, and counted by {counted_by}" + (f"; {finding.note}" if finding.note else "")
    return finding.model_copy(update={"raised": False, "severity": None, "note": note, "counted_by": counted_by})


def insight_of(trace: Trace, evaluator: object) -> Insight:
    """What the market's evaluator adds; nothing, with the reason, where it cannot. TraceError: no trace."""
    if not isinstance(evaluator, GivesInsight):
        return Insight()
    try:
        return evaluator.insight(trace)
    except TraceError:
        raise
    except Exception as fault:
        # Facts that no rules have made can break any formula, a stranger's too; that is a property of the trace.
        return Insight(
            absent=dict.fromkeys(GENERAL, f"could not be computed: the market's facts fit no formula: {fault!r}"[:200])
        )


def _nothing(trace: Trace) -> Diagnosis:
    """Where the market has no diagnostics of its own."""
    market = trace.manifest.core.market
    try:
        version = map_version(market_type(market))
    except ScenarioError:
        version = None
    return Diagnosis(market=market, version="", evidence_map=version, stages=[], findings=[])
