"""The general diagnostics: the table, and findings of all seats of a trace."""

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
from tradefair.evaluation.modes.diagnosis import Finding
from tradefair.evaluation.modes.judged import Frame, findings_of, judge
from tradefair.evaluation.modes.play import EpisodePlay, SeatPlay
from tradefair.evaluation.modes.sign import Sign
from tradefair.evaluation.modes.thresholds import RuleBook, bundled_rules

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
        detect = GENERAL[name]
        judged = [judge(seat.seat, rules, partial(detect, seat, rules.limits)) for seat in play.seats.values()]
        found += findings_of(name, rules, judged, frame)
    return found
