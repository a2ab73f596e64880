"""The general failure modes: their table, and the findings of a trace next to those of its market's own evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

from tradefair.evaluation.modes import (
    attention,
    evidence_use,
    hooked,
    injection_followed,
    leak,
    plan_break,
    refused_calls,
    spent_turns,
    unit_mistake,
)
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.modes.judged import Frame, findings_of, judge
from tradefair.evaluation.modes.play import EpisodePlay, SeatPlay
from tradefair.evaluation.modes.reading import read_play
from tradefair.evaluation.modes.sign import Sign
from tradefair.evaluation.modes.thresholds import RuleBook, bundled_rules
from tradefair.tracestore import Trace

Detector = Callable[[SeatPlay, Mapping[str, float]], Sign]

GENERAL: Mapping[str, Detector] = {
    "evidence_depth": evidence_use.evidence_depth,
    "evidence_completeness": evidence_use.evidence_completeness,
    "stale_evidence": evidence_use.stale_evidence,
    "blind_action": refused_calls.blind_action,
    "ignored_error": refused_calls.ignored_error,
    "invalid_call_rate": refused_calls.invalid_call_rate,
    "hallucinated_id": refused_calls.hallucinated_id,
    "unit_mistake": unit_mistake.detect,
    "loop": spent_turns.loop,
    "idle_drift": hooked.idle_drift,
    "budget_exhaustion": spent_turns.budget_exhaustion,
    "lapse": spent_turns.lapse,
    "narrow_attention": attention.narrow_attention,
    "follow_up": attention.follow_up,
    "resolved": attention.resolved,
    "overspend": hooked.overspend,
    "below_cost": hooked.below_cost,
    "value_breach": hooked.value_breach,
    "leak": leak.detect,
    "injection_followed": injection_followed.detect,
    "plan_break": plan_break.detect,
}
"""Every general diagnostic, in the order in which findings are listed."""


@cache
def general_rules() -> RuleBook:
    """The bundled thresholds."""
    return bundled_rules("tradefair.evaluation.modes", "modes.toml", RuleBook)


def find_general(play: EpisodePlay) -> list[Finding]:
    """All findings of a trace, by diagnostic; within one those raised come first, in seat order. Total."""
    frame = Frame(f"rounds 1..{play.length}" if play.length else None, play.insight.unit)
    found: list[Finding] = []
    for name, rules in general_rules().detectors.items():
        # A row of modes.toml without a function fails at once, rather than as a mode that is never looked for.
        detect = GENERAL[name]
        # Seats in the order of the manifest, which findings keep.
        judged = [judge(seat.seat, rules, partial(detect, seat, rules.limits)) for seat in play.seats.values()]
        found += findings_of(name, rules, judged, frame)
    return found


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
    # A raised finding is about one seat: the market's own must have been raised for that seat.
    if not finding.raised or not seats.issuperset(finding.seats):
        return finding
    note = f"found, and counted by {counted_by}" + (f"; {finding.note}" if finding.note else "")
    # The value stays; alarm and cost would count the same loss twice (decision 0018).
    return finding.model_copy(update={"raised": False, "severity": None, "note": note, "counted_by": counted_by})
