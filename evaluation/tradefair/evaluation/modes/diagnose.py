"""The general failure modes of a trace, next to what the market's own evaluator found."""

from __future__ import annotations

from tradefair.evaluation.modes.detectors import find_general, general_rules
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.modes.reading import read_play
from tradefair.tracestore import Trace


def general_findings(trace: Trace, insight: Insight) -> list[Finding]:
    """The general failure modes alone; `insight` is what the market's evaluator knows. TraceError: no manifest."""
    return find_general(read_play(trace, insight))


def with_general(own: Diagnosis, trace: Trace, insight: Insight) -> Diagnosis:
    """The market's own diagnosis, then the general findings; TraceError when the manifest cannot be read."""
    general = [_counted_once(finding, own, insight) for finding in general_findings(trace, insight)]
    return own.model_copy(update={"findings": [*own.findings, *general], "general_version": general_rules().version})


def _counted_once(finding: Finding, own: Diagnosis, insight: Insight) -> Finding:
    """A general finding; not raised, and without a cost, where the market's own finding of the same mode is raised."""
    counted_by = insight.counted_by.get(finding.id)
    seats = {seat for raised in own.raised if raised.id == counted_by for seat in raised.seats}
    if not finding.raised or not seats.issuperset(finding.seats):
        return finding
    note = f"found, and counted by {counted_by}" + (f"; {finding.note}" if finding.note else "")
    return finding.model_copy(update={"raised": False, "severity": None, "note": note, "counted_by": counted_by})
