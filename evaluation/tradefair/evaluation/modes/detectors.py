"""The general diagnostics: the table, and findings of all seats of a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from tradefair.evaluation.modes import (
    below_cost,
    blind_action,
    budget_exhaustion,
    evidence_completeness,
    evidence_depth,
    follow_up,
    hallucinated_id,
    idle_drift,
    ignored_error,
    injection_followed,
    invalid_call_rate,
    lapse,
    leak,
    loop,
    narrow_attention,
    overspend,
    plan_break,
    resolved,
    stale_evidence,
    unit_mistake,
    value_breach,
)
from tradefair.evaluation.modes.diagnosis import Finding
from tradefair.evaluation.modes.general_rules import general_rules
from tradefair.evaluation.modes.judged import Frame, findings_of, judge
from tradefair.evaluation.modes.play import EpisodePlay, SeatPlay
from tradefair.evaluation.modes.sign import Sign

Detector = Callable[[SeatPlay, Mapping[str, float]], Sign]

GENERAL: Mapping[str, Detector] = {
    "evidence_depth": evidence_depth.detect,
    "evidence_completeness": evidence_completeness.detect,
    "stale_evidence": stale_evidence.detect,
    "blind_action": blind_action.detect,
    "ignored_error": ignored_error.detect,
    "invalid_call_rate": invalid_call_rate.detect,
    "hallucinated_id": hallucinated_id.detect,
    "unit_mistake": unit_mistake.detect,
    "loop": loop.detect,
    "idle_drift": idle_drift.detect,
    "budget_exhaustion": budget_exhaustion.detect,
    "lapse": lapse.detect,
    "narrow_attention": narrow_attention.detect,
    "follow_up": follow_up.detect,
    "resolved": resolved.detect,
    "overspend": overspend.detect,
    "below_cost": below_cost.detect,
    "value_breach": value_breach.detect,
    "leak": leak.detect,
    "injection_followed": injection_followed.detect,
    "plan_break": plan_break.detect,
}
"""Every general diagnostic, in the order in which findings are listed."""


def find_general(play: EpisodePlay) -> list[Finding]:
    """All findings of a trace, by diagnostic; within one those raised come first, in seat order. Total."""
    frame = Frame(f"rounds 1..{play.length}" if play.length else None, play.insight.unit)
    found: list[Finding] = []
    for name, rules in general_rules().detectors.items():
        detect = GENERAL[name]
        judged = [judge(seat.seat, rules, partial(detect, seat, rules.limits)) for seat in play.seats.values()]
        found += findings_of(name, rules, judged, frame)
    return found
