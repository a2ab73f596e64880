"""The general failure modes: which function finds the cases of which row of `modes.toml`."""

from __future__ import annotations

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
from tradefair.evaluation.modes.diagnosis import Detector
from tradefair.evaluation.modes.table import ModeTable, load_modes

_DETECTORS: dict[str, Detector] = {
    "hallucinated_id": refused_calls.hallucinated_id,
    "unit_mistake": unit_mistake.detect,
    "injection_followed": injection_followed.detect,
    "value_breach": hooked.value_breach,
    "below_cost": hooked.below_cost,
    "missing_evidence": evidence_use.missing_evidence,
    "stale_evidence": evidence_use.stale_evidence,
    "plan_break": plan_break.detect,
    "malformed_replies": refused_calls.malformed_replies,
    "budget_exhaustion": spent_turns.budget_exhaustion,
    "refused_calls": refused_calls.refused_calls,
    "idle_drift": hooked.idle_drift,
    "lapse": spent_turns.lapse,
    "loop": spent_turns.loop,
    "narrow_attention": attention.narrow_attention,
    "follow_up": attention.follow_up,
    "resolved": attention.resolved,
    "leak": leak.detect,
}

GENERAL: ModeTable = load_modes("tradefair.evaluation.modes", _DETECTORS)
"""The modes that hold in every market, in the order in which findings are listed."""
