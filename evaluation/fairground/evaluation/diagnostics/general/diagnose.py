"""The diagnosis of a trace of any market: the market's own, if it has one, and the general diagnostics."""

from __future__ import annotations

from fairground.catalog import market_type
from fairground.contract.errors import ScenarioError, TraceError
from fairground.evaluation.diagnostics.general.detectors import GENERAL, find_general
from fairground.evaluation.diagnostics.general.reading import read_play
from fairground.evaluation.diagnostics.general.rules import general_rules
from fairground.evaluation.diagnostics.insight import GivesInsight, Insight
from fairground.evaluation.diagnostics.model import Diagnoses, Diagnosis, Finding
from fairground.evaluation.diagnostics.published import map_version
from fairground.tracestore import Trace

__all__ = ["diagnose_trace", "general_findings"]


def diagnose_trace(trace: Trace, evaluator: object) -> Diagnosis:
    """Own and general findings; TraceError for an unreadable manifest. Raises what the market's formulas raise."""
    own = evaluator.diagnose(trace) if isinstance(evaluator, Diagnoses) else _nothing(trace)
    general = general_findings(trace, evaluator)
    return own.model_copy(update={"findings": [*own.findings, *general], "general_version": general_rules().version})


def general_findings(trace: Trace, evaluator: object) -> list[Finding]:
    """The general diagnostics alone, with what the market's evaluator adds. Total but for an unreadable manifest."""
    return find_general(read_play(trace, _insight(trace, evaluator)))


def _insight(trace: Trace, evaluator: object) -> Insight:
    if not isinstance(evaluator, GivesInsight):
        return Insight()
    try:
        return evaluator.insight(trace)
    except TraceError:
        raise
    except Exception as fault:
        # Facts that no rules have made can break any formula, a stranger's too; that is a property of the trace.
        return Insight(absent=dict.fromkeys(GENERAL, f"the market's facts fit no formula: {fault!r}"[:200]))


def _nothing(trace: Trace) -> Diagnosis:
    """Where the market has no diagnostics of its own."""
    market = trace.manifest.core.market
    try:
        version = map_version(market_type(market))
    except ScenarioError:
        version = None
    return Diagnosis(market=market, version="", evidence_map=version, stages=[], findings=[])
