"""The general diagnostics: the table, and findings of all seats of a trace.

A diagnostic that was raised has a finding for each seat; the seats in which it was looked for and not found share one,
and so do those in which there was nothing to look for. So 400 seats do not make 8,000 findings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from fairground.contract.seats import SeatId
from fairground.evaluation.arithmetic import ratio, rounded
from fairground.evaluation.diagnostics.general import (
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
from fairground.evaluation.diagnostics.general.play import EpisodePlay, SeatPlay
from fairground.evaluation.diagnostics.general.rules import GeneralDetectorRules, general_rules
from fairground.evaluation.diagnostics.model import Finding, cited
from fairground.evaluation.diagnostics.sign import Sign

__all__ = ["GENERAL", "find_general"]

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


class _Judged(NamedTuple):
    seat: SeatId
    sign: Sign


def find_general(play: EpisodePlay) -> list[Finding]:
    """All findings of a trace, by diagnostic; within one those raised come first, in seat order. Total."""
    rules = general_rules().detectors
    return [finding for name in GENERAL for finding in _findings(play, name, rules[name])]


def _findings(play: EpisodePlay, name: str, rules: GeneralDetectorRules) -> Iterator[Finding]:
    judged = [_Judged(seat.seat, _judge(seat, name, rules)) for seat in play.seats.values()]
    for each in judged:
        if each.sign.raised:
            yield _finding(play, name, rules, [each])
    clear = [each for each in judged if not each.sign.raised and each.sign.checked]
    if clear:
        yield _finding(play, name, rules, clear)
    unchecked = [each for each in judged if not each.sign.checked]
    if unchecked or not judged:
        yield _finding(play, name, rules, unchecked)


def _judge(seat: SeatPlay, name: str, rules: GeneralDetectorRules) -> Sign:
    """What the detector saw; nothing where there were too few cases, or notes and facts that fit no formula."""
    try:
        sign = GENERAL[name](seat, rules.limits)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as odd:
        return Sign(False, 0, note=f"cannot be computed: {odd!r}"[:200], checked=False)
    if not sign.checked:
        return replace(sign, raised=False, severity=None)
    least = rules.limits.get("min_cases", 1)
    if not sign.denominator:
        return replace(sign, raised=False, note=rules.worded(rules.undefined), checked=not least)
    if sign.denominator < least:
        note = f"too few {rules.worded(rules.unit)}: {sign.denominator:g} < {least:g}"
        return replace(sign, raised=False, severity=None, note=note, checked=False)
    return sign


def _finding(play: EpisodePlay, name: str, rules: GeneralDetectorRules, seats: Sequence[_Judged]) -> Finding:
    signs = [each.sign for each in seats]
    top, bottom = math.fsum(sign.numerator for sign in signs), math.fsum(sign.denominator for sign in signs)
    costs = [sign.severity for sign in signs if sign.severity is not None]
    several = len(seats) > 1
    values = {each.seat: ratio(each.sign.numerator, each.sign.denominator) for each in seats}
    return Finding(
        id=name,
        seats=[each.seat for each in seats],
        value=ratio(top, bottom),
        numerator=rounded(top),
        denominator=rounded(bottom),
        formula=rules.worded(rules.formula),
        window=f"rounds 1..{play.length}" if play.length else None,
        events=cited(seq for sign in signs for seq in sign.events),
        parts=values if several else {key: value for sign in signs for key, value in sign.parts.items()},
        note=_note(signs),
        raised=any(sign.raised for sign in signs),
        checked=bool(signs) and all(sign.checked for sign in signs),
        threshold=rules.worded(rules.raised_when),
        severity=rounded(max(0.0, math.fsum(costs))) if costs else None,
        severity_unit=play.insight.unit,
    )


def _note(signs: Sequence[Sign]) -> str | None:
    """The seats' notes, each once; at most three."""
    notes = list(dict.fromkeys(sign.note for sign in signs if sign.note))
    return "; ".join(notes[:3]) + (" …" if len(notes) > 3 else "") if notes else None
